from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.disruption.analysis import Analysis
from karptui.disruption.analysis_steps import AnalysisSteps
from karptui.disruption.joint_saving import JointRemoval
from karptui.kube.objects import Lease
from karptui.session import analyst as module
from karptui.session import throttle
from karptui.session.analyst import Analyst
from karptui.session.answers import Focus
from karptui.session.cluster_view import ClusterView
from karptui.session.costs import Held, held_of
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.studies.forecasts import RemovalForecasts
from tests.builders import NOW_NS, SECOND_NS, a_pod, present
from tests.stepped_analyst import SteppedAnalyst
from tests.story_e import story_view

PATIENCE_SECONDS = 30.0
KEY = "claim/runners-1x204"


@pytest.fixture
def worker() -> SteppedAnalyst:
    """Return an analyst that works only when stepped."""
    return SteppedAnalyst()


@pytest.fixture
def threaded() -> Iterator[Analyst]:
    analyst = Analyst()
    yield analyst
    analyst.stop()
    assert analyst.wait_until_at_rest(PATIENCE_SECONDS)


def analysis_of(worker: Analyst) -> Analysis:
    assert worker.latest is not None
    return worker.latest


def analysed(worker: SteppedAnalyst, view: ClusterView, now_ns: int = NOW_NS) -> ClusterView:
    worker.submit(view, now_ns)
    worker.catch_up()
    return view


def is_complete(worker: Analyst, generation: int) -> bool:
    analysis = worker.latest
    return analysis is not None and analysis.generation == generation and analysis.is_complete


def changed(view: ClusterView, name: str = "new") -> ClusterView:
    pod = a_pod(name=name, node="ip-10-0-8-41")
    state = reduce(view.state, Batch({Kind.POD: KindDelta({pod.key: pod})}))
    return ClusterView(state, view.statuses, view, evidence=view.evidence)


def test_the_analysis_is_complete_at_rest(threaded: Analyst) -> None:
    view = story_view()
    assert threaded.latest is None
    threaded.submit(view, NOW_NS)
    assert threaded.wait_until_at_rest(PATIENCE_SECONDS)
    assert is_complete(threaded, view.state.generation)
    assert str(analysis_of(threaded).findings[KEY].why.code) == "DND"
    assert threaded.failure == ""


def test_an_unchanged_cluster_is_analysed_again_only_after_a_while(worker: SteppedAnalyst) -> None:
    view = analysed(worker, story_view())
    assert is_complete(worker, view.state.generation)
    analysed(worker, view, NOW_NS + SECOND_NS)
    assert analysis_of(worker).now_ns == NOW_NS
    later_ns = NOW_NS + (module.STALE_SECONDS + 1) * SECOND_NS
    analysed(worker, view, later_ns)
    assert analysis_of(worker).now_ns == later_ns


def test_node_detail_is_computed_on_request_and_the_next_command_at_rest(worker: SteppedAnalyst) -> None:
    view = analysed(worker, story_view())
    assert is_complete(worker, view.state.generation)
    assert analysis_of(worker).detail is None
    report = analysis_of(worker).next
    worker.look_at(Focus(detail=KEY))
    worker.catch_up()
    assert analysis_of(worker).detail is not None
    assert analysis_of(worker).next is report
    assert report is not None
    assert report.method


