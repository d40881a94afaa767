"""Has the history of the followed cluster kept up to date while the app runs, in a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from karptui.session.follower import ClusterFollower
from karptui.session.throttle import KEYBOARD

if TYPE_CHECKING:
    from pathlib import Path

    from karptui.changes.changes import Edit
    from karptui.serving.keeper import Keeper
    from karptui.verdict.finding import ClusterFinding

LOOK_SECONDS: Final = 2.0
LARGE_SECONDS: Final = 5.0
"""The same for a large cluster: its verdict goes through all pods."""
REST_SECONDS: Final = 1.0
"""No look begins within this time of a key."""
LATEST_SECONDS: Final = 20.0
"""Except after this time."""
EDITS_SECONDS: Final = 60.0
"""Edits are read from the history this often at most; of a large cluster a fifth as often."""
EDITS_NS: Final = 3600 * 10**9
"""How far back."""


class HistoryKeeping:
    """Marks and samples for the history of the followed cluster; a moment has none."""

    def __init__(
        self,
        verdict: Callable[[int], tuple[ClusterFinding, ...]],
        now_ns: Callable[[], int],
        shown: Callable[[], ClusterFollower],
    ) -> None:
        """Set up without looking.

        Args:
            verdict: Returns the findings about the cluster that is shown.
            shown: Returns the follower of that cluster: a past moment may be shown meanwhile.
        """
        self._verdict = verdict
        self._now_ns = now_ns
        self._shown = shown
        self._followed: ClusterFollower | None = None
        self._keeper: Keeper | None = None
        self._task: asyncio.Task[None] | None = None
        self._looked_at = float("-inf")
        self.edits: tuple[Edit, ...] = ()
        """Edits of the followed cluster within the last hour; read from the history after an edit was seen."""
        self._edits_read = -1
        self._edits_at = float("-inf")

    @property
    def is_looking(self) -> bool:
        """Whether a look is under way."""
        return self._task is not None

    def look(self, follower: ClusterFollower, failed: Callable[[Exception, str], None]) -> None:
        """Compare the cluster with the last look, if it is time; cheap enough for the event loop."""
        if follower.tap is None or not follower.tap.is_recording or self.is_looking:
            return
        now = time.monotonic()
        waited = now - self._looked_at
        is_typing = not KEYBOARD.is_at_rest(now, REST_SECONDS) and waited < LATEST_SECONDS
        if is_typing or waited < (LARGE_SECONDS if follower.is_large else LOOK_SECONDS):
            return
        self._looked_at = now

        def done(task: asyncio.Task[None]) -> None:
            self._task = None
            if not task.cancelled() and isinstance(error := task.exception(), Exception):
                failed(error, "keeping the history")

        self._task = asyncio.create_task(asyncio.to_thread(self._look, follower))
        self._task.add_done_callback(done)

    def _look(self, follower: ClusterFollower) -> None:
        from karptui.serving.keeper import Keeper  # noqa: PLC0415 - after the first rows

        assert follower.tap is not None, "look has checked it"
        if self._keeper is None or self._followed is not follower:
            self._followed, self._keeper = follower, Keeper(follower.tap)
            self.edits, self._edits_read, self._edits_at = (), -1, float("-inf")
        elif self._edits_read != self._keeper.edits:
            # The look before saw them, and they are written by now.
            self._read_edits(follower.tap.path, self._keeper.edits, EDITS_SECONDS * (5 if follower.is_large else 1))
        now_ns, view = self._now_ns(), follower.view
        findings = self._verdict(now_ns) if self._shown() is follower else ()
        # Findings about a moment that was opened meanwhile are not about this cluster.
        self._keeper.saw(view, findings if self._shown() is follower else (), now_ns)

    def _read_edits(self, path: Path, seen: int, rest_seconds: float) -> None:
        from karptui.session.changes import recent_edits  # noqa: PLC0415 - after the first rows

        if time.monotonic() - self._edits_at >= rest_seconds:
            self._edits_read, self._edits_at = seen, time.monotonic()
            self.edits = recent_edits(path, self._now_ns(), EDITS_NS)
