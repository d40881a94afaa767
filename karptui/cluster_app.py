"""The half of the app that follows a cluster: owns the session and the clock, and takes over what the source says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from textual import events, work
from textual.app import App

from karptui.clock import Clock
from karptui.session.border import Border, Focus
from karptui.session.cluster_view import ClusterView
from karptui.session.garbage import GARBAGE
from karptui.session.pace import KEYBOARD, Pace
from karptui.session.row_server import List, RowServer
from karptui.session.session import Session

IDLE_POLLS: Final = 4
"""While the terminal is not in front, only every so many polls count."""


class ClusterApp(App[None]):
    """Subclasses say how often to look, and show what has changed."""

    def __init__(self, session: Session, clock: Clock, lists: Mapping[str, Callable[[], List]]) -> None:
        """Make an app that has not begun.

        Args:
            session: the cluster.
            clock: tells the time.
            lists: the lists whose rows screens ask for by window, by name.
        """
        super().__init__()
        self.session = session
        self._rows = RowServer(lambda: self.session.view, lists)
        self.clock = clock
        self._polls = 0
        self._pace = Pace()
        self._is_in_front = True
        self._polling: asyncio.Task[None] | None = None
        self._shown_session: Session | None = None
        """Of this one the first rows are drawn."""

    def show_changes(self, *, is_changed: bool) -> None:
        """Show what was taken over.

        Args:
            is_changed: whether it was anything; time goes on in any case.
        """
        raise NotImplementedError

    # Taking over

    @work(thread=True, group="source")
    def _start_source(self) -> None:
        self.session.start()

    def on_app_blur(self, _event: events.AppBlur) -> None:
        """Look less often while nobody looks."""
        self._is_in_front = False

    def on_app_focus(self, _event: events.AppFocus) -> None:
        """Look often again, and at once."""
        self._is_in_front = True
        self.poll_now()

    def _tick(self) -> None:
        KEYBOARD.rested()
        GARBAGE.search_at_rest()
        self._polls += 1
        if not self._is_in_front and self._polls % IDLE_POLLS:
            return
        if not self.session.is_large:
            self.poll_now()
        elif self._polling is None and self._pace.is_due(time.monotonic(), has_news=self.session.has_news):
            self._poll_aside()

    def poll_now(self) -> None:
        """Take over what the source has said, and show it."""
        self._took_over(is_changed=self.session.poll(self.now_ns()))

    def _poll_aside(self) -> None:
        """Do the same in a thread, so that the work a large cluster makes holds up no key."""
        # No worker: each is a reference cycle with its task, which holds what it worked on until it is searched for.
        self._polling = asyncio.create_task(self._poll_in_thread())
        self._polling.add_done_callback(self._polled)

    async def _poll_in_thread(self) -> None:
        session, began = self.session, time.monotonic()
        is_changed = await asyncio.to_thread(session.poll, self.now_ns())
        self._pace.took(began, time.monotonic())
        if session is self.session:
            self._took_over(is_changed=is_changed)

    def _polled(self, task: asyncio.Task[None]) -> None:
        self._polling = None
        if not task.cancelled() and task.exception() is not None:
            self.call_later(task.result)  # where an error ends the app

    def _took_over(self, *, is_changed: bool) -> None:
        session = self.session
        self.show_changes(is_changed=is_changed)
        session.analyse(self.now_ns())
        if session.knows_nodes and session is not self._shown_session:
            self._shown_session = session
            self.call_after_refresh(self.first_rows_shown)

    def first_rows_shown(self) -> None:
        """Begin what the first rows of a cluster must not wait for."""
        self.session.ask_for_evidence()

    # What screens ask for

    @property
    def border(self) -> Border:
        """What screens ask the session."""
        return self._rows

    @property
    def view(self) -> ClusterView:
        """What screens show."""
        return self.session.view

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch."""
        return self.clock.now_ns()

    def look_at(self, focus: Focus) -> None:
        """Say which nodes are looked at, so that they are analysed first."""
        self.session.analyst.look_at(focus)

    def want_usage(self) -> None:
        """Say that live usage is looked at."""
        self.session.want_usage()

    async def fetch_raw(self, kind: str, key: str) -> str:
        """Return an object as YAML, without holding up the screen."""
        return await asyncio.to_thread(self.session.fetch_raw, kind, key)

    async def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return an object as the API server has it, without holding up the screen."""
        return await asyncio.to_thread(self.session.fetch_object, kind, key)

    async def crds(self) -> tuple[dict[str, Any], ...]:
        """Return the cluster's CustomResourceDefinitions of Karpenter's kinds, without holding up the screen."""
        return await asyncio.to_thread(self.session.crds)
