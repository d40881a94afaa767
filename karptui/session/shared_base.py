"""The cluster as it is, made ready once for the pane, comparisons, sweeps and the self-check."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from karptui.session.pace import Turns

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView
    from karptui.whatif.situation import WhatIfBase


class SharedBase:
    """Keeps the base of the last view; threads take turns with it, as replays keep in it what they have worked out."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Held by whoever replays on the base."""
        self._turns = Turns()
        self._known: tuple[object, object, WhatIfBase] | None = None

    @contextmanager
    def borrowed(self, view: ClusterView, now_ns: int) -> Iterator[WhatIfBase]:
        """Give the base of a view to one thread at a time.

        Args:
            view: The cluster.
            now_ns: The instant to look at it from where it is seen for the first time: nanoseconds since the epoch.
        """
        from karptui.session.prepare import base_of  # noqa: PLC0415 - the engines are imported in the thread

        with self.lock:
            known = self._known
            if known is None or known[0] is not view.state or known[1] is not view.evidence:
                known = self._known = (view.state, view.evidence, base_of(view, now_ns, self._turns.take))
            yield known[2]

    def take(self, view: ClusterView, now_ns: int) -> WhatIfBase:
        """Return the base of a view for reading what is never changed in it: objects, settings, instance types."""
        with self.borrowed(view, now_ns) as base:
            return base
