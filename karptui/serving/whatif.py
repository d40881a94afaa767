"""What-ifs: replays in a thread, comparisons, and a check of the model."""

# ruff: noqa: PLC0415 - the first rows wait for no engine: each is imported in the thread that asks

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from karptui.session.answers import ReplayState
from karptui.session.replays import Replayer, SharedBase

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView
    from karptui.session.packing import Packed
    from karptui.whatif.run import Answer
    from karptui.whatif.scenario import Scenario

FOLLOW_AFTER_NS: Final = 2_000_000_000
"""Longest lag of the base behind a changing cluster."""
FOLLOW_TYPED_NS: Final = 8_000_000_000
"""The same while the user types."""


class WhatIfs:
    """Scenarios on the current cluster; while the user edits, on the prepared cluster of a moment ago."""

    def __init__(self, view: Callable[[], ClusterView], shared_base: SharedBase) -> None:
        self._view, self._shared_base = view, shared_base
        self._current: Replayer | None = None
        self._listener: Callable[[int, Answer], None] | None = None
        self._asked: ClusterView | None = None
        """The cluster of the last question."""
        self._asked_ns = 0
        self._number = 0

    @property
    def _replayer(self) -> Replayer:
        if self._current is None:
            self._current = Replayer(self._pass_on, shared_base=self._shared_base)
        return self._current

    def _pass_on(self, answer: Answer) -> None:
        if self._listener is not None:
            self._listener(self._replayer.answered, answer)

    def subscribe(self, listener: Callable[[int, Answer], None]) -> None:
        self._listener = listener

    def replay(
        self, scenario: Scenario, now_ns: int, *, is_typing: bool = False, is_first: bool = False
    ) -> ReplayState:
        if is_first:
            self._asked = None
        view = self._view_to_ask(now_ns, is_typing=is_typing)
        if view is not self._asked:
            self._asked, self._asked_ns = view, now_ns
        self._number = self._replayer.ask(view, self._asked_ns, scenario)
        return self.state(now_ns, is_typing=is_typing)

    def state(self, now_ns: int, *, is_typing: bool = False) -> ReplayState:
        if self._current is None:
            return ReplayState()
        progress, next_view = self._current.progress, self._view_to_ask(now_ns, is_typing=is_typing)
        return ReplayState(
            number=self._number,
            is_busy=self._current.is_busy,
            done=progress.done,
            total=progress.total,
            is_outdated=not self._is_asked_of(self._view()),
            moves=not self._is_asked_of(next_view),
            is_due=self._is_behind(now_ns, is_typing=is_typing),
        )

    def _view_to_ask(self, now_ns: int, *, is_typing: bool) -> ClusterView:
        view, asked = self._view(), self._asked
        if asked is None or view.evidence is not asked.evidence or self._is_behind(now_ns, is_typing=is_typing):
            return view
        is_later = view.state.generation > asked.state.generation  # else it is another cluster
        return asked if is_later else view

    def _is_behind(self, now_ns: int, *, is_typing: bool) -> bool:
        """Whether it is time for the base to follow the cluster."""
        return now_ns - self._asked_ns >= (FOLLOW_TYPED_NS if is_typing else FOLLOW_AFTER_NS)

    def _is_asked_of(self, view: ClusterView) -> bool:
        """Whether the last question was about this state of the cluster."""
        asked = self._asked
        return asked is not None and asked.state is view.state and asked.evidence is view.evidence

    def stop(self) -> None:
        """End the thread soon."""
        if self._current is not None:
            self._current.stop()

    def wait_until_at_rest(self, seconds: float) -> bool:
        """Wait until all questions are answered; return whether that happened within this many seconds."""
        return self._current is None or self._current.wait_until_at_rest(seconds)

    def compare(self, scenario: Scenario, now_ns: int) -> Answer:
        from karptui.provisioning.reporter import silent
        from karptui.whatif.run import answer

        with self._shared_base.borrowed(self._view(), now_ns) as base:
            return answer(base, scenario, silent, time.monotonic)

    def packed(self, scenario: Scenario, now_ns: int) -> Packed:
        from karptui.session.packing import packed_sides

        with self._shared_base.borrowed(self._view(), now_ns) as base:
            return packed_sides(base, scenario)

    def self_check(self, now_ns: int) -> str:
        from karptui.views.whatif.compare import self_check_text
        from karptui.whatif.self_check import self_check

        return self_check_text(self_check(self._shared_base.take(self._view(), now_ns)))
