from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest
from msgspec.structs import replace

from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.provisioning.reporter import Cancelled
from karptui.serving import session as module
from karptui.serving.session import FOLLOW_AFTER_NS, FOLLOW_TYPED_NS, WhatIfs
from karptui.session.cluster_view import ClusterView
from karptui.session.follower import ClusterFollower
from karptui.session.replays import Replayer, ReplayProgress, ReplayQuestion, SharedBase, _Report
from karptui.sources.demo.source import DemoSource
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.whatif.edits import AnyEdit, ObjectRef, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Scenario
from karptui.whatif.situation import EditedCluster, WhatIfBase
from tests.builders import NOW_NS, a_cluster, a_pod


class RecordingReplayer:
    """Replaces the replayer and records the requests."""

    def __init__(self, tell: Callable[[Answer], None], shared_base: SharedBase) -> None:
        self.tell, self.shared_base = tell, shared_base
        self.views: list[ClusterView] = []
        self.progress, self.answered, self.is_busy = ReplayProgress(0, 3, 9), 0, True

    def ask(self, view: ClusterView, _now_ns: int, _scenario: Scenario) -> int:
        self.views.append(view)
        return len(self.views)


class ChangingSession:
    """A session whose cluster changes when the test says so."""

    def __init__(self) -> None:
        self.view = ClusterView(a_cluster(nodes=1), {})
        self.replays = WhatIfs(lambda: self.view, SharedBase())

    def ask(self, by_ns: int = 0, *, is_typing: bool = False, is_first: bool = False) -> ClusterView:
        self.replays.replay(Scenario("x"), NOW_NS + by_ns, is_typing=is_typing, is_first=is_first)
        replayer = self.replays._replayer
        assert isinstance(replayer, RecordingReplayer)
        return replayer.views[-1]

    def change(self) -> ClusterView:
        before, pod = self.view, a_pod(name="new")
        state = reduce(before.state, Batch({Kind.POD: KindDelta({pod.key: pod})}))
        self.view = ClusterView(state, before.statuses, before, evidence=before.evidence)
        return self.view


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> ChangingSession:
    monkeypatch.setattr(module, "Replayer", RecordingReplayer)
    return ChangingSession()


def test_replays_reuse_the_prepared_cluster_until_it_is_too_old(told: ChangingSession) -> None:
    first = told.ask()
    later = told.change()
    assert told.ask() is first
    assert told.ask(FOLLOW_AFTER_NS, is_typing=True) is first, "the prepared cluster was replaced while the user types"
    assert told.ask(FOLLOW_AFTER_NS) is later
    newest = told.change()
    assert told.ask(FOLLOW_AFTER_NS + FOLLOW_TYPED_NS, is_typing=True) is newest
    again = told.change()
    assert told.ask(FOLLOW_AFTER_NS + FOLLOW_TYPED_NS, is_first=True) is again


def test_the_state_of_the_last_replay(told: ChangingSession) -> None:
    assert told.replays.state(NOW_NS).number == 0
    told.ask()
    state = told.replays.state(NOW_NS)
    assert (state.number, state.is_busy, state.done, state.total) == (1, True, 3, 9)
    assert (state.is_outdated, state.moves, state.is_due) == (False, False, False)
    told.change()
    state = told.replays.state(NOW_NS)
    assert (state.is_outdated, state.moves, state.is_due) == (True, False, False)
    state = told.replays.state(NOW_NS + FOLLOW_AFTER_NS)
    assert (state.is_outdated, state.moves, state.is_due) == (True, True, True)
    state = told.replays.state(NOW_NS + FOLLOW_AFTER_NS, is_typing=True)
    assert not state.is_due


def test_an_answer_has_the_number_of_its_request(told: ChangingSession) -> None:
    heard: list[tuple[int, str]] = []
    told.replays.subscribe(lambda number, answer: heard.append((number, answer.scenario.name)))
    told.ask()
    replayer = told.replays._replayer
    assert isinstance(replayer, RecordingReplayer)
    replayer.answered = 1
    replayer.tell(Answer(Scenario("x")))
    assert heard == [(1, "x")]


SECONDS = 60.0


@pytest.fixture(scope="module")
def view() -> ClusterView:
    session = ClusterFollower(DemoSource(clock=FrozenClock(NOW_NS), is_stepped=True))
    session.start()
    session.poll()
    session.stop()
    return session.view


def heavier(weight: int) -> Scenario:
    edit = SetField(ObjectRef("NodePool", "general"), ("spec", "weight"), weight)
    return Scenario(f"weight {weight}", edits=(edit,))


