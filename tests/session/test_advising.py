from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from karptui.advice.finding import Finding, Severity
from karptui.advice.report import AdviceReport
from karptui.disruption.analysis_steps import AnalysisSteps
from karptui.provisioning.prepared import Prepared
from karptui.session.advising import AdviceRounds, advice_of
from karptui.session.cluster_view import ClusterView
from karptui.session.prepare import prepare_view
from karptui.views.advice import opening_of
from karptui.whatif.edits import AnyEdit, CordonNode, DeleteObject, ObjectRef, SetField, SetSetting
from karptui.whatif.scenario import NOTHING, Opening, Replay
from tests import traps
from tests.builders import NOW_NS, SECOND_NS

POOL = ObjectRef("NodePool", "general")
PDB = ObjectRef("PodDisruptionBudget", "db", "data")


def surveyed(view: ClusterView, now_ns: int = NOW_NS) -> tuple[Prepared, AnalysisSteps]:
    prepared, _ = prepare_view(view, now_ns)
    steps = AnalysisSteps(prepared, 1)
    for _ in steps.survey():
        pass
    return prepared, steps


def test_advice_of_a_view() -> None:
    report, notes = advice_of(traps.view(), NOW_NS)
    assert report.failures == ()
    assert {"pod-several-pdbs", "pool-wildcard-value"} <= {finding.rule for finding in report.findings}
    assert (report.now_ns, notes) == (NOW_NS, ())


def test_the_same_findings_keep_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    view, desk = traps.view(), AdviceRounds()
    for now_ns in (NOW_NS, NOW_NS + SECOND_NS):
        prepared, steps = surveyed(view, now_ns)
        desk.begin(prepared, view, steps)
        for _ in desk.ask():
            pass
        if now_ns == NOW_NS:
            first = desk.report
    assert desk.report is first
    other = ClusterView(view.state, view.statuses, evidence=view.evidence)
    monkeypatch.setattr("karptui.session.advising.Adviser", _Silent)
    prepared, steps = surveyed(other)
    desk.begin(prepared, other, steps)
    for _ in desk.ask():
        pass
    assert desk.report is not first


class _Silent:
    """Finds nothing."""

    def __init__(self, context: object) -> None:
        self._context = context

    def ask(self) -> Iterator[str]:
        yield "nothing"

    @property
    def report(self) -> AdviceReport:
        return AdviceReport()


def finding(rule: str, *objects: ObjectRef, edits: Sequence[AnyEdit] = ()) -> Finding:
    return Finding(rule=rule, severity=Severity.INFO, objects=objects, fact="so", edits=tuple(edits))


@pytest.mark.parametrize(("result", "documents", "replay"), [
    (finding("pool-limit-below-type", POOL), (POOL,), Replay.PENDING),
    (finding("pool-weight-tie", POOL), (POOL,), Replay.SCRATCH),
    (finding("pool-consolidation-never", POOL,
             edits=[SetField(POOL, ("spec", "disruption", "consolidateAfter"), "5m")]), (POOL,), Replay.NEXT),
    (finding("pdb-never-allows", PDB, edits=[SetField(PDB, ("spec", "maxUnavailable"), 1)]), (PDB,), Replay.NEXT),
    (finding("pdb-never-allows", PDB, edits=[DeleteObject(PDB)]), (PDB,), Replay.NEXT),
    (finding("node-receives-pods", ObjectRef("Node", "n"), edits=[CordonNode("n")]), (), Replay.NEXT),
    (finding("setting-overhead-high", ObjectRef("Setting", "X"), edits=[SetSetting("X", "0.05")]), (),
     Replay.SCRATCH),
    (finding("x", ObjectRef("Node", "n"), edits=[SetField(POOL, ("spec", "weight"), 1)]), (POOL,), Replay.PENDING),
])  # fmt: skip
def test_what_a_whatif_begins_with(result: Finding, documents: tuple[ObjectRef, ...], replay: Replay) -> None:
    opening = opening_of(result)
    assert opening == Opening(result.rule, documents, result.edits, replay=replay, is_new=bool(result.edits))
    assert opening_of(finding("node-unmanaged", ObjectRef("Node", "n"))) == NOTHING


def test_the_desk_rests_for_longer_while_nobody_looks() -> None:
    now = 100.0
    view, desk = traps.view(), AdviceRounds(lambda: now)
    assert desk.is_due(is_looked_at=False)
    assert list(desk.ask()) == []
    prepared, steps = surveyed(view)
    desk.begin(prepared, view, steps)
    for _ in desk.ask():
        pass
    dues = {}
    for now in (101.9, 102.1, 109.9, 110.1):
        dues[now] = (desk.is_due(is_looked_at=True), desk.is_due(is_looked_at=False))
    assert list(dues.values()) == [(False, False), (True, False), (True, False), (True, True)]
