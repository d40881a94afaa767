from __future__ import annotations

from pathlib import Path
from typing import Any

from karptui.changes.changes import Edit
from karptui.changes.fields import FieldChange
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.kube.objects import OwnerReference
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.changes import changes_of, recent_edits, with_edits
from karptui.sources.history.store import Change, History
from karptui.sources.history.writer import HistoryWriter
from karptui.verdict.finding import ClusterFinding, Explained, FindingCode, FindingSeverity
from tests.builders import a_manifest, a_nodepool, a_pod
from tests.builders.manifests import a_change
from tests.session.test_verdict import a_view

BEGIN_NS = 1_800_000_000 * NS_PER_SECOND


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


def test_edits_are_read_with_their_managers(tmp_path: Path) -> None:
    path = tmp_path / "h.karptui"
    changes = (a_pool(10, 100, "helm", 4), a_pool(20, 10, "argocd", 4), a_pool(30, 10, "argocd", 5))
    a_session(path, a_pool(0, 100, "helm"), *changes, until=60)
    (edit,) = recent_edits(path, at(60))
    assert (edit.at_ns, edit.kind, edit.key, edit.manager) == (at(20), "NodePool", "spot", "argocd")
    assert recent_edits(path, at(15)) == ()


def test_an_edit_in_a_pause_has_no_time(tmp_path: Path) -> None:
    """The object is reported again after the pause, when its status changes; the edit was not made then."""
    path = tmp_path / "h.karptui"
    a_session(path, a_pool(0, 100, "helm"), until=60)
    a_session(path, a_pool(600, 10, "argocd"), a_pool(630, 10, "argocd", 7), until=700)
    assert recent_edits(path, at(700)) == ()
    history = History(path)
    change_set = changes_of(history, at(0), at(700))
    history.close()
    (row,) = [row for row in change_set.changes if row.kind == "NodePool"]
    assert (row.before, row.after, row.at_ns, row.by) == (100, 10, 0, "argocd")
    assert any(note.startswith("not recorded: ") for note in change_set.notes)


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
