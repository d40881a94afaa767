"""Merges the source's changes as often as keys allow, and has them shown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

from karptui.clock import Clock
from karptui.session.answers import Focus
from karptui.session.follower import ClusterFollower
from karptui.session.throttle import GARBAGE, KEYBOARD, MERGE_SECONDS, MergeThrottle

TAKING_OVER: Final = "applying changes"
IDLE_POLLS: Final = 4
"""While the terminal is not focused, only every n-th poll counts."""


class Display(Protocol):
    """Whoever shows the cluster."""

    def show_changes(self, *, is_changed: bool) -> None:
        """Show merged changes."""

    def first_rows_shown(self) -> None:
        """Start the work that is postponed until the first rows are shown."""

    def call_after_refresh(self, callback: Callable[[], Any], /) -> object:
        """Call something after the next redraw."""

    def fault_caught(self, error: Exception, during: str) -> None:
        """Show an error, and continue."""


class Feed:
    """Polls the follower, in a thread if that takes longer than a key should wait."""

    def __init__(self, follower: ClusterFollower, clock: Clock, display: Display) -> None:
        self.follower = follower
        """Follows the cluster that is shown; another may take its place."""
        self.is_in_front = True
        """Whether somebody looks."""
        self.clock = clock
        self._display = display
        self._polls = 0
        self._pace = MergeThrottle()
        self._polling: asyncio.Task[None] | None = None
        self._shown: ClusterFollower | None = None
        """Of this one the first rows are drawn."""

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch."""
        return self.clock.now_ns()

    def look_at(self, focus: Focus) -> None:
        """Set the nodes and pods on the screen, which are analysed first."""
        self.follower.analyst.look_at(focus)

    def want_usage(self) -> None:
        """Announce that live usage is on the screen, so that metrics-server is queried more often."""
        self.follower.want_usage()

    def refresh_source(self) -> None:
        """Have the source try again at once, whatever it waits for."""
        self.follower.refresh()

    async def fetch_raw(self, kind: str, key: str) -> str:
        """Return an object as YAML from the source; an error message starting with ``# `` if that fails."""
        return await asyncio.to_thread(self.follower.fetch_raw, kind, key)

    async def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return an object as the API server has it."""
        return await asyncio.to_thread(self.follower.fetch_object, kind, key)

    async def crds(self) -> tuple[dict[str, Any], ...]:
        """Return the cluster's CustomResourceDefinitions of Karpenter's kinds."""
        return await asyncio.to_thread(self.follower.crds)

    def tick(self) -> None:
        """Merge waiting changes if it is time; called a few times a second."""
        KEYBOARD.rested()
        GARBAGE.search_at_rest()
        self._polls += 1
        if not self.is_in_front and self._polls % IDLE_POLLS:
            return
        if not self.follower.is_large:
            self.poll_now()
        elif self._polling is None and self._pace.is_due(time.monotonic(), has_news=self.follower.has_news):
            self._poll_aside()

    def poll_now(self) -> None:
        """Merge the source's changes, and show them."""
        try:
            self._took_over(is_changed=self.follower.poll(self.now_ns()))
        except Exception as error:  # noqa: BLE001  the next time is soon
            self._display.fault_caught(error, TAKING_OVER)

    def _poll_aside(self) -> None:
        """Do the same in a thread, so that the work a large cluster makes holds up no key."""
        # No worker: each is a reference cycle with its task, which would keep a generation alive until collected.
        self._polling = asyncio.create_task(self._poll_in_thread())
        self._polling.add_done_callback(self._polled)

    async def _poll_in_thread(self) -> None:
        for seconds in KEYBOARD.rests(MERGE_SECONDS):
            await asyncio.sleep(seconds)
        follower, began = self.follower, time.monotonic()
        is_changed = await asyncio.to_thread(follower.poll, self.now_ns())
        self._pace.took(began, time.monotonic())
        if follower is self.follower:
            self._took_over(is_changed=is_changed)

    def _polled(self, task: asyncio.Task[None]) -> None:
        self._polling = None
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._display.fault_caught(error, TAKING_OVER)

    def _took_over(self, *, is_changed: bool) -> None:
        follower = self.follower
        self._display.show_changes(is_changed=is_changed)
        if follower is self._shown or not follower.knows_nodes:
            follower.analyse(self.now_ns())
        else:
            self._shown = follower
            self._display.call_after_refresh(self._first_rows_shown)

    def _first_rows_shown(self) -> None:
        self.follower.analyse(self.now_ns())
        self.follower.first_rows_shown()
        self._display.first_rows_shown()
