"""Edits that preceded a fault: three incidents, each with edits that have nothing to do with it."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.changes.changes import Edit
from karptui.changes.fields import FieldChange
from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity
from karptui.verdict.preceding import edit_before
from karptui.views.verdict.sentence import edit_text

AT_NS = parse_timestamp("2026-11-28T14:02:00Z")
MINUTE_NS = 60 * NS_PER_SECOND
REQUESTS = "spec.template.spec.containers[web].resources.requests.cpu"


def an_edit(kind: str, key: str, path: str, before: Any, after: Any, *, minutes: float = 0, by: str = "argocd") -> Edit:
    return Edit(AT_NS + int(minutes * MINUTE_NS), kind, key, by, (FieldChange(path, before, after),))


def a_finding(code: FindingCode, *, minutes: float = 5) -> ClusterFinding:
    return ClusterFinding(severity=FindingSeverity.ERROR, code=code, since_ns=AT_NS + int(minutes * MINUTE_NS))


MOVED = a_finding(FindingCode.LAUNCHES_MOVED), {("NodePool", "spot"), ("NodeClass", "EC2NodeClass/default")}
PENDING = a_finding(FindingCode.PENDING), {("Deployment", "shop/web")}
NOT_READY = a_finding(FindingCode.NODECLASS_NOT_READY), {("NodeClass", "EC2NodeClass/default")}


@pytest.mark.parametrize(("incident", "edit", "text"), [
    (MOVED, an_edit("NodePool", "spot", "spec.weight", 100, 10), "weight of spot 100 → 10 at 14:02Z by argocd"),
    (PENDING, an_edit("Deployment", "shop/web", REQUESTS, "1", "64", by=""),
     "containers[web].resources.requests.cpu of shop/web 1 → 64 at 14:02Z"),
    (NOT_READY, an_edit("NodeClass", "EC2NodeClass/default", "spec.role", "nodes", None),
     "role of EC2NodeClass/default nodes → none at 14:02Z by argocd"),
    (MOVED, an_edit("NodePool", "general", "spec.weight", 100, 10), ""),
    (MOVED, an_edit("NodePool", "spot", "metadata.labels.team", "a", "b"), ""),
    (MOVED, an_edit("NodePool", "spot", "spec.disruption.consolidateAfter", "1m", "2m"), ""),
    (MOVED, an_edit("NodePool", "spot", "spec.weight", 100, 10, minutes=6), ""),
    (MOVED, an_edit("NodePool", "spot", "spec.weight", 100, 10, minutes=-26), ""),
    (PENDING, an_edit("Deployment", "shop/cart", REQUESTS, "1", "64"), ""),
    (PENDING, an_edit("Deployment", "shop/web", "spec.template.metadata.labels.version", "1", "2"), ""),
    (NOT_READY, an_edit("NodeClass", "other", "spec.role", "nodes", None), ""),
    (NOT_READY, an_edit("NodeClass", "EC2NodeClass/default", "metadata.annotations.note", None, "x"), ""),
    (NOT_READY, an_edit("Deployment", "shop/web", REQUESTS, "1", "64"), ""),
])  # fmt: skip
def test_only_edits_before_a_fault_that_concern_it_are_named(
    incident: tuple[ClusterFinding, set[tuple[str, str]]], edit: Edit, text: str
) -> None:
    before = edit_before(*incident, [edit])
    assert (before and edit_text(before)) == (f"after {text}" if text else None)


def test_the_newest_edit_is_named_and_its_fields_counted() -> None:
    old = an_edit("NodePool", "spot", "spec.weight", 100, 50, minutes=-3)
    new = an_edit("NodePool", "spot", "spec.weight", 50, 10)
    for edits in ([old, new], [new, old]):
        before = edit_before(*MOVED, edits)
        assert before is not None
        assert before.fields[0].before == 50
    fields = tuple(FieldChange(f"spec.{name}", 1, 2) for name in ("weight", "limits.cpu", "disruption.budgets"))
    before = edit_before(*MOVED, [Edit(AT_NS, "NodePool", "spot", "helm", fields)])
    assert before is not None
    assert edit_text(before) == "after weight of spot 1 → 2 and 1 more field at 14:02Z by helm"


def test_no_edit_is_named_without_a_start_time_or_for_other_causes() -> None:
    edit = an_edit("NodePool", "spot", "spec.weight", 100, 10)
    refs = MOVED[1]
    assert (
        edit_before(ClusterFinding(severity=FindingSeverity.ERROR, code=FindingCode.LAUNCHES_MOVED), refs, [edit])
        is None
    )
    assert edit_before(a_finding(FindingCode.NEXT), refs, [edit]) is None
