"""Questions to the replayer, and what becomes of its answers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from textual import on
from textual.message import Message
from textual.timer import Timer

from karptui.screens.whatif.offering import Offering
from karptui.screens.whatif.typing import Typing
from karptui.session.cluster_view import ClusterView
from karptui.session.pace import KEYBOARD
from karptui.whatif.answer import Answer
from karptui.whatif.scenario import Scenario

REPLAY_AFTER_SECONDS: Final = 0.08
"""How long after the last key a scenario is replayed."""
FOLLOW_AFTER_NS: Final = 2_000_000_000
"""How long the base may be behind a cluster that keeps changing."""
FOLLOW_TYPED_NS: Final = 8_000_000_000
"""How long it may while somebody types."""


class Answering(Typing, Offering):
    """Mixed into the what-if screen."""

    problem = ""
    """Why the last question has no answer."""
    _timer: Timer | None = None
    _question: Scenario | None = None
    """What was asked last."""
    _is_asked = False
    """Whether that is still what the sheet in front asks."""
    _asked: ClusterView | None = None
    """The cluster of the last question."""
    _asked_ns = 0

    @dataclass
    class Answered(Message):
        """A replay has come to its end."""

        answer: Answer

    def heard(self, answer: Answer) -> None:
        """Take an answer over from the replayer's thread."""
        self.post_message(self.Answered(answer))

    def ask_soon(self) -> None:
        """Replay once no key has come for a moment, and say before what the text says."""
        self._is_asked = False
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(REPLAY_AFTER_SECONDS, self.ask)

    def ask(self) -> None:
        """Replay now, unless a document cannot be read: then the last good result stays."""
        if not self.is_attached:
            return
        self.show_sheet()
        if self.documents.is_broken:
            return
        scenario, self._is_asked = self.desk.scenario(self.documents.parsed), True
        view = self._view_to_ask()
        if not self._is_known(scenario, view):
            if view is not self._asked:
                self._asked, self._asked_ns = view, self.host.now_ns()
            self._question = scenario
            self.desk.replayer.ask(view, self._asked_ns, scenario)
        self.result.show_busy(self.desk.replayer)

    def _view_to_ask(self) -> ClusterView:
        """Return the cluster as it is; while somebody edits, as it was a moment ago, which has been made ready."""
        view, asked = self.host.view, self._asked
        if asked is None or view.evidence is not asked.evidence or self._is_behind:
            return view
        is_later = view.state.generation > asked.state.generation  # else it is another cluster
        return asked if is_later else view

    @property
    def _is_behind(self) -> bool:
        """Whether it is time for the base to follow the cluster."""
        allowed_ns = FOLLOW_TYPED_NS if KEYBOARD.is_busy(time.monotonic()) else FOLLOW_AFTER_NS
        return self.host.now_ns() - self._asked_ns >= allowed_ns

    def _is_asked_of(self, view: ClusterView) -> bool:
        """Whether the last question was about a cluster as it is here."""
        asked = self._asked
        return asked is not None and asked.state is view.state and asked.evidence is view.evidence

    def _is_known(self, scenario: Scenario, view: ClusterView) -> bool:
        """Whether the answer is there or on its way: a comment changes the text and asks nothing new."""
        if scenario != self._question or not self._is_asked_of(view):
            return False
        answer = self.desk.answers.get(self.desk.index)
        is_there = answer is not None and answer.scenario is self._question and answer.blockers_gained is not None
        return is_there or self.desk.replayer.is_busy

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        event.stop()
        answer = event.answer
        if answer.scenario is not self._question or not self._is_asked:
            return
        self.problem = answer.problem
        if answer.difference is not None:
            self.desk.answers[self.desk.index] = answer
        self.result.show_busy(self.desk.replayer)
        self.result.show_answer(self.desk.answers.get(self.desk.index), answer.problem)
        self.show_titles()
        self.refresh_info()

    def show_state(self) -> None:
        """Follow the cluster: replay again when it has changed, and say how far a replay has come."""
        self.result.show_busy(self.desk.replayer)
        if self._asked is None or self._is_asked_of(self.host.view):
            return
        self.follow_names()
        if self._is_behind and not self.desk.replayer.is_busy:
            self.result.note_change()
            self.ask()
