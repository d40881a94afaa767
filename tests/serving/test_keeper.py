from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from pathlib import Path

import pytest

from karptui.clock import FrozenClock
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.usage import Measured
from karptui.serving import history
from karptui.serving.history import HistoryKeeping
from karptui.serving.keeper import Keeper
from karptui.session.follower import ClusterFollower
from karptui.sources.demo.source import DemoMetricsServer, DemoSource
from karptui.sources.evidence import EvidenceSource
from karptui.sources.history.store import Mark, Sample
from karptui.sources.usage import UsageSource
from karptui.state.cluster import inventory_of
from karptui.studies.rightsize import workloads_of
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity
from karptui.views.verdict.sentence import sentence
from tests.session.test_advising import a_pool, a_session

FINE = (ClusterFinding(severity=FindingSeverity.INFO, code=FindingCode.FINE),)


class Notes:
    """A fake tap: keeps all that the keeper records."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self.samples: list[Sample] = []
        self.readings: list[tuple[int, tuple[Measured, ...]]] = []

    def mark(self, *marks: Mark) -> None:
        self.marks += marks

    def sample(self, samples: list[Sample]) -> None:
        self.samples += samples

    def measure(self, at_ns: int, measured: Iterable[Measured]) -> None:
        self.readings.append((at_ns, tuple(measured)))


class Demo:
    """The demo cluster with a follower and a keeper, advanced one second at a time."""

    def __init__(self) -> None:
        self.notes = Notes()
        self.clock = FrozenClock(1_800_000_000 * NS_PER_SECOND)
        self.source = DemoSource(clock=self.clock, is_stepped=True)
        self.follower = ClusterFollower(self.source)
        self.follower.start()
        self.follower.first_rows_shown()
        self.keeper = Keeper(self.notes)  # type: ignore[arg-type]
        self.saw()
        claims = self.follower.view.state.nodeclaims.values()
        self.disrupted_at_first = {claim.node_name for claim in claims if claim.is_deleting}

    def saw(self) -> None:
        self.follower.poll(self.clock.now_ns())
        self.keeper.saw(self.follower.view, FINE, self.clock.now_ns())

    def play(self, seconds: int) -> None:
        for _ in range(seconds):
            self.clock.instant_ns += NS_PER_SECOND
            self.source.step()
            self.saw()


@pytest.fixture(scope="module")
def played() -> Demo:
    demo = Demo()
    demo.play(300)
    return demo


def test_each_disruption_of_the_demo_is_marked_once_with_its_reason(played: Demo) -> None:
    marks = [mark for mark in played.notes.marks if mark.cause == "disruption"]
    state = played.follower.view.state
    gone = {gone.claim.node_name for gone in state.history.claims} - {""}
    leaving = {claim.node_name for claim in state.nodeclaims.values() if claim.is_deleting}
    assert gone
    assert gone - played.disrupted_at_first <= {mark.name for mark in marks}
    assert {mark.name for mark in marks} <= gone | leaving
    assert len({mark.name for mark in marks}) == len(marks)
    assert {(mark.text, mark.pool) for mark in marks} == {("Underutilized", "general")}


def test_samples_are_taken_once_a_minute_for_each_pool(played: Demo) -> None:
    instants = sorted({sample.at_ns for sample in played.notes.samples})
    assert len(instants) == 6
    assert {later - earlier for earlier, later in itertools.pairwise(instants)} == {60 * NS_PER_SECOND}
    view = played.follower.view
    assert {sample.pool for sample in played.notes.samples} == {"", *view.state.nodepools}
    last = [sample for sample in played.notes.samples if sample.at_ns == instants[-1]]
    assert sum(sample.nodes for sample in last) == len(view.state.nodes)
    assert sum(sample.pods for sample in last) == sum(usage.pods for usage in view.state.node_usage.values())


def test_usage_is_kept_once_a_minute_for_containers_of_workloads() -> None:
    demo = Demo()
    usage = UsageSource(DemoMetricsServer(demo.source), clock=demo.clock)
    demo.follower.evidence = EvidenceSource(usage=usage)
    for _ in range(9):
        usage.want()
        usage.step()
        demo.saw()
        demo.clock.instant_ns += 20 * NS_PER_SECOND
    assert [at_ns - demo.notes.readings[0][0] for at_ns, _ in demo.notes.readings] == [
        0, 60 * NS_PER_SECOND, 120 * NS_PER_SECOND
    ]  # fmt: skip
    pods = workloads_of(inventory_of(demo.follower.view.state))
    expected = {
        (workload, container.name)
        for workload, of in pods.items()
        for pod in of
        if pod.phase == "Running"
        for container in pod.template.containers
    }
    measured = demo.notes.readings[0][1]
    kinds = {workload.partition("/")[0] for workload, *_ in measured}
    assert {(item.workload, item.container) for item in measured} == {
        pair for pair in expected if pair[0].partition("/")[0] in kinds
    }
    assert kinds >= {"Deployment", "DaemonSet", "StatefulSet"}
    assert not kinds & {"Pod", "Job", "Node"}
    assert all(item.cpu_millis and item.memory_bytes for item in measured)


def test_the_demo_gives_no_marks_about_edits_restarts_and_verdicts(played: Demo) -> None:
    assert not [mark for mark in played.notes.marks if mark.cause in ("edit", "restart", "verdict", "verdict-over")]


def test_a_verdict_mark_has_the_same_text_as_the_screen() -> None:
    demo = Demo()
    finding = ClusterFinding(
        severity=FindingSeverity.ERROR, code=FindingCode.POOL_DELETED, objects=("NodePool/ml",), names=("ml",), nodes=2
    )
    began_ns = demo.clock.now_ns()
    later_ns = began_ns + 120 * NS_PER_SECOND
    demo.keeper.saw(demo.follower.view, (), began_ns)
    demo.keeper.saw(demo.follower.view, (finding,), later_ns)
    (mark,) = demo.notes.marks
    assert mark.text == sentence(finding, later_ns, {})
    demo.keeper.saw(demo.follower.view, (), later_ns + 3600 * NS_PER_SECOND)
    assert len(demo.notes.marks) == 1, "without a verdict no mark says that a finding has ended"


@pytest.mark.parametrize("since_seconds", [None, -600, 5])
def test_a_finding_is_marked_only_if_it_began_after_the_recording(since_seconds: int | None) -> None:
    demo = Demo()
    began_ns = demo.clock.now_ns()
    since_ns = None if since_seconds is None else began_ns + since_seconds * NS_PER_SECOND
    finding = ClusterFinding(
        severity=FindingSeverity.ERROR,
        code=FindingCode.POOL_DELETED,
        objects=("NodePool/ml",),
        names=("ml",),
        nodes=2,
        since_ns=since_ns,
    )
    demo.keeper.saw(demo.follower.view, (), began_ns)
    demo.keeper.saw(demo.follower.view, (finding,), began_ns + 20 * NS_PER_SECOND)
    assert len(demo.notes.marks) == (1 if since_seconds == 5 else 0)


def look(keeping: HistoryKeeping, demo: Demo, failures: list[str]) -> None:
    async def looked() -> None:
        keeping.look(demo.follower, lambda error, during: failures.append(f"{during}: {error}"))
        while keeping.is_looking:
            await asyncio.sleep(0.01)

    asyncio.run(looked())


class RecordingNotes(Notes):
    is_recording = True


def test_the_app_samples_a_followed_cluster_once_a_minute_and_a_past_moment_never() -> None:
    demo, notes, failures = Demo(), RecordingNotes(), list[str]()
    keeping = HistoryKeeping(lambda _: FINE, demo.clock.now_ns, lambda: demo.follower)

    look(keeping, demo, failures)
    assert notes.samples == [], "a past moment has no tap"
    demo.follower.tap = notes  # type: ignore[assignment]
    look(keeping, demo, failures)
    pools = {sample.pool for sample in notes.samples}
    assert pools == {"", *demo.follower.view.state.nodepools}
    look(keeping, demo, failures)
    assert len(notes.samples) == len(pools), "a minute has not passed"
    assert failures == []


def test_edits_are_read_from_the_history_only_if_there_are_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "LOOK_SECONDS", float("-inf"))
    monkeypatch.setattr(history, "REST_SECONDS", float("-inf"))  # other tests may just have pressed keys
    demo, notes, failures = Demo(), RecordingNotes(), list[str]()
    notes.path = tmp_path / "h.karptui"  # type: ignore[attr-defined]
    a_session(tmp_path / "h.karptui", a_pool(0, 100, "helm"), a_pool(20, 10, "argocd"), until=60)
    demo.clock.instant_ns += 60 * NS_PER_SECOND
    demo.follower.tap = notes  # type: ignore[assignment]
    keeping = HistoryKeeping(lambda _: FINE, demo.clock.now_ns, lambda: demo.follower)

    look(keeping, demo, failures)
    assert not keeping.edits
    look(keeping, demo, failures)
    assert [edit.manager for edit in keeping.edits] == ["argocd"]
    read = keeping.edits
    look(keeping, demo, failures)
    assert keeping.edits is read, "there was no new edit"
    assert failures == []


def test_findings_about_a_past_moment_are_not_recorded() -> None:
    demo, notes, failures = Demo(), RecordingNotes(), list[str]()
    demo.follower.tap = notes  # type: ignore[assignment]
    keeping = HistoryKeeping(lambda _: FINE, demo.clock.now_ns, lambda: ClusterFollower(None))

    look(keeping, demo, failures)
    assert (notes.samples, notes.marks, failures) == ([], [], [])


def test_a_failure_of_the_keeper_is_reported_and_not_fatal() -> None:
    demo, failures = Demo(), list[str]()
    demo.follower.tap = RecordingNotes()  # type: ignore[assignment]

    def fails(_: int) -> tuple[ClusterFinding, ...]:
        raise ValueError("no verdict")

    look(HistoryKeeping(fails, demo.clock.now_ns, lambda: demo.follower), demo, failures)
    assert failures == ["keeping the history: no verdict"]
