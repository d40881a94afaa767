"""The verdict of a cluster: what is found, how it is ranked, and what it costs."""

from __future__ import annotations

from typing import Any

from karptui.disruption.analysis import Analysis
from karptui.disruption.study import Study, study_all
from karptui.disruption.verdict import (
    Finding,
    FindingCode,
    LimitLine,
    NodeLine,
    PendingLine,
    Severity,
    Situation,
    verdict_of,
)
from karptui.karpenter import labels
from karptui.karpenter.nodepool import DisruptionBudget
from tests.builders import (
    DAY_NS,
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pdb,
    a_pod,
)
from tests.disruption.making import a_claim, consolidatable, drifted, prepared

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}
RIPE = (consolidatable(),)
BIG: dict[str, Any] = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}


def found(*, held: float = 0.4, per_hour: float | None = 0.4, **objects: Any) -> dict[FindingCode, Finding]:
    """Return by code what is found in a cluster of one NodePool; every node costs and holds the same."""
    objects = {"nodepools": [a_nodepool(budgets=())], **objects}
    analysis = study_all(Study(prepared(**objects), 1))
    return told(analysis, objects["nodeclaims"], held=held, per_hour=per_hour)


def told(
    analysis: Analysis, claims: Any, *, held: float = 0.4, per_hour: float | None = 0.4, **given: Any
) -> dict[FindingCode, Finding]:
    lines = [
        NodeLine(
            name=claim.node_name or claim.name,
            pool="general",
            claim=claim,
            has_node=bool(claim.node_name),
            findings=analysis.findings.get(f"claim/{claim.name}"),
            per_hour=per_hour,
            held=held,
            would_save=per_hour,
        )
        for claim in claims
    ]
    case = Situation(now_ns=NOW_NS, nodes=lines, analysis=analysis, **given)
    return {one.code: one for one in verdict_of(case)}


def test_a_cluster_that_is_fine() -> None:
    only = found(nodes=[a_node(**BIG)], nodeclaims=[a_claim(instance_type="m5.2xlarge")])
    assert list(only) == [FindingCode.FINE]


def test_a_claim_without_provider_id_stops_everything_and_says_what_waits() -> None:
    old = a_nodeclaim(name="stuck", provider_id="", created_ns=NOW_NS - 22 * MINUTE_NS)
    claims = [a_claim(instance_type="m5.2xlarge", conditions=RIPE), old]
    stopped = found(nodes=[a_node(**BIG)], nodeclaims=claims)[FindingCode.STOPPED]
    assert (stopped.severity, stopped.price_per_hour, stopped.nodes) == (Severity.ERROR, 0.4, 1)
    assert (stopped.names, stopped.since_ns) == (("stuck",), NOW_NS - 22 * MINUTE_NS)
    young = [claims[0], a_nodeclaim(name="new", provider_id="", created_ns=NOW_NS - MINUTE_NS)]
    assert found(nodes=[a_node(**BIG)], nodeclaims=young)[FindingCode.STOPPED].severity is Severity.INFO


def test_protected_pods_and_budgets_with_what_they_hold() -> None:
    claims = [a_claim(f"node-{i}", instance_type="m5.2xlarge", conditions=RIPE) for i in (1, 2)]
    nodes = [a_node(name=f"node-{i}", **BIG) for i in (1, 2)]
    pods = [
        a_pod(name="ci-1", node="node-1", annotations=PROTECTED, created_ns=NOW_NS - DAY_NS),
        a_pod(name="db-0", node="node-2", labels={"app": "db"}),
    ]
    both = found(nodes=nodes, nodeclaims=claims, pods=pods, pdbs=[a_pdb(name="db", labels={"app": "db"})])
    pinned, guarded = both[FindingCode.POD_DND], both[FindingCode.PDB]
    assert (pinned.pods, pinned.nodes, pinned.price_per_hour, pinned.until_ns) == (1, 1, 0.4, None)
    assert (guarded.names, guarded.nodes, guarded.severity) == (("default/db",), 1, Severity.WARNING)


def test_what_no_method_wants_is_not_found() -> None:
    pods = [a_pod(node="node-1", annotations=PROTECTED)]
    quiet = found(nodes=[a_node(**BIG)], nodeclaims=[a_claim(instance_type="m5.2xlarge")], pods=pods)
    assert FindingCode.POD_DND not in quiet


def test_drift_that_does_not_advance() -> None:
    pool = a_nodepool(budgets=(DisruptionBudget("0", reasons=("Drifted",)),))
    claims = [a_claim(instance_type="m5.2xlarge", conditions=(drifted(since_ns=NOW_NS - 19 * HOUR_NS),))]
    stalled = found(nodes=[a_node(**BIG)], nodeclaims=claims, nodepools=[pool])[FindingCode.DRIFT]
    assert (stalled.names, stalled.nodes, stalled.detail) == (("general",), 1, "BUDGET_ZERO")
    fresh = [a_claim(instance_type="m5.2xlarge", conditions=(drifted(since_ns=NOW_NS - MINUTE_NS),))]
    assert FindingCode.DRIFT not in found(nodes=[a_node(**BIG)], nodeclaims=fresh, nodepools=[pool])


def test_claims_that_do_not_get_through() -> None:
    refused = a_condition("Launched", status="Unknown", reason="LaunchFailed", message="no capacity")
    claim = a_nodeclaim(name="x", node="", provider_id="", conditions=(refused,))
    stuck = told(Analysis(), [claim])[FindingCode.CLAIM_STUCK]
    assert (stuck.names, stuck.detail, stuck.severity) == (("x",), "no capacity", Severity.ERROR)


def test_errors_come_first_then_the_dearest() -> None:
    case = Situation(
        now_ns=NOW_NS,
        nodes=[NodeLine("n", "general", None, has_node=True, per_hour=None, not_ready_ns=NOW_NS - HOUR_NS)],
        pending=[PendingLine("web", ("web/a", "web/b"), NOW_NS - HOUR_NS)],
        pools=[a_nodepool(name="sick", is_ready=False)],
        limits=[LimitLine("general", "cpu 99 of 100")],
        hidden=["PodDisruptionBudgets"],
    )
    codes = [one.code for one in verdict_of(case)]
    assert set(codes[:3]) == {FindingCode.PENDING, FindingCode.POOL_NOT_READY, FindingCode.UNHEALTHY}
    assert codes[3:] == [FindingCode.POOL_AT_LIMIT, FindingCode.NO_PERMISSION, FindingCode.NO_PRICES]
