"""The thread that replays scenarios: the newest question counts, and nothing that goes wrong ends it."""

from __future__ import annotations

import queue
from collections.abc import Sequence

import pytest

from karptui.clock import FrozenClock
from karptui.provisioning.reporter import Cancelled
from karptui.session.cluster_view import ClusterView
from karptui.session.replayer import Question, Replayer, _Report
from karptui.session.session import Session
from karptui.sources.demo.source import DemoSource
from karptui.whatif.edits import AnyEdit, ObjectRef, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Scenario
from karptui.whatif.situation import Edited, WhatIfBase
from tests.builders import NOW_NS

SECONDS = 60.0


@pytest.fixture(scope="module")
def view() -> ClusterView:
    session = Session(DemoSource(clock=FrozenClock(NOW_NS), is_stepped=True))
    session.start()
    session.poll()
    session.stop()
    return session.view


def heavier(weight: int) -> Scenario:
    edit = SetField(ObjectRef("NodePool", "general"), ("spec", "weight"), weight)
    return Scenario(f"weight {weight}", edits=(edit,))


def answers_until(told: queue.Queue[Answer], name: str) -> list[Answer]:
    """Return what is told up to the second answer, which has blockers, to a question."""
    found: list[Answer] = []
    while not found or found[-1].scenario.name != name or found[-1].blockers_gained is None:
        found.append(told.get(timeout=SECONDS))
    return found


def test_the_difference_comes_first_and_blockers_after(view: ClusterView) -> None:
    told: queue.Queue[Answer] = queue.Queue()
    replayer = Replayer(told.put)
    try:
        number = replayer.ask(view, NOW_NS, heavier(60))
        assert replayer.is_busy
        first, second = answers_until(told, "weight 60")
        assert first.difference is not None
        assert first.blockers_gained is None
        assert second.difference is first.difference
        assert replayer.answered == number
        assert not replayer.is_busy
    finally:
        replayer.stop()


def test_the_newest_question_is_answered_on_the_same_base(view: ClusterView, monkeypatch: pytest.MonkeyPatch) -> None:
    told: queue.Queue[Answer] = queue.Queue()
    bases: list[WhatIfBase] = []

    def noted(base: WhatIfBase, edits: Sequence[AnyEdit]) -> Edited:
        bases.append(base)
        return apply(base, edits)

    monkeypatch.setattr("karptui.whatif.run.apply", noted)
    replayer = Replayer(told.put)
    try:
        for weight in range(10, 30):
            last = replayer.ask(view, NOW_NS, heavier(weight))
        answers_until(told, "weight 29")
        assert replayer.answered == last
        again = replayer.ask(view, NOW_NS, heavier(40))
        answers_until(told, "weight 40")
        assert len(bases) >= 2
        assert len({id(base) for base in bases}) == 1
        assert replayer.answered == again
    finally:
        replayer.stop()


def test_an_edit_that_cannot_be_made_is_answered_too(view: ClusterView) -> None:
    told: queue.Queue[Answer] = queue.Queue()
    replayer = Replayer(told.put)
    try:
        gone = SetField(ObjectRef("NodePool", "gone"), ("spec", "weight"), 5)
        replayer.ask(view, NOW_NS, Scenario(edits=(gone,)))
        assert "gone" in told.get(timeout=SECONDS).problem
    finally:
        replayer.stop()


@pytest.mark.crashes
def test_whatever_goes_wrong_is_said_and_the_thread_lives_on(
    view: ClusterView, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: queue.Queue[Answer] = queue.Queue()
    replayer = Replayer(told.put)
    try:
        with monkeypatch.context() as patch:
            patch.setattr("karptui.session.whatif_base.base_of", lambda *_: 1 // 0)
            replayer.ask(view, NOW_NS, heavier(60))
            assert "ZeroDivisionError" in told.get(timeout=SECONDS).problem
        replayer.ask(view, NOW_NS, heavier(61))
        assert told.get(timeout=SECONDS).difference is not None
    finally:
        replayer.stop()


def test_a_question_is_given_up_for_a_newer_one_and_at_the_end(view: ClusterView) -> None:
    replayer = Replayer(lambda _: None)
    report = _Report(replayer, 1)
    report(3, 9)
    assert replayer.progress == (1, 3, 9)
    replayer._question = Question(2, view, NOW_NS, heavier(1))
    with pytest.raises(Cancelled):
        report(4, 9)
    replayer._question = None
    replayer.stop()
    with pytest.raises(Cancelled):
        report(5, 9)
    replayer.ask(view, NOW_NS, heavier(2))
    assert replayer._thread is None
