"""Advice in a session: findings, edits that preceded them, and the what-if that a finding opens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.actions.action import Operation, action_on
from karptui.advice.finding import Finding, Severity
from karptui.advice.report import AdviceReport
from karptui.changes.changes import Edit
from karptui.changes.fields import FieldChange
from karptui.decode.kinds import Kind
from karptui.disruption.analysis_steps import AnalysisSteps
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.kube.objects import OwnerReference
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.prepared import Prepared
from karptui.session.actions import Preview, is_shown
from karptui.session.advising import AdviceRounds, advice_of
from karptui.session.changes import changes_of, recent_edits, with_edits
from karptui.session.cluster_view import ClusterView
from karptui.session.prepare import prepare_view
from karptui.sources.history.store import Change, History
from karptui.sources.history.writer import HistoryWriter
from karptui.state.cluster import EMPTY
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.verdict.finding import ClusterFinding, Explained, FindingCode, FindingSeverity
from karptui.views.advice import opening_of
from karptui.whatif.edits import AnyEdit, CordonNode, DeleteObject, ObjectRef, SetField, SetSetting
from karptui.whatif.scenario import NOTHING, Opening, Replay
from tests import traps
from tests.builders import NOW_NS, SECOND_NS, a_manifest, a_nodeclaim, a_nodepool, a_pod
from tests.builders.manifests import a_change
from tests.session.test_verdict import a_view

BEGIN_NS = 1_800_000_000 * NS_PER_SECOND
POOL = ObjectRef("NodePool", "general")
PDB = ObjectRef("PodDisruptionBudget", "db", "data")


def at(seconds: float) -> int:
    return BEGIN_NS + int(seconds * NS_PER_SECOND)


def a_pool(seconds: float, weight: int, manager: str, nodes: int = 0) -> Change:
    manifest = a_manifest("NodePool", "spot", spec={"weight": weight}, status={"nodes": nodes})
    return a_change(at(seconds), manifest, manager=manager)


def a_session(path: Path, opening: Change, *changes: Change, until: float) -> None:
    writer = HistoryWriter(path, "prod")
    writer.write_key([opening])
    writer.finish_key(opening.at_ns)
    writer.write(changes)
    writer.note_instant(at(until))
    writer.close()


def test_edits_are_read_with_their_field_managers(tmp_path: Path) -> None:
    path = tmp_path / "h.karptui"
    changes = (a_pool(10, 100, "helm", 4), a_pool(20, 10, "argocd", 4), a_pool(30, 10, "argocd", 5))
    a_session(path, a_pool(0, 100, "helm"), *changes, until=60)
    (edit,) = recent_edits(path, at(60))
    assert (edit.at_ns, edit.kind, edit.key, edit.manager) == (at(20), "NodePool", "spot", "argocd")
    assert recent_edits(path, at(15)) == ()


def test_an_edit_made_while_nothing_was_recorded_has_no_time(tmp_path: Path) -> None:
    """The object is recorded again after the pause, when its status changes, but the edit was earlier."""
    path = tmp_path / "h.karptui"
    a_session(path, a_pool(0, 100, "helm"), until=60)
    a_session(path, a_pool(600, 10, "argocd"), a_pool(630, 10, "argocd", 7), until=700)
    assert recent_edits(path, at(700)) == ()
    history = History(path)
    change_set = changes_of(history, at(0), at(700))
    history.close()
    (row,) = [row for row in change_set.changes if row.kind == "NodePool"]
    assert (row.before, row.after, row.at_ns, row.by) == (100, 10, 0, "argocd")
    assert any(note.startswith("nothing was recorded from ") for note in change_set.notes)


def an_edit(kind: str, key: str, path: str) -> Edit:
    return Edit(at(0), kind, key, "argocd", (FieldChange(path, 1, 2),))


def a_finding(code: FindingCode, **fields: Any) -> ClusterFinding:
    return ClusterFinding(severity=FindingSeverity.ERROR, code=code, since_ns=at(60), **fields)


def test_a_finding_names_edits_of_its_nodepool_its_nodeclass_and_the_owner_of_its_pods() -> None:
    owner = OwnerReference("apps/v1", "ReplicaSet", "web-abc12", "u", controller=True)
    pod = a_pod(name="web-1", namespace="shop", owner=owner, labels={"pod-template-hash": "abc12"})
    pool = a_nodepool(name="spot", node_class_ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"))
    view = a_view(Inventory(pods=(pod,), nodepools=(pool,)))
    pending = a_finding(FindingCode.PENDING, pending=Explained(pods=("shop/web-1",)))
    refused = a_finding(FindingCode.LAUNCH_REFUSED, pools=("spot",))
    at_limit = a_finding(FindingCode.POOL_AT_LIMIT, objects=("NodePool/spot",))
    findings = (pending, refused, at_limit, a_finding(FindingCode.LAUNCH_REFUSED, pools=("other",)))

    def named(edit: Edit) -> list[bool]:
        return [finding.edit is not None for finding in with_edits(findings, view, [edit])]

    assert named(an_edit("Deployment", "shop/web", "spec.replicas")) == [True, False, False, False]
    assert named(an_edit("Deployment", "shop/cart", "spec.replicas")) == [False] * 4
    assert named(an_edit("NodeClass", "EC2NodeClass/default", "spec.role")) == [False, True, False, False]
    assert named(an_edit("NodePool", "spot", "spec.limits.cpu")) == [False, True, True, False]
    assert with_edits(findings, view, ()) == findings


@pytest.mark.parametrize(
    ("operation", "kind", "item"),
    [(Operation.EVICT, Kind.POD, a_pod()), (Operation.DELETE, Kind.NODECLAIM, a_nodeclaim())],
)
def test_a_removal_is_shown_once_the_object_is_deleting_gone_or_replaced(
    operation: Operation, kind: Kind, item: Any
) -> None:
    preview = Preview(action=action_on(operation, str(kind), item.key), uid=item.uid)
    for seen, expected in (
        (item, False),
        (replace(item, deletion_ns=NOW_NS), True),
        (replace(item, uid="another"), True),
        (None, True),
    ):
        state = reduce(EMPTY, Batch({kind: KindDelta({item.key: seen} if seen is not None else {})}))
        assert is_shown(preview, state) is expected


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


def test_equal_findings_keep_the_same_report(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_the_opening_of_a_what_if_from_a_finding(
    result: Finding, documents: tuple[ObjectRef, ...], replay: Replay
) -> None:
    opening = opening_of(result)
    assert opening == Opening(result.rule, documents, result.edits, replay=replay, is_new=bool(result.edits))
    assert opening_of(finding("node-unmanaged", ObjectRef("Node", "n"))) == NOTHING


def test_advice_rounds_are_rarer_while_not_on_the_screen() -> None:
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
