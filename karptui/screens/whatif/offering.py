"""Names and values of the cluster that are offered: read beside the screen, and again when the cluster has changed."""

from __future__ import annotations

import asyncio
from typing import Final

from textual import work
from textual.worker import Worker

from karptui.screens.frame import FrameScreen
from karptui.screens.whatif.documents import Documents
from karptui.session.cluster_view import ClusterView
from karptui.session.known_values import known_values
from karptui.whatif.schema.offers import KnownValues

FOLLOW_AFTER_NS: Final = 5_000_000_000
"""How long names may be behind a cluster that keeps changing; reading a large one takes half a second."""


class Offering(FrameScreen):
    """Mixed into the what-if screen."""

    documents: Documents
    _reading: Worker[None] | None = None
    _read_state: object = None
    """State that names are read from."""
    _read_ns = 0

    def follow_names(self) -> None:
        """Begin to read names unless they are those of the cluster as it is, or of a moment ago."""
        view, now_ns = self.host.view, self.host.now_ns()
        is_fresh = self._read_state is not None and now_ns - self._read_ns < FOLLOW_AFTER_NS
        is_reading = self._reading is not None and not self._reading.is_finished
        if view.state is not self._read_state and not is_fresh and not is_reading:
            self._read_state, self._read_ns = view.state, now_ns
            self._reading = self._read_names(view)

    @work(group="names")
    async def _read_names(self, view: ClusterView) -> None:
        self.documents.known_values = await asyncio.to_thread(known_values, view)
        self._read_ns = self.host.now_ns()

    async def names(self) -> KnownValues:
        """Return what the cluster knows, once that has been read."""
        self.follow_names()
        if self._reading is not None:
            await self._reading.wait()
        return self.documents.known_values
