"""Marks and samples of a history, and churn: which differences of two views count as changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from karptui.aws.evidence import Evidence
from karptui.decode.kinds import Kind
from karptui.karpenter.controller import ControllerInfo
from karptui.karpenter.labels import DISRUPTED_TAINT
from karptui.karpenter.nodeclaim import DISRUPTION_REASON
from karptui.kube.usage import LiveUsage, first_seen
from karptui.kube.usage import Sample as Measured
from karptui.kube.workload import Workload
from karptui.session.churn import ChurnBook, events_hidden, unknown_because
from karptui.session.cluster_view import ClusterView
from karptui.session.history_marks import (
    SETTLES_NS,
    OpenFinding,
    change_marks,
    refusal_marks,
    samples_of,
    seen_of,
    verdict_marks,
)
from karptui.sources.history.store import Mark
from karptui.sources.source import Phase
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity
from tests.builders import (
    MINUTE_NS,
    NOW_NS,
    SECOND_NS,
    a_cluster,
    a_condition,
    a_launch_failure,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pod,
    a_pod_template,
    present,
)
from tests.disruption.making import TYPES
from tests.ui.fleet import status

LIVE = {str(kind): status(kind, Phase.LIVE) for kind in Kind}


def a_view(**objects: Any) -> ClusterView:
    """Return the view of a cluster whose kinds are all listed; two nodes of one NodePool."""
    return ClusterView(a_cluster(nodes=2, **objects), LIVE, evidence=Evidence(instance_types=TYPES))


def after(view: ClusterView, kind: Kind, *items: Any, gone: tuple[str, ...] = (), **fields: Any) -> ClusterView:
    """Return the next view, with some objects added or replaced."""
    delta = KindDelta({**{item.key: item for item in items}, **dict.fromkeys(gone)})
    state = reduce(view.state, Batch({kind: delta}), NOW_NS)
    return ClusterView(state, LIVE, view, evidence=fields.get("evidence", view.evidence))


def marks_after(kind: Kind, *items: Any, gone: tuple[str, ...] = (), **objects: Any) -> tuple[Mark, ...]:
    before = a_view(**objects)
    return change_marks(seen_of(before), after(before, kind, *items, gone=gone), NOW_NS)


def a_finding(code: FindingCode = FindingCode.PENDING, *objects: str, **fields: Any) -> ClusterFinding:
    return ClusterFinding(**{"severity": FindingSeverity.WARNING, **fields}, code=code, objects=objects)


def text_of(finding: ClusterFinding) -> str:
    return f"{finding.code} {finding.pods}"


def test_a_finding_is_marked_once_although_its_numbers_change() -> None:
    first = a_finding(FindingCode.PENDING, "Pod/shop/a", pods=1, price_per_hour=0.5)
    opened, marks = verdict_marks((), (first,), NOW_NS, text_of)
    assert marks == (
        Mark(
            at_ns=NOW_NS,
            cause="verdict",
            code="PENDING",
            object_kind="Pod",
            name="shop/a",
            objects=("Pod/shop/a",),
            text="PENDING 1",
            cost_per_hour=0.5,
            severity="warning",
        ),
    )
    more = a_finding(FindingCode.PENDING, "Pod/shop/a", "Pod/shop/b", pods=2)
    opened, marks = verdict_marks(opened, (more,), NOW_NS + SECOND_NS, text_of)
    assert (marks, opened) == ((), (OpenFinding(more, "PENDING 1"),))
    other = a_finding(FindingCode.PENDING, "Pod/shop/c")
    _, marks = verdict_marks(opened, (more, other), NOW_NS + SECOND_NS, text_of)
    assert [(mark.cause, mark.name) for mark in marks] == [("verdict", "shop/c")]


def test_a_finding_that_becomes_part_of_another_does_not_end() -> None:
    apart = a_finding(FindingCode.PENDING, "Pod/shop/a"), a_finding(FindingCode.PENDING, "Pod/shop/b")
    opened, _ = verdict_marks((), apart, NOW_NS, text_of)
    joined = (a_finding(FindingCode.PENDING, "Pod/shop/a", "Pod/shop/b", pods=2),)
    for later_ns in (SECOND_NS, SECOND_NS + SETTLES_NS):
        opened, marks = verdict_marks(opened, joined, NOW_NS + later_ns, text_of)
        assert marks == ()


def test_a_finding_absent_for_long_ended_when_it_disappeared() -> None:
    finding = a_finding(FindingCode.PDB, "PodDisruptionBudget/shop/web")
    opened, _ = verdict_marks((), (finding,), NOW_NS, text_of)
    gone_ns = NOW_NS + MINUTE_NS
    opened, marks = verdict_marks(opened, (), gone_ns, text_of)
    assert marks == ()
    opened, marks = verdict_marks(opened, (finding,), gone_ns + SECOND_NS, text_of)
    assert (opened, marks) == ((OpenFinding(finding, "PDB 0"),), ())
    opened, _ = verdict_marks(opened, (), gone_ns, text_of)
    opened, marks = verdict_marks(opened, (), gone_ns + SETTLES_NS, text_of)
    assert [(mark.cause, mark.text, mark.at_ns) for mark in marks] == [("verdict-over", "PDB 0", gone_ns)]
    assert opened == ()


def test_the_next_command_and_notes_are_not_marked() -> None:
    findings = (
        a_finding(FindingCode.NEXT),
        a_finding(FindingCode.FINE),
        a_finding(FindingCode.NO_PRICES, severity=FindingSeverity.INFO),
    )
    assert verdict_marks((), findings, NOW_NS, text_of) == ((), ())


def test_a_disruption_is_marked_once_by_taint_or_condition() -> None:
    view = a_view()
    claim = view.state.nodeclaims["general-node-1"]
    reason = a_condition(DISRUPTION_REASON, reason="Underutilized")
    commanded = msgspec.structs.replace(claim, conditions=(*claim.conditions, reason))
    chosen = after(view, Kind.NODECLAIM, commanded)
    (mark,) = change_marks(seen_of(view), chosen, NOW_NS)
    assert (mark.cause, mark.object_kind, mark.name, mark.text, mark.pool) == (
        "disruption",
        "Node",
        "node-1",
        "Underutilized",
        "general",
    )
    price = present(view.node_of("node-1"))
    assert price.price is not None
    assert mark.cost_per_hour == price.price.per_hour
    tainted = after(chosen, Kind.NODE, a_node(name="node-1", taints=(DISRUPTED_TAINT,)))
    assert change_marks(seen_of(chosen), tainted, NOW_NS) == ()
    (alone,) = marks_after(Kind.NODE, a_node(name="node-2", taints=(DISRUPTED_TAINT,)))
    assert (alone.name, alone.cause) == ("node-2", "disruption")


def test_a_deleted_nodeclaim_is_a_disruption_but_a_new_node_is_not() -> None:
    (mark,) = marks_after(Kind.NODECLAIM, a_nodeclaim(name="general-node-1", deletion_ns=NOW_NS))
    assert (mark.cause, mark.name, mark.text) == ("disruption", "node-1", "Deleted")
    assert marks_after(Kind.NODE, a_node(name="node-3")) == ()


def test_a_changed_spec_is_marked_but_a_changed_status_is_not() -> None:
    raw = {"spec": {"weight": 1}}
    pools = (a_nodepool(generation=1, raw=raw),)
    (mark,) = marks_after(
        Kind.NODEPOOL, a_nodepool(generation=2, weight=5, raw={"spec": {"weight": 5}}), nodepools=pools
    )
    assert (mark.cause, mark.object_kind, mark.name, mark.text) == ("edit", "NodePool", "general", "")
    assert marks_after(Kind.NODEPOOL, a_nodepool(generation=1, raw=raw, is_ready=False), nodepools=pools) == ()
    new = a_nodepool(name="spot", raw=raw)
    assert [mark.text for mark in marks_after(Kind.NODEPOOL, new, nodepools=pools)] == ["created"]
    assert [mark.text for mark in marks_after(Kind.NODEPOOL, gone=("general",), nodepools=pools)] == ["deleted"]


def test_a_new_pod_template_is_an_edit_but_scaling_is_not() -> None:
    template = a_pod_template()
    web = Workload(
        name="web",
        namespace="shop",
        api_version="apps/v1",
        kind="Deployment",
        replicas=1,
        generation=1,
        template=template,
    )
    scaled = msgspec.structs.replace(web, replicas=5, generation=2)
    assert marks_after(Kind.DEPLOYMENT, scaled, workloads=(web,)) == ()
    larger = msgspec.structs.replace(web, generation=2, template=a_pod_template(cpu="2"))
    assert [(mark.object_kind, mark.name) for mark in marks_after(Kind.DEPLOYMENT, larger, workloads=(web,))] == [
        ("Deployment", "shop/web")
    ]
    assert marks_after(Kind.DEPLOYMENT, web) == ()


def test_objects_of_a_first_list_are_no_edits() -> None:
    before = ClusterView(a_cluster(nodes=1), {"NodePool": status(Kind.NODEPOOL, Phase.SYNCING)})
    later = after(before, Kind.NODEPOOL, a_nodepool(name="spot"))
    assert change_marks(seen_of(before), later, NOW_NS) == ()


def test_a_new_version_or_settings_of_karpenter_are_a_restart() -> None:
    def by(version: str, **settings: str) -> Evidence:
        title = "Deployment kube-system/karpenter"
        return Evidence(controller=ControllerInfo(title=title, version=version, settings=settings))

    before = ClusterView(a_cluster(), LIVE, evidence=by("1.14.1", BATCH_IDLE_DURATION="1s"))
    newer = ClusterView(before.state, LIVE, before, evidence=by("1.15.0", BATCH_IDLE_DURATION="5s"))
    (mark,) = change_marks(seen_of(before), newer, NOW_NS)
    assert (mark.cause, mark.object_kind, mark.name) == ("restart", "Deployment", "kube-system/karpenter")
    assert mark.text == "version 1.14.1 → 1.15.0, BATCH_IDLE_DURATION 1s → 5s"
    same = ClusterView(before.state, LIVE, before, evidence=by("1.14.1", BATCH_IDLE_DURATION="1s"))
    assert change_marks(seen_of(before), same, NOW_NS) == ()


def test_a_refused_offering_is_marked_once_in_three_minutes() -> None:
    first = a_launch_failure("m5.large", "us-east-1a", last_ns=NOW_NS)
    view = a_view(events=(first,))
    (mark,) = refusal_marks(view, {}, NOW_NS - MINUTE_NS, NOW_NS)
    assert (mark.cause, mark.object_kind, mark.at_ns) == ("launch-refused", "Offering", NOW_NS)
    assert (mark.name, mark.text, mark.pool) == (
        "m5.large/us-east-1a/on-demand",
        "InsufficientInstanceCapacity",
        "general",
    )
    assert refusal_marks(view, {mark.name: NOW_NS - 2 * MINUTE_NS}, NOW_NS - MINUTE_NS, NOW_NS) == ()
    assert len(refusal_marks(view, {mark.name: NOW_NS - 3 * MINUTE_NS}, NOW_NS - MINUTE_NS, NOW_NS)) == 1
    assert refusal_marks(view, {}, NOW_NS + 1, NOW_NS) == ()


def test_a_launch_that_failed_for_another_reason_is_marked_without_an_offering() -> None:
    refused = a_condition("Launched", status="Unknown", reason="UnauthorizedOperation")
    claim = a_nodeclaim(name="general-new", stage="", conditions=(refused,))
    (mark,) = refusal_marks(a_view(nodeclaims=(claim,)), {}, 0, NOW_NS)
    assert (mark.name, mark.text, mark.pool) == ("*/*/*", "UnauthorizedOperation", "general")


def test_samples_total_each_pool_without_unknown_values() -> None:
    lone = a_node(name="unmanaged", labels={"karpenter.sh/nodepool": ""})
    view = a_view(pods=(a_pod(name="a", node="node-1", cpu="500m"), a_pod(name="late")))
    view = after(view, Kind.NODE, lone)
    samples = {sample.pool: sample for sample in samples_of(view, NOW_NS)}
    assert set(samples) == {"", "general"}
    general = samples["general"]
    price = present(view.prices.price("m5.large", "us-east-1a", "on-demand"))
    assert (general.nodes, general.pods, general.pending_pods) == (2, 1, 0)
    assert general.price_per_hour == 2 * price.per_hour
    assert general.cpu_requested_millis == 500
    assert general.cpu_allocatable_millis == 2 * samples[""].cpu_allocatable_millis > 0
    assert (general.held_per_hour, general.cpu_used_millis, general.memory_used_bytes) == (None, None, None)
    assert (samples[""].nodes, samples[""].pending_pods) == (1, 1)


def test_samples_have_usage_if_it_is_measured() -> None:
    base = a_view()
    used = first_seen(Measured(NOW_NS, 250, 1 << 30))
    view = ClusterView(base.state, LIVE, base, evidence=base.evidence, live_usage=LiveUsage(nodes={"node-1": used}))
    general = next(sample for sample in samples_of(view, NOW_NS) if sample.pool == "general")
    assert (general.cpu_used_millis, general.memory_used_bytes) == (250, 1 << 30)


def a_churn_view(phase: Phase | None = Phase.LIVE, *, count: int = 3, events: Phase = Phase.LIVE) -> ClusterView:
    statuses = {Kind.EVENT: status(Kind.EVENT, events)}
    if phase is not None:
        statuses[Kind.NODECLAIM] = status(Kind.NODECLAIM, phase, count=count)
    return ClusterView(a_cluster(), {str(kind): result for kind, result in statuses.items()})


@pytest.mark.parametrize(("phase", "count", "why"), [
    (Phase.LIVE, 3, ""),
    (Phase.OFFLINE, 3, ""),
    (Phase.DISCONNECTED, 3, ""),
    (Phase.DISCONNECTED, 0, "NodeClaims are still loading"),
    (Phase.SYNCING, 1, "NodeClaims are still loading"),
    (Phase.FORBIDDEN, 0, "NodeClaims may not be listed, so replacements are unknown"),
    (Phase.NOT_INSTALLED, 0, "the cluster does not know NodeClaims: Karpenter is not installed"),
    (None, 0, ""),
])  # fmt: skip
def test_churn_needs_events_or_nodeclaims(phase: Phase | None, count: int, why: str) -> None:
    view = a_churn_view(phase, count=count)
    assert unknown_because(view.statuses) == why
    book = ChurnBook()
    assert (book.churn(view, NOW_NS) is None) == bool(why)
    assert (book.latest is None) == bool(why)


def test_events_are_hidden_if_they_may_not_be_listed() -> None:
    assert events_hidden(a_churn_view(events=Phase.FORBIDDEN).statuses)
    assert not events_hidden(a_churn_view().statuses)
    assert not events_hidden({})


def test_churn_is_the_same_object_while_nothing_changes() -> None:
    view, book = a_churn_view(), ChurnBook()
    first = book.churn(view, NOW_NS)
    assert book.churn(view, NOW_NS + SECOND_NS) is first
    pods = reduce(view.state, Batch({Kind.POD: KindDelta({"default/x": a_pod(name="x")})}))
    assert book.churn(ClusterView(pods, view.statuses), NOW_NS + SECOND_NS) is first
    assert book.churn(view, NOW_NS + MINUTE_NS) is not first
    last = book.churn(view, NOW_NS + MINUTE_NS)
    claims = reduce(view.state, Batch({Kind.NODECLAIM: KindDelta({"new": a_nodeclaim(name="new")})}))
    assert book.churn(ClusterView(claims, view.statuses), NOW_NS + MINUTE_NS) is not last


def test_churn_of_a_busy_cluster_is_computed_every_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.session.churn.BUSY_FROM", 2)
    view, book = a_churn_view(), ChurnBook()
    first = book.churn(view, NOW_NS)
    claims = reduce(view.state, Batch({Kind.NODECLAIM: KindDelta({"new": a_nodeclaim(name="new")})}))
    changed = ClusterView(claims, view.statuses)
    assert book.churn(changed, NOW_NS + SECOND_NS) is first
    assert book.churn(changed, NOW_NS + 2 * SECOND_NS) is not first
