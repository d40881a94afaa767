"""What-ifs of a session: on which cluster they are replayed, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import pytest

from karptui.decode.kinds import Kind
from karptui.session import replays as module
from karptui.session.cluster_view import ClusterView
from karptui.session.questions import Replayed, ReplayStateWanted, ReplayWanted
from karptui.session.replayer import Progress
from karptui.session.replays import FOLLOW_AFTER_NS, FOLLOW_TYPED_NS, Replays
from karptui.session.shared_base import SharedBase
from karptui.state.deltas import Batch, KindDelta
from karptui.state.reducer import reduce
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Scenario
from tests.builders import NOW_NS, a_cluster, a_pod


class Asked:
    """Stands for the replayer: takes down what is asked."""

    def __init__(self, tell: Callable[[Answer], None], shared_base: SharedBase) -> None:
        self.tell, self.shared_base = tell, shared_base
        self.views: list[ClusterView] = []
        self.progress, self.answered, self.is_busy = Progress(0, 3, 9), 0, True

    def ask(self, view: ClusterView, _now_ns: int, _scenario: Scenario) -> int:
        self.views.append(view)
        return len(self.views)


class Told:
    """A session whose cluster changes when it is told."""

    def __init__(self) -> None:
        self.view = ClusterView(a_cluster(nodes=1), {})
        self.replays = Replays(lambda: self.view, SharedBase())

    def ask(self, by_ns: int = 0, *, is_typing: bool = False, is_first: bool = False) -> ClusterView:
        wanted = ReplayWanted(scenario=Scenario("x"), now_ns=NOW_NS + by_ns, is_typing=is_typing, is_first=is_first)
        self.replays.replay(wanted)
        replayer = self.replays._replayer
        assert isinstance(replayer, Asked)
        return replayer.views[-1]

    def change(self) -> ClusterView:
        before, pod = self.view, a_pod(name="new")
        state = reduce(before.state, Batch({Kind.POD: KindDelta({pod.key: pod})}))
        self.view = ClusterView(state, before.statuses, before, evidence=before.evidence)
        return self.view


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    monkeypatch.setattr(module, "Replayer", Asked)
    return Told()


def test_the_cluster_that_was_made_ready_is_asked_until_it_is_too_old(told: Told) -> None:
    first = told.ask()
    later = told.change()
    assert told.ask() is first
    assert told.ask(FOLLOW_AFTER_NS, is_typing=True) is first, "somebody types"
    assert told.ask(FOLLOW_AFTER_NS) is later
    newest = told.change()
    assert told.ask(FOLLOW_AFTER_NS + FOLLOW_TYPED_NS, is_typing=True) is newest
    again = told.change()
    assert told.ask(FOLLOW_AFTER_NS + FOLLOW_TYPED_NS, is_first=True) is again


def test_other_prices_are_asked_at_once(told: Told) -> None:
    told.ask()
    view = told.view
    told.view = priced = ClusterView(view.state, view.statuses, view, evidence=copy(view.evidence))
    assert told.ask() is priced


def test_what_is_said_of_the_last_question(told: Told) -> None:
    assert told.replays.state(ReplayStateWanted(now_ns=NOW_NS)).number == 0
    told.ask()
    said = told.replays.state(ReplayStateWanted(now_ns=NOW_NS))
    assert (said.number, said.is_busy, said.done, said.total) == (1, True, 3, 9)
    assert (said.is_outdated, said.moves, said.is_due) == (False, False, False)
    told.change()
    said = told.replays.state(ReplayStateWanted(now_ns=NOW_NS))
    assert (said.is_outdated, said.moves, said.is_due) == (True, False, False)
    said = told.replays.state(ReplayStateWanted(now_ns=NOW_NS + FOLLOW_AFTER_NS))
    assert (said.is_outdated, said.moves, said.is_due) == (True, True, True)
    said = told.replays.state(ReplayStateWanted(now_ns=NOW_NS + FOLLOW_AFTER_NS, is_typing=True))
    assert not said.is_due


def test_an_answer_comes_with_the_number_of_its_question(told: Told) -> None:
    heard: list[Replayed] = []
    told.replays.tell(heard.append)
    told.ask()
    replayer = told.replays._replayer
    assert isinstance(replayer, Asked)
    replayer.answered = 1
    replayer.tell(Answer(Scenario("x")))
    assert [(one.number, one.answer.scenario.name) for one in heard] == [(1, "x")]