def answers_until(answers: queue.Queue[Answer], name: str) -> list[Answer]:
    """Return the answers up to a scenario's second one, which has the blockers."""
    result: list[Answer] = []
    while not result or result[-1].scenario.name != name or result[-1].blockers_gained is None:
        result.append(answers.get(timeout=SECONDS))
    return result


@pytest.fixture
def answers() -> queue.Queue[Answer]:
    return queue.Queue()


@pytest.fixture
def replayer(answers: queue.Queue[Answer]) -> Iterator[Replayer]:
    replayer = Replayer(answers.put)
    yield replayer
    replayer.stop()


def test_the_difference_precedes_blockers(view: ClusterView, replayer: Replayer, answers: queue.Queue[Answer]) -> None:
    number = replayer.ask(view, NOW_NS, heavier(60))
    assert replayer.is_busy
    first, second = answers_until(answers, "weight 60")
    assert first.difference is not None
    assert first.blockers_gained is None
    assert second.difference is first.difference
    assert replayer.answered == number
    assert not replayer.is_busy


def test_only_the_newest_request_is_answered_and_the_base_is_reused(
    view: ClusterView, replayer: Replayer, answers: queue.Queue[Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    bases: list[WhatIfBase] = []

    def noted(base: WhatIfBase, edits: Sequence[AnyEdit]) -> EditedCluster:
        bases.append(base)
        return apply(base, edits)

    monkeypatch.setattr("karptui.whatif.run.apply", noted)
    for weight in range(10, 30):
        last = replayer.ask(view, NOW_NS, heavier(weight))
    answers_until(answers, "weight 29")
    assert replayer.answered == last
    again = replayer.ask(view, NOW_NS, heavier(40))
    answers_until(answers, "weight 40")
    assert len(bases) >= 2
    assert len({id(base) for base in bases}) == 1
    assert replayer.answered == again


def test_an_impossible_edit_gets_an_answer(view: ClusterView, replayer: Replayer, answers: queue.Queue[Answer]) -> None:
    gone = SetField(ObjectRef("NodePool", "gone"), ("spec", "weight"), 5)
    replayer.ask(view, NOW_NS, Scenario(edits=(gone,)))
    assert "gone" in answers.get(timeout=SECONDS).problem


def test_nothing_is_replayed_without_pods(view: ClusterView, replayer: Replayer, answers: queue.Queue[Answer]) -> None:
    state = replace(view.state, unread=frozenset({Kind.POD}))
    replayer.ask(ClusterView(state, view.statuses, evidence=view.evidence), NOW_NS, heavier(5))
    assert answers.get(timeout=SECONDS).problem == "nothing can be simulated: pods were not read"


@pytest.mark.crashes
def test_an_internal_error_is_reported_and_the_thread_continues(
    view: ClusterView, replayer: Replayer, answers: queue.Queue[Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("karptui.session.prepare.base_of", lambda *_: 1 // 0)
        replayer.ask(view, NOW_NS, heavier(60))
        assert "ZeroDivisionError" in answers.get(timeout=SECONDS).problem
    replayer.ask(view, NOW_NS, heavier(61))
    assert answers.get(timeout=SECONDS).difference is not None


def test_a_replay_is_cancelled_by_a_newer_request_and_by_stopping(view: ClusterView) -> None:
    replayer = Replayer(lambda _: None)
    report = _Report(replayer, 1)
    report(3, 9)
    assert replayer.progress == (1, 3, 9)
    replayer._question = ReplayQuestion(2, view, NOW_NS, heavier(1))
    with pytest.raises(Cancelled):
        report(4, 9)
    replayer._question = None
    replayer.stop()
    with pytest.raises(Cancelled):
        report(5, 9)
    replayer.ask(view, NOW_NS, heavier(2))
    assert replayer._thread is None


# The shared base: one per view, used by one thread at a time


def test_the_same_view_has_the_same_base(view: ClusterView) -> None:
    shared, first, second = SharedBase(), view, ClusterView(a_cluster(nodes=1), {})
    base = shared.take(first, NOW_NS)
    assert shared.take(first, NOW_NS + 1) is base
    with shared.borrowed(first, NOW_NS) as again:
        assert again is base
    other = shared.take(second, NOW_NS + 2)
    assert other is not base
    assert other.now_ns == NOW_NS + 2


def test_other_threads_wait_until_the_base_is_given_back(view: ClusterView) -> None:
    shared, got = SharedBase(), []

    def try_it() -> None:
        got.append(shared.lock.acquire(blocking=False))
        if got[-1]:
            shared.lock.release()

    with shared.borrowed(view, NOW_NS):
        _elsewhere(try_it)
    _elsewhere(try_it)
    assert got == [False, True]


def _elsewhere(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
