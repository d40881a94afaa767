"""Questions to the replayer, and what becomes of its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual import on
from textual.message import Message
from textual.timer import Timer

from karptui.screens.whatif.offering import Offering
from karptui.screens.whatif.typing import Typing
from karptui.views.whatif.answer import Answer
from karptui.whatif.scenario import Scenario

REPLAY_AFTER_SECONDS: Final = 0.08
"""How long after the last key a scenario is replayed."""
FOLLOW_AFTER_NS: Final = 2_000_000_000
"""How long the base may be behind a cluster that keeps changing."""


class Answering(Typing, Offering):
    """Mixed into the what-if screen."""

    problem = ""
    """Why the last question has no answer."""
    _timer: Timer | None = None
    _question: Scenario | None = None
    """What was asked last."""
    _is_asked = False
    """Whether that is still what the sheet in front asks."""
    _asked: tuple[object, object] = (None, None)
    """State and evidence of the last question."""
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
        if not self._is_known(scenario):
            view, self._question = self.host.view, scenario
            self._asked, self._asked_ns = (view.state, view.evidence), self.host.now_ns()
            self.desk.replayer.ask(view, self._asked_ns, scenario)
        self.result.show_busy(self.desk.replayer)

    def _is_known(self, scenario: Scenario) -> bool:
        """Whether the answer is there or on its way: a comment changes the text and asks nothing new."""
        view = self.host.view
        if scenario != self._question or self._asked != (view.state, view.evidence):
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
        view = self.host.view
        if self._asked[0] is None or self._asked == (view.state, view.evidence):
            return
        self.follow_names()
        behind = self.host.now_ns() - self._asked_ns
        if behind >= FOLLOW_AFTER_NS and not self.desk.replayer.is_busy:
            self.result.note_change()
            self.ask()