def test_nodes_on_the_screen_are_simulated_first(worker: SteppedAnalyst, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    simulate = AnalysisSteps.simulate

    def noted(steps: AnalysisSteps, key: str) -> None:
        order.append(key)
        simulate(steps, key)

    monkeypatch.setattr(AnalysisSteps, "simulate", noted)
    seen = ("claim/general-x44x2", "claim/batch-5x160")
    worker.look_at(Focus(keys=seen))
    view = analysed(worker, story_view())
    assert is_complete(worker, view.state.generation)
    assert tuple(order[:2]) == seen
    assert len(order) == 8


def test_a_newer_cluster_interrupts_simulations_of_off_screen_nodes(
    worker: SteppedAnalyst, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REST_SECONDS", -1.0)
    first, simulate, simulated = story_view(), AnalysisSteps.simulate, []
    second = changed(first)

    def interrupted(self: AnalysisSteps, key: str) -> None:
        simulated.append(key)
        worker.submit(second, NOW_NS)
        simulate(self, key)

    monkeypatch.setattr(AnalysisSteps, "simulate", interrupted)
    analysed(worker, first)
    assert len(simulated) == 1
    worker.catch_up()
    assert is_complete(worker, second.state.generation)
    assert min(analysis_of(worker).simulated_in.values()) == second.state.generation


def test_a_newer_cluster_interrupts_the_simulation_of_the_next_command(
    worker: SteppedAnalyst, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEAST_SECONDS", -1.0)
    asked: list[bool] = []
    simulate_next_pass = AnalysisSteps.simulate_next_pass

    def ask(self: AnalysisSteps, simulator: Any = None) -> None:
        if not asked:
            asked.append(True)
            worker.submit(second, NOW_NS)
        simulate_next_pass(self, simulator)

    monkeypatch.setattr(AnalysisSteps, "simulate_next_pass", ask)
    first = story_view()
    second = changed(first)
    worker.look_at(Focus(asks_next=True))
    analysed(worker, first)
    worker.catch_up()
    report = present(analysis_of(worker).next)
    assert report.generation == second.state.generation


def held_now(worker: Analyst, view: ClusterView) -> Held:
    return held_of(view.with_answers(analysis=analysis_of(worker)).node_entries, analysis_of(worker).joint)


def test_removals_are_forecast_after_the_new_focus_is_analysed(
    worker: SteppedAnalyst, monkeypatch: pytest.MonkeyPatch
) -> None:
    details: list[bool] = []

    def of(self: RemovalForecasts, _: frozenset[str], removal: JointRemoval) -> JointRemoval:
        details.append(analysis_of(worker).detail is not None)
        worker.look_at(Focus(detail=KEY))
        self._base.pause()
        return replace(removal, seconds=60)

    monkeypatch.setattr(RemovalForecasts, "of", of)
    view = analysed(worker, story_view())
    assert held_now(worker, view).is_upper_bound
    worker.catch_up()
    assert (details, held_now(worker, view).is_upper_bound) == ([False], True)
    worker.catch_up()
    assert (details, held_now(worker, view).seconds) == ([False, True], 60)


@pytest.mark.crashes
def test_a_failed_forecast_keeps_the_upper_bound(worker: SteppedAnalyst, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(*_: Any) -> JointRemoval:
        raise KeyError("pod")

    monkeypatch.setattr(RemovalForecasts, "of", of)
    view = analysed(worker, story_view())
    assert held_now(worker, view).is_upper_bound
    worker.catch_up()
    assert (worker.failure, held_now(worker, view).is_upper_bound) == ("", True)
    assert analysis_of(worker).joint is not None
    joint = present(analysis_of(worker).joint)
    assert not joint.is_forecast_due(NOW_NS)


def test_nodes_on_the_screen_are_surveyed_first(worker: SteppedAnalyst, monkeypatch: pytest.MonkeyPatch) -> None:
    survey, seen = AnalysisSteps.survey, []

    def step(self: AnalysisSteps, first: Iterable[str] = ()) -> Iterator[str]:
        for count, key in enumerate(survey(self, first), 1):
            yield key
            if count == 3:
                seen.append(worker.latest)

    monkeypatch.setattr(AnalysisSteps, "survey", step)
    worker.look_at(Focus(keys=("claim/general-x8x41", "claim/batch-5x160"), detail="claim/runners-1x204"))
    view = analysed(worker, story_view())
    assert is_complete(worker, view.state.generation)
    partial = present(seen[0])
    assert set(partial.findings) == {"claim/general-x8x41", "claim/batch-5x160", "claim/runners-1x204"}
    assert (partial.managed, partial.is_complete) == (8, False)


@pytest.mark.crashes
def test_a_failure_is_reported_and_the_next_cluster_is_analysed(
    worker: SteppedAnalyst, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = AnalysisSteps.survey

    def fail(self: AnalysisSteps, first: Iterable[str] = ()) -> Iterator[str]:
        raise ValueError("a budget of 3 elephants")

    monkeypatch.setattr(AnalysisSteps, "survey", fail)
    view = analysed(worker, story_view())
    assert worker.failure == "ValueError: a budget of 3 elephants"
    monkeypatch.setattr(AnalysisSteps, "survey", survey)
    later = changed(view)
    analysed(worker, later)
    assert is_complete(worker, later.state.generation)
    assert worker.failure == ""


def test_nodepool_overlap_is_computed_on_request(worker: SteppedAnalyst) -> None:
    view = story_view()
    worker.look_at(Focus(asks_overlap=True))
    analysed(worker, view)
    overlap = present(analysis_of(worker).overlap)
    assert overlap.pods == sum(1 for pod in view.state.pods.values() if not pod.template.is_daemonset_owned)


def test_changes_are_collected_while_the_analyst_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "BETWEEN_SECONDS", (3600.0, 3600.0))
    typist = Typist()
    typist.is_typing = False
    threaded = Analyst(clock=typist.monotonic, keyboard=typist)
    first = story_view()
    second = changed(first)
    third = changed(second, "newest")
    threaded.submit(first, NOW_NS)
    assert threaded.wait_until_at_rest(PATIENCE_SECONDS)
    threaded.submit(second, NOW_NS)
    threaded.submit(third, NOW_NS)
    assert threaded.wait_until_at_rest(PATIENCE_SECONDS)
    assert analysis_of(threaded).generation == first.state.generation
    assert (threaded.wait_seconds or 0) > 0
    typist.now += 3600.0
    threaded.look_at(Focus(keys=(KEY,)))
    assert threaded.wait_until_at_rest(PATIENCE_SECONDS)
    assert is_complete(threaded, third.state.generation)
    threaded.stop()


class Typist(throttle.Keyboard):
    """A keyboard on which the user types all the time, and a clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.is_typing = 100.0, True

    def monotonic(self) -> float:
        return self.now

    def is_busy(self, now: float) -> bool:
        return self.is_typing and now == self.now


def test_analysis_waits_for_a_typing_user_but_not_too_long() -> None:
    typist = Typist()
    waiting = SteppedAnalyst(clock=typist.monotonic, keyboard=typist)
    assert waiting.wait_seconds is None
    first = story_view()
    second = changed(first)
    waiting.submit(first, NOW_NS)
    assert waiting.wait_seconds == throttle.KEY_SECONDS
    typist.now += throttle.PATIENCE_SECONDS - 1
    waiting.submit(second, NOW_NS)
    assert waiting.wait_seconds == throttle.KEY_SECONDS
    typist.now += 1
    assert waiting.wait_seconds == 0, "the newer cluster restarted the wait"
    waiting.catch_up()
    assert analysis_of(waiting).generation == second.state.generation
    typist.now += throttle.BETWEEN_SECONDS[1]
    waiting.submit(changed(second, "newest"), NOW_NS)
    assert waiting.wait_seconds == throttle.KEY_SECONDS
    typist.is_typing = False
    assert waiting.wait_seconds == 0


def test_nodes_keep_their_answers_for_a_while_if_the_cluster_keeps_changing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_SECONDS", (20.0, 20.0))
    typist = Typist()
    typist.is_typing = False
    threaded = Analyst(clock=typist.monotonic, keyboard=typist)
    listed, view = "claim/general-x44x2", story_view()
    threaded.look_at(Focus(detail=KEY, keys=(listed,)))

    def simulated_now(view: ClusterView) -> set[str]:
        next(threaded._recorded_work(module._Job(view, NOW_NS, False)))
        return {key for key, at in analysis_of(threaded).simulated_in.items() if at == view.state.generation}

    every = simulated_now(view)
    assert is_complete(threaded, view.state.generation), "the first analysis is incomplete"
    view = changed(view)
    assert simulated_now(view) == {KEY}
    typist.now += 5.0
    view = changed(view, "later")
    assert simulated_now(view) == {KEY, listed}
    typist.now += 20.0
    view = changed(view, "newest")
    assert simulated_now(view) == every
    work = threaded._recorded_work(module._Job(changed(view, "last"), NOW_NS, False))
    next(work)
    typist.now += module.QUIET_SECONDS
    next(work)
    assert analysis_of(threaded).is_complete, "the analysis is incomplete although the cluster became quiet"


def renewed(view: ClusterView, at_ns: int) -> ClusterView:
    lease = Lease(name="karpenter-leader-election", namespace="kube-system", holder="a", renewed_ns=at_ns)
    state = reduce(view.state, Batch({Kind.LEASE: KindDelta({lease.key: lease})}))
    return ClusterView(state, view.statuses, view, evidence=view.evidence)


def test_answers_are_reused_for_a_minute_if_no_object_of_the_engines_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    typist = Typist()
    worker = SteppedAnalyst(clock=typist.monotonic, keyboard=typist)
    simulate, simulated = AnalysisSteps.simulate, []

    def noted(steps: AnalysisSteps, key: str) -> None:
        simulated.append(key)
        simulate(steps, key)

    monkeypatch.setattr(AnalysisSteps, "simulate", noted)
    view = story_view()
    steps = [(view, 8), (renewed(view, 1), 0), (changed(renewed(view, 2)), 8)]
    for view, count in steps:
        simulated.clear()
        worker.submit(view, NOW_NS)
        worker.catch_up()
        assert len(simulated) == count
        assert analysis_of(worker).generation == view.state.generation
        assert analysis_of(worker).is_complete
    typist.now += module.REUSE_SECONDS + 1
    worker.submit(renewed(view, 3), NOW_NS)
    worker.catch_up()
    assert len(simulated) == 16, "answers were reused for too long"


@given(st.lists(st.sampled_from(["lease", "pod", "gone", "ready"]), min_size=1, max_size=5))
@settings(max_examples=15, deadline=None)
def test_a_reused_answer_equals_a_fresh_one(steps: list[str]) -> None:
    worker, view = SteppedAnalyst(), story_view()
    for number, step in enumerate(steps):
        worker.submit(view, NOW_NS)
        worker.catch_up()
        pods = view.state.pods
        first = next(iter(pods.values()))
        new = a_pod(name=f"new-{number}", node="ip-10-0-8-41", cpu="2")
        delta = {
            "pod": KindDelta({new.key: new}),
            "gone": KindDelta({first.key: None}),
            "ready": KindDelta({first.key: replace(first, ready=not first.ready)}),
        }
        if step == "lease":
            view = renewed(view, number)
        else:
            state = reduce(view.state, Batch({Kind.POD: delta[step]}))
            view = ClusterView(state, view.statuses, view, evidence=view.evidence)
    analysed(worker, view)
    fresh = SteppedAnalyst()
    fresh.submit(view, NOW_NS)
    fresh.catch_up()
    findings, expected = analysis_of(worker).findings, analysis_of(fresh).findings
    assert findings.keys() == expected.keys()
    for key, result in expected.items():
        outlook = findings[key].outlook
        assert (outlook is None) == (result.outlook is None)
        assert outlook is None or result.outlook is None or outlook.now == result.outlook.now


def test_node_detail_is_computed_from_the_last_analysis_during_the_rest(
    threaded: Analyst, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttle, "BETWEEN_SECONDS", (3600.0, 3600.0))
    first = story_view()
    threaded.submit(first, NOW_NS)
    assert threaded.wait_until_at_rest(PATIENCE_SECONDS)
    before = threaded.latest
    threaded.submit(changed(first), NOW_NS)
    threaded.look_at(Focus(detail=KEY))
    assert threaded.wait_until_at_rest(PATIENCE_SECONDS)
    assert threaded.latest is not before
    assert analysis_of(threaded).detail is not None
    assert analysis_of(threaded).generation == first.state.generation


def test_pending_pods_are_explained_on_request(worker: SteppedAnalyst) -> None:
    view = waiting_view()
    analysed(worker, view)
    assert is_complete(worker, view.state.generation)
    assert worker.pending is None
    worker.look_at(Focus(asks_pending=True, pod="default/large-0"))
    worker.catch_up()
    assert _remedies_are_complete(worker)
    report = worker.pending
    assert report is not None
    assert report.generation == view.state.generation
    assert [group.cause for group in report.groups][:1] == ["no place"]


def waiting_view() -> ClusterView:
    """Return story E with a pod too large for every type."""
    view = story_view()
    pod = a_pod(name="large-0", cpu="640")
    state = reduce(view.state, Batch({Kind.POD: KindDelta({pod.key: pod})}))
    return ClusterView(state, view.statuses, view, evidence=view.evidence)


def _remedies_are_complete(worker: Analyst) -> bool:
    detail = worker.pending.detail if worker.pending is not None else None
    return detail is not None and detail.remedies is not None and detail.remedies.is_complete


def test_removals_are_simulated_only_after_expected_prices_arrive(worker: SteppedAnalyst) -> None:
    view = story_view()
    worker.submit(view, NOW_NS, prices_come=True)
    worker.catch_up()
    assert str(analysis_of(worker).findings[KEY].why.code) == "DND"
    assert (analysis_of(worker).simulated, worker.advice) == (0, None)
    assert not analysis_of(worker).is_complete
    worker.submit(view, NOW_NS, prices_come=False)
    worker.catch_up()
    assert is_complete(worker, view.state.generation)
    assert worker.advice is not None


def test_the_wait_for_prices_is_limited() -> None:
    clock = Typist()
    worker, view = SteppedAnalyst(clock=clock.monotonic), story_view()
    for seconds, is_done in ((0.0, False), (module.PRICES_SECONDS - 0.1, False), (0.2, True)):
        clock.now += seconds
        worker.submit(view, NOW_NS, prices_come=True)
        worker.catch_up()
        assert is_complete(worker, view.state.generation) == is_done
