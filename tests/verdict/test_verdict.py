"""The verdict of a cluster: findings, their order and their cost."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.launch_refusals import LaunchRefusal
from karptui.disruption.analysis import Analysis
from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.karpenter import labels
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.kube.objects import Condition
from karptui.pending.causes import Cause
from karptui.session.events import transitions
from karptui.session.nodes import NodeEntry
from karptui.verdict.case import LimitLine, PendingLine, VerdictCase, VerdictNode
from karptui.verdict.finding import ClusterFinding, CountBound, FindingCode, FindingSeverity, Leaving, Manner
from karptui.verdict.refusals import refusal_message
from karptui.verdict.verdict import verdict_of
from karptui.views.nodes.status import node_status
from karptui.views.row import Tone
from karptui.views.verdict.sentence import sentence
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
    amounts,
    an_event,
    an_owner,
)
from tests.disruption.making import a_claim, consolidatable, prepared

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}
RIPE = (consolidatable(),)
DRIFTED = (a_condition("Drifted", since_ns=NOW_NS - DAY_NS),)
BIG: dict[str, Any] = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}


def findings_by_code(
    *, held: float = 0.4, per_hour: float | None = 0.4, **objects: Any
) -> dict[FindingCode, ClusterFinding]:
    """Return the findings by code in a cluster of one NodePool whose nodes have equal prices and held costs."""
    objects = {"nodepools": [a_nodepool(budgets=())], **objects}
    analysis = analyse_all(AnalysisSteps(prepared(**objects), 1))
    return told(analysis, objects["nodeclaims"], held=held, per_hour=per_hour)


def told(
    analysis: Analysis, claims: Any, *, held: float = 0.4, per_hour: float | None = 0.4, **given: Any
) -> dict[FindingCode, ClusterFinding]:
    found_lines = lines(analysis, claims, held=held, per_hour=per_hour)
    case = VerdictCase(now_ns=NOW_NS, nodes=found_lines, analysis=analysis, **given)
    return {finding.code: finding for finding in verdict_of(case)}


def lines(analysis: Analysis, claims: Any, *, held: float = 0.4, per_hour: float | None = 0.4) -> list[VerdictNode]:
    return [
        VerdictNode(
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


def test_a_claim_without_provider_id_pauses_karpenter_and_names_pending_pods() -> None:
    old = a_nodeclaim(name="stuck", provider_id="", created_ns=NOW_NS - 22 * MINUTE_NS)
    claims = [a_claim(instance_type="m5.2xlarge", conditions=RIPE), old]
    stopped = findings_by_code(nodes=[a_node(**BIG)], nodeclaims=claims)[FindingCode.STOPPED]
    assert (stopped.severity, stopped.price_per_hour, stopped.nodes) == (FindingSeverity.ERROR, 0.4, 1)
    assert (stopped.names, stopped.since_ns) == (("stuck",), NOW_NS - 22 * MINUTE_NS)
    young = [claims[0], a_nodeclaim(name="new", provider_id="", created_ns=NOW_NS - MINUTE_NS)]
    assert (
        findings_by_code(nodes=[a_node(**BIG)], nodeclaims=young)[FindingCode.STOPPED].severity is FindingSeverity.INFO
    )


def test_a_refused_claim_that_pauses_karpenter_is_one_finding_with_the_error() -> None:
    refused = a_condition("Launched", status="Unknown", reason="LaunchFailed", message="no capacity")
    young = NOW_NS - MINUTE_NS
    claims = [
        a_claim(instance_type="m5.2xlarge", conditions=RIPE),
        a_nodeclaim(name="refused", node="", provider_id="", created_ns=young, conditions=(refused,)),
        a_nodeclaim(name="new", node="", provider_id="", created_ns=young),
    ]
    by_code = findings_by_code(nodes=[a_node(**BIG)], nodeclaims=claims)
    assert FindingCode.CLAIM_STUCK not in by_code
    stopped = by_code[FindingCode.STOPPED]
    assert (stopped.severity, stopped.names, stopped.detail) == (FindingSeverity.ERROR, ("refused",), "no capacity")


def test_claims_that_pause_karpenter_have_their_own_age_and_pods() -> None:
    refused = a_condition("Launched", status="Unknown", reason="LaunchFailed", message="too large")
    minutes = {"silent": 14, "refused": 3}
    claims = [
        a_nodeclaim(
            name=name,
            pool=name,
            node="",
            provider_id="",
            created_ns=NOW_NS - minutes[name] * MINUTE_NS,
            conditions=(refused,) * (name == "refused"),
        )
        for name in minutes
    ]
    pending = [PendingLine(name, (name,), NOW_NS - HOUR_NS, cause=Cause.CLAIM, pools=(name,)) for name in minutes]
    steps = AnalysisSteps(prepared(nodeclaims=claims, nodepools=[a_nodepool(name=name) for name in minutes]), 1)
    quota = PendingLine("quota", ("quota",), NOW_NS - HOUR_NS, cause=Cause.CLAIM, pools=("quota",))
    refusal = LaunchRefusal(nodeclaim="gone", nodepool="quota", message="m", first_ns=NOW_NS, last_ns=NOW_NS)
    by_code = told(analyse_all(steps), claims, pending=[*pending, quota], refusals=[refusal])
    stopped, stuck = by_code[FindingCode.STOPPED], by_code[FindingCode.CLAIM_STUCK]
    assert by_code[FindingCode.LAUNCH_REFUSED].pending.pods == ("quota",)
    assert (stopped.names, stopped.since_ns) == (("silent",), NOW_NS - 14 * MINUTE_NS)
    assert (stopped.pending.pods, stuck.pending.pods, stuck.detail) == (("silent",), ("refused",), "too large")


@pytest.mark.parametrize(("message", "paused"), [("no capacity", ("batch/etl-1",)), ("", ())])
def test_a_refused_launch_stops_pods_of_other_node_pools_at_once(message: str, paused: tuple[str, ...]) -> None:
    conditions = (a_condition("Launched", status="Unknown", reason="LaunchFailed", message=message),) if message else ()
    claim = a_nodeclaim(name="new", node="", provider_id="", created_ns=NOW_NS - MINUTE_NS, conditions=conditions)
    claims = [a_claim(instance_type="m5.2xlarge", conditions=RIPE), claim]
    steps = AnalysisSteps(prepared(nodes=[a_node(**BIG)], nodeclaims=claims, nodepools=[a_nodepool(budgets=())]), 1)
    waiting = PendingLine("batch/etl-1", ("batch/etl-1",), NOW_NS - MINUTE_NS, cause=Cause.CLAIM, pools=("other",))
    stopped = told(analyse_all(steps), claims, pending=(waiting,))[FindingCode.STOPPED]
    assert stopped.pending.pods == paused


@pytest.mark.parametrize(("status", "reason", "is_refused"), [
    ("Unknown", "AwaitingReconciliation", False),
    ("Unknown", "", False),
    ("Unknown", "LaunchFailed", True),
    ("Unknown", "Launched", True),
    ("Unknown", "NodeClassNotReady", True),
    ("False", "", True),
    ("False", "AwaitingReconciliation", True),
    ("True", "Launched", False),
])  # fmt: skip
def test_one_rule_decides_whether_a_launch_was_refused(status: str, reason: str, is_refused: bool) -> None:
    launched = Condition("Launched", status, reason, "why")
    claim = a_nodeclaim(node="", provider_id="", conditions=(launched,))
    node = node_status(NodeEntry(None, claim))
    assert (claim.refused_launch is not None) == is_refused
    assert bool(refusal_message(VerdictNode("new", "general", claim, has_node=False))) == is_refused
    assert (node.tone is Tone.FAULT, node.sentence == "why") == (is_refused, is_refused)
    assert [entry.message for entry in transitions(claim) if "=" in entry.reason] == ["why"] * is_refused


def test_protected_pods_and_budgets_name_the_nodes_they_block() -> None:
    claims = [a_claim(f"node-{i}", instance_type="m5.2xlarge", conditions=RIPE) for i in (1, 2)]
    nodes = [a_node(name=f"node-{i}", **BIG) for i in (1, 2)]
    pods = [
        a_pod(name="ci-1", node="node-1", annotations=PROTECTED, created_ns=NOW_NS - DAY_NS),
        a_pod(name="db-0", node="node-2", labels={"app": "db"}),
    ]
    both = findings_by_code(nodes=nodes, nodeclaims=claims, pods=pods, pdbs=[a_pdb(name="db", labels={"app": "db"})])
    pinned, guarded = both[FindingCode.POD_DND], both[FindingCode.PDB]
    assert (pinned.pods, pinned.nodes, pinned.price_per_hour, pinned.until_ns) == (1, 1, 0.4, None)
    assert (guarded.names, guarded.nodes, guarded.severity) == (("default/db",), 1, FindingSeverity.WARNING)
    assert guarded.objects == ("Pod/default/db-0", "PodDisruptionBudget/default/db")


def test_drift_names_the_pdb_that_blocks_it_though_its_pods_fit_nowhere_else() -> None:
    drifted = a_condition("Drifted", since_ns=NOW_NS - 2 * HOUR_NS)
    by_code = findings_by_code(
        nodepools=[a_nodepool(budgets=(), limits=amounts({"cpu": "0"}))],
        nodes=[a_node(name="node-1", **BIG)],
        nodeclaims=[a_claim("node-1", instance_type="m5.2xlarge", conditions=(drifted,))],
        pods=[a_pod(name="db-0", node="node-1", labels={"app": "db"})],
        pdbs=[a_pdb(name="db", labels={"app": "db"})],
    )
    assert (by_code[FindingCode.DRIFT].detail, by_code[FindingCode.DRIFT].reasons) == ("PDB_EXHAUSTED", ("default/db",))


def test_blockers_of_an_interrupted_nodes_drain_are_a_separate_finding() -> None:
    deleting = a_condition("Drained", status="Unknown", reason="Draining", since_ns=NOW_NS - HOUR_NS)
    claims = [
        a_claim("node-1", instance_type="m5.2xlarge", conditions=(deleting,), deletion_ns=NOW_NS - HOUR_NS),
        *(a_claim(f"node-{i}", instance_type="m5.2xlarge", conditions=RIPE) for i in (2, 3)),
    ]
    nodes = [a_node(name=f"node-{i}", **BIG) for i in (1, 2, 3)]
    notice = an_event(about=f"NodeClaim/{claims[0].name}", reason="SpotInterrupted", last_ns=NOW_NS - HOUR_NS)

    def found(*owners: str) -> list[tuple[tuple[str, ...], int, int]]:
        pods = [
            a_pod(name=f"p{i}", node=f"node-{i}", annotations=PROTECTED, owner=an_owner(kind="StatefulSet", name=owner))
            for i, owner in enumerate(owners, 1)
        ]
        steps = AnalysisSteps(
            prepared(nodes=nodes, nodeclaims=claims, pods=pods, events=[notice], nodepools=[a_nodepool(budgets=())]), 1
        )
        case = VerdictCase(now_ns=NOW_NS, nodes=lines(analyse_all(steps), claims), analysis=steps.analysis)
        return [(f.names, f.nodes, f.draining) for f in verdict_of(case) if f.code is FindingCode.POD_DND]

    assert found("mq", "ci", "ci") == [(("default/mq",), 1, 1), (("default/ci",), 2, 0)]
    assert found("ci", "ci", "ci") == [(("default/ci",), 3, 1)]


@pytest.mark.parametrize(("minutes", "evicted", "source", "severity", "state"), [
    (30, "db-1", "karpenter", FindingSeverity.INFO, "1 node draining in turn"),
    (30, "db-1", "kubelet", FindingSeverity.WARNING, "1 node unable to drain"),
    (30, "cache-1", "karpenter", FindingSeverity.WARNING, "1 node unable to drain"),
    (61, "db-1", "karpenter", FindingSeverity.WARNING, "1 node draining in turn"),
])  # fmt: skip
def test_a_drain_that_evicts_pods_in_turn_is_only_noted_for_an_hour(
    minutes: int, evicted: str, source: str, severity: FindingSeverity, state: str
) -> None:
    since = NOW_NS - minutes * MINUTE_NS
    draining = a_condition("Drained", status="Unknown", reason="Draining", since_ns=since)
    claims = [a_claim(instance_type="m5.2xlarge", deletion_ns=since, conditions=(draining,))]
    objects = prepared(nodes=[a_node(deletion_ns=since, **BIG)], nodeclaims=claims, nodepools=[a_nodepool(budgets=())],
                       pods=[a_pod(name="db-0", node="node-1", labels={"app": "db"}, created_ns=NOW_NS - DAY_NS)],
                       pdbs=[a_pdb(name="db", labels={"app": "db"})])  # fmt: skip
    event = an_event(about=f"Pod/default/{evicted}", reason="Evicted", message="Evicted pod: Drifted", source=source)
    pdb = told(analyse_all(AnalysisSteps(objects, 1)), claims, events=[event])[FindingCode.PDB]
    assert pdb.severity is severity
    assert state in sentence(pdb, NOW_NS, {})


@pytest.mark.parametrize(("budgets", "pace"), [
    ((), ""),
    ((DisruptionBudget("2"),), ""),
    ((DisruptionBudget("1"),), "disruption budget: 1 at a time"),
    ((DisruptionBudget("0"),), "disruption budget also 0 now"),
    ((DisruptionBudget("0", schedule="0 0 * * *", duration="23h"),), "disruption budget also 0 until 23:00 UTC"),
])  # fmt: skip
@pytest.mark.parametrize("conditions_of_nodes", [(RIPE, RIPE), (DRIFTED, RIPE)])
def test_blocked_nodes_show_how_many_budgets_allow_at_once(
    conditions_of_nodes: tuple[Any, ...], budgets: tuple[DisruptionBudget, ...], pace: str
) -> None:
    pinned = findings_by_code(
        nodes=[a_node(name=f"node-{i}", **BIG) for i in (1, 2)],
        nodeclaims=[
            a_claim(f"node-{i}", instance_type="m5.2xlarge", conditions=conditions)
            for i, conditions in enumerate(conditions_of_nodes, 1)
        ],
        nodepools=[a_nodepool(budgets=budgets)],
        pods=[a_pod(name=f"ci-{i}", node=f"node-{i}", annotations=PROTECTED) for i in (1, 2)],
    )[FindingCode.POD_DND]
    assert sentence(pinned, NOW_NS, {}).partition("; ")[2] == pace


def test_protected_pods_on_a_node_that_still_receives_pods() -> None:
    pods = [
        a_pod(name="ci-1", node="node-1", annotations=PROTECTED, created_ns=NOW_NS - DAY_NS),
        a_pod(name="new", node="node-1", created_ns=NOW_NS - MINUTE_NS),
    ]
    claims = [a_claim(instance_type="m5.2xlarge", conditions=RIPE)]
    pinned = findings_by_code(nodes=[a_node(**BIG)], nodeclaims=claims, pods=pods)[FindingCode.POD_DND]
    assert (pinned.pods, pinned.recent_pods) == (1, 1)


def test_disruption_budgets_that_never_open_open_later_or_are_used_up() -> None:
    ripe = [a_claim(instance_type="m5.2xlarge", conditions=RIPE)]
    for budget, manner, severity in (
        (DisruptionBudget("0"), Manner.NEVER, FindingSeverity.WARNING),
        (DisruptionBudget("0", schedule="0 0 * * *", duration="24h"), Manner.NEVER, FindingSeverity.WARNING),
        (DisruptionBudget("0", schedule="0 0 * * *", duration="23h"), Manner.PLAIN, FindingSeverity.INFO),
    ):
        shut = findings_by_code(nodes=[a_node(**BIG)], nodeclaims=ripe, nodepools=[a_nodepool(budgets=(budget,))])
        assert (shut[FindingCode.BUDGET].manner, shut[FindingCode.BUDGET].severity) == (manner, severity)
        assert shut[FindingCode.BUDGET].price_per_hour == 0.4
    going = a_claim("node-2", instance_type="m5.2xlarge", deletion_ns=NOW_NS - MINUTE_NS)
    used = findings_by_code(
        nodes=[a_node(**BIG), a_node(name="node-2", **BIG)],
        nodeclaims=[*ripe, going],
        nodepools=[a_nodepool(budgets=(DisruptionBudget("1"),))],
    )[FindingCode.BUDGET]
    assert (used.manner, used.names, used.nodes) == (Manner.USED_UP, ("general",), 1)


def test_blockers_that_stop_no_method_are_not_findings() -> None:
    pods = [a_pod(node="node-1", annotations=PROTECTED)]
    quiet = findings_by_code(nodes=[a_node(**BIG)], nodeclaims=[a_claim(instance_type="m5.2xlarge")], pods=pods)
    assert FindingCode.POD_DND not in quiet


def test_claims_that_do_not_launch_register_or_initialize() -> None:
    refused = a_condition("Launched", status="Unknown", reason="LaunchFailed", message="no capacity")
    claim = a_nodeclaim(name="x", node="", provider_id="", conditions=(refused,))
    stuck = told(Analysis(), [claim])[FindingCode.CLAIM_STUCK]
    assert (stuck.names, stuck.detail, stuck.severity) == (("x",), "no capacity", FindingSeverity.ERROR)


def test_nodes_whose_nodepool_does_not_exist() -> None:
    claims = [a_claim(instance_type="m5.2xlarge", conditions=RIPE)]
    gone = findings_by_code(nodes=[a_node(**BIG)], nodeclaims=claims, nodepools=[])[FindingCode.POOL_GONE]
    assert (gone.names, gone.nodes, gone.price_per_hour) == (("general",), 1, 0.4)


def test_a_nodepool_of_another_provider_does_not_count_as_unusable() -> None:
    foreign = a_nodepool(name="foreign", node_class_ref=NodeClassRef("kwok.sh", "KwokNodeClass", "default"))
    pools = [a_nodepool(replicas=1), foreign]
    claims = [a_claim(conditions=RIPE)]
    analysis = analyse_all(AnalysisSteps(prepared(nodepools=pools, nodes=[a_node()], nodeclaims=claims), 1))
    finding = told(analysis, claims, pools=pools)[FindingCode.NO_NODEPOOLS]
    assert (finding.names, finding.detail) == (("general",), "static")


@pytest.mark.parametrize(("pools", "severity", "manner"), [
    ((a_nodepool(replicas=1),), FindingSeverity.WARNING, Manner.STATIC),
    ((a_nodepool(replicas=1), a_nodepool(name="b", is_ready=False)), FindingSeverity.ERROR, Manner.STATIC),
    ((a_nodepool(replicas=1, limits=amounts({"nodes": "1"})),), FindingSeverity.ERROR, Manner.PLAIN),
    ((a_nodepool(replicas=1, limits=amounts({"nodes": "2"})),), FindingSeverity.WARNING, Manner.STATIC),
])  # fmt: skip
def test_static_nodepools_within_limits(pools: tuple[NodePool, ...], severity: FindingSeverity, manner: Manner) -> None:
    claims = [a_claim(conditions=RIPE)]
    analysis = analyse_all(AnalysisSteps(prepared(nodepools=pools, nodes=[a_node()], nodeclaims=claims), 1))
    finding = told(analysis, claims, pools=pools)[FindingCode.NO_NODEPOOLS]
    assert (finding.severity, finding.manner) == (severity, manner)


def test_a_cluster_without_karpenters_nodes_is_not_called_healthy() -> None:
    foreign = VerdictNode("n", "", None, has_node=True, per_hour=0.1)
    manners = [
        verdict_of(VerdictCase(now_ns=NOW_NS, nodes=nodes))[0].manner
        for nodes in ((), (foreign,), (foreign, VerdictNode("m", "general", None, has_node=True, per_hour=0.1)))
    ]
    assert manners == [Manner.NO_NODES, Manner.NOT_KARPENTERS, Manner.PLAIN]


def test_pods_pending_for_full_reservations_are_one_finding_for_each_nodepool() -> None:
    lines_of_pods = [
        PendingLine("web", ("web/a", "web/b"), NOW_NS - HOUR_NS, "k1", "reserved"),
        PendingLine("db", ("db/a",), NOW_NS - DAY_NS, "k2", "reserved"),
        PendingLine("ci", ("ci/a",), NOW_NS - HOUR_NS, "k3"),
    ]
    found_by_code = {finding.code: finding for finding in verdict_of(VerdictCase(now_ns=NOW_NS, pending=lines_of_pods))}
    assert list(found_by_code) == [FindingCode.RESERVATIONS_FULL, FindingCode.PENDING]
    full = found_by_code[FindingCode.RESERVATIONS_FULL]
    assert (full.pods, full.since_ns, full.names) == (3, NOW_NS - DAY_NS, ("reserved",))
    assert full.objects == ("NodePool/reserved", "Pod/web/a", "Pod/web/b", "Pod/db/a")
    assert found_by_code[FindingCode.PENDING].pods == 1


def test_errors_are_first_then_the_most_expensive() -> None:
    case = VerdictCase(
        now_ns=NOW_NS,
        nodes=[VerdictNode("n", "general", None, has_node=True, per_hour=None, not_ready_ns=NOW_NS - HOUR_NS)],
        pending=[PendingLine("web", ("web/a", "web/b"), NOW_NS - HOUR_NS)],
        pools=[a_nodepool(name="sick", is_ready=False)],
        limits=[LimitLine("general", "cpu 99 of 100")],
        hidden=["PodDisruptionBudgets"],
    )
    codes = [finding.code for finding in verdict_of(case)]
    assert set(codes[:3]) == {FindingCode.PENDING, FindingCode.POOL_NOT_READY, FindingCode.UNHEALTHY}
    assert codes[3:] == [FindingCode.NO_PERMISSION, FindingCode.POOL_AT_LIMIT, FindingCode.NO_PRICES]


def test_an_unready_nodepool_has_its_time_and_reason() -> None:
    ready = a_condition("Ready", status="False", message="NodeClassReady=False", since_ns=NOW_NS - HOUR_NS)
    case = VerdictCase(now_ns=NOW_NS, pools=[a_nodepool(name="sick", conditions=(ready,))])
    sick = next(finding for finding in verdict_of(case) if finding.code is FindingCode.POOL_NOT_READY)
    assert (sick.since_ns, sick.detail) == (NOW_NS - HOUR_NS, "NodeClassReady=False")


@pytest.mark.parametrize(("replicas", "limit", "is_told"), [(3, "2", True), (2, "2", False), (None, "2", False)])
def test_static_nodepools_that_exceed_their_limit(replicas: int | None, limit: str, *, is_told: bool) -> None:
    pool = a_nodepool(replicas=replicas, limits=amounts({"nodes": limit}))
    findings = {finding.code: finding for finding in verdict_of(VerdictCase(now_ns=NOW_NS, pools=[pool]))}
    assert (FindingCode.POOL_AT_LIMIT in findings) is is_told
    if is_told:
        assert findings[FindingCode.POOL_AT_LIMIT].detail == "3 nodes, but its limit is 2"


def test_the_next_command_says_that_it_is_blocked() -> None:
    old = a_nodeclaim(name="stuck", provider_id="", created_ns=NOW_NS - 22 * MINUTE_NS)
    claims = [a_claim(instance_type="m5.2xlarge", conditions=RIPE), old]
    steps = AnalysisSteps(prepared(nodepools=[a_nodepool(budgets=())], nodes=[a_node(**BIG)], nodeclaims=claims), 1)
    assert FindingCode.NEXT not in told(analyse_all(steps), claims)  # not computed yet, so nothing is assumed
    steps.simulate_next_pass()
    coming = told(steps.analysis, claims)[FindingCode.NEXT]
    assert (coming.manner, coming.names, coming.detail) == (Manner.AFTER_OTHERS, ("node-1",), "delete Emptiness")


def test_nodes_that_expire_now_come_before_the_next_command() -> None:
    claims = [
        a_claim(f"node-{i}", instance_type="m5.2xlarge", conditions=RIPE, expire_after_ns=age_ns)
        for i, age_ns in enumerate((DAY_NS, 365 * DAY_NS), 1)
    ]
    claims = [replace(claim, created_ns=NOW_NS - DAY_NS) for claim in claims]
    nodes = [a_node(name=f"node-{i}", **BIG) for i in (1, 2)]
    steps = AnalysisSteps(prepared(nodepools=[a_nodepool(budgets=())], nodes=nodes, nodeclaims=claims), 1)
    analyse_all(steps)
    steps.simulate_next_pass()
    coming = told(steps.analysis, claims)[FindingCode.NEXT]
    assert (coming.manner, coming.names, coming.price_per_hour) == (Manner.EXPIRED, ("node-1",), None)


def test_savings_are_marked_incomplete_until_every_node_is_simulated() -> None:
    claims = [a_claim(instance_type="m5.2xlarge", conditions=RIPE)]
    pods = [a_pod(node="node-1", annotations=PROTECTED)]
    steps = AnalysisSteps(
        prepared(nodepools=[a_nodepool(budgets=())], nodes=[a_node(**BIG)], nodeclaims=claims, pods=pods), 1
    )
    for _ in steps.survey():
        pass
    early = told(steps.analysis, claims)[FindingCode.POD_DND]
    assert (early.is_partial, early.nodes_bound) == (True, CountBound.AT_MOST)
    complete = told(analyse_all(steps), claims)[FindingCode.POD_DND]
    assert (complete.is_partial, complete.nodes_bound) == (False, CountBound.EXACT)


def test_the_count_of_paused_removals_is_a_lower_bound_until_every_node_is_simulated() -> None:
    old = a_nodeclaim(name="stuck", node="", provider_id="", created_ns=NOW_NS - 22 * MINUTE_NS)
    names = ("node-1", "node-2")
    claims = [*(a_claim(name, instance_type="m5.2xlarge", conditions=RIPE) for name in names), old]
    nodes = [a_node(name=name, **BIG) for name in names]
    steps = AnalysisSteps(prepared(nodepools=[a_nodepool(budgets=())], nodes=nodes, nodeclaims=claims), 1)
    for _ in steps.survey():
        pass
    steps.simulate("claim/claim-node-1")
    early = told(steps.analysis, claims)[FindingCode.STOPPED]
    assert (early.nodes, early.nodes_bound, early.is_partial) == (1, CountBound.AT_LEAST, True)
    for key in steps.unsimulated():
        steps.simulate(key)
    complete = told(steps.analysis, claims)[FindingCode.STOPPED]
    assert (complete.nodes, complete.nodes_bound, complete.is_partial) == (2, CountBound.EXACT, False)


def test_more_consolidation_timeouts_raise_the_severity() -> None:
    def timed_out(times: int) -> ClusterFinding | None:
        case = VerdictCase(now_ns=NOW_NS, timeouts=times, started_ns=NOW_NS - 10 * HOUR_NS)
        return next((finding for finding in verdict_of(case) if finding.code is FindingCode.TIMED_OUT), None)

    often, seldom = timed_out(12), timed_out(2)
    assert often is not None
    assert seldom is not None
    assert (often.severity, seldom.severity) == (FindingSeverity.WARNING, FindingSeverity.INFO)
    assert sentence(often, NOW_NS, {}) == (
        "consolidation timed out (3 minutes) 12 times in the 10h since Karpenter started: "
        "the last nodes in its order are not evaluated"
    )
    assert timed_out(0) is None


def leaving(*conditions: Condition, minutes: int = 31, **objects: Any) -> ClusterFinding | None:
    """Return the findings about a node that was deleted this number of minutes ago."""
    ago_ns = NOW_NS - minutes * MINUTE_NS
    given: dict[str, Any] = {"instance_type": "m5.2xlarge", "deletion_ns": ago_ns, "conditions": conditions}
    given |= objects.pop("claim", {})
    of_line = objects.pop("line", {})
    objects = {"nodes": [a_node(**BIG)], "nodeclaims": [a_claim(**given)], **objects}
    analysis = analyse_all(AnalysisSteps(prepared(nodepools=[a_nodepool(budgets=())], **objects), 1))
    alone = [replace(line, deleted_ns=ago_ns, **of_line) for line in lines(analysis, objects["nodeclaims"])]
    case = VerdictCase(now_ns=NOW_NS, nodes=alone, analysis=analysis)
    return next((finding for finding in verdict_of(case) if finding.code is FindingCode.LEAVING), None)


@pytest.mark.parametrize(("stage", "conditions", "pods"), [
    (Leaving.WAITS, (), ()),
    (Leaving.WAITS, (), (a_pod(node="node-1"),)),
    (Leaving.UNDRAINED, (a_condition("Drained", status="Unknown"),), ()),
    (Leaving.EVICTED, (a_condition("Drained", status="Unknown"),), (a_pod(node="node-1"),)),
    (Leaving.ENDING, (a_condition("Drained", status="Unknown"),),
     (a_pod(node="node-1", deletion_ns=NOW_NS - MINUTE_NS // 2),)),
    (Leaving.VOLUMES, (a_condition("Drained"), a_condition("VolumesDetached", status="Unknown")), ()),
    (Leaving.INSTANCE, (a_condition("Drained"), a_condition("VolumesDetached")), ()),
])  # fmt: skip
def test_a_slow_deletion_names_its_stage(stage: Leaving, conditions: Any, pods: Any) -> None:
    told_of = leaving(*conditions, pods=pods)
    assert told_of is not None
    assert (told_of.detail, told_of.nodes, told_of.pods) == (stage, 1, len(pods))
    assert (told_of.since_ns, told_of.until_ns, told_of.price_per_hour) == (NOW_NS - 31 * MINUTE_NS, None, 0.4)
    assert told_of.manner == (Manner.PLAIN if stage is Leaving.INSTANCE else Manner.NEVER)
    assert leaving(*conditions, pods=pods, minutes=29) is None


def test_when_a_long_drain_is_a_fault() -> None:
    done = (a_condition("Drained"), a_condition("VolumesDetached"), a_condition("InstanceTerminating"))
    node = replace(a_node(**BIG), deletion_ns=NOW_NS - HOUR_NS, finalizers=("example.com/node",))
    finding = leaving(*done, nodes=[node], line={"node": node})
    assert finding is not None
    assert (finding.detail, finding.price_per_hour) == (Leaving.FINALIZER, None)
    assert "its instance is gone, but the finalizer example.com/node keeps its Node" in sentence(finding, NOW_NS, {})
    pods = [a_pod(name=f"p{minutes}", node="node-1", deletion_ns=NOW_NS + minutes * MINUTE_NS) for minutes in (5, 80)]
    finding = leaving(a_condition("Drained", status="Unknown"), pods=pods)
    assert finding is not None
    assert (finding.severity, finding.manner) == (FindingSeverity.INFO, Manner.OWN_GRACE)
    assert "2 pods (default/*) take long to terminate; the termination grace period ends in 80m" in sentence(
        finding, NOW_NS, {}
    )
    bounded = leaving(claim={"termination_grace_period_ns": HOUR_NS})
    assert bounded is not None
    assert (bounded.manner, bounded.until_ns) == (Manner.PLAIN, NOW_NS + 30 * MINUTE_NS)
    protected = [a_pod(node="node-1", annotations=PROTECTED)]
    assert leaving(a_condition("Drained", status="Unknown"), pods=protected) is None


def test_only_the_claim_or_only_the_node_is_left() -> None:
    ago_ns = NOW_NS - HOUR_NS
    claim = a_nodeclaim(name="left", node="gone", deletion_ns=ago_ns)
    old = replace(a_nodeclaim(name="old", node="gone", deletion_ns=ago_ns), node_class_ref=NodeClassRef(name="default"))
    cases = (
        VerdictNode("gone", "general", claim, has_node=False, deleted_ns=ago_ns),
        VerdictNode("old", "general", old, has_node=False, deleted_ns=ago_ns),
        VerdictNode("node-1", "general", None, has_node=True, deleted_ns=ago_ns),
    )
    told_of = [item for item in verdict_of(VerdictCase(now_ns=NOW_NS, nodes=cases)) if item.code is FindingCode.LEAVING]
    assert [(finding.detail, finding.objects) for finding in told_of] == [
        (Leaving.NO_NODE, ("NodeClaim/left",)),
        (Leaving.NODE_ALONE, ("Node/node-1",)),
        (Leaving.UNMANAGED, ("NodeClaim/old",)),
    ]


GOING = VerdictNode("node-1", "general", a_claim(), has_node=True, deleted_ns=NOW_NS - MINUTE_NS, pods=3)
CORDONED = VerdictNode("node-2", "", None, has_node=True, is_cordoned=True, pods=9)
SERVED, NONE = (a_nodepool(),), ()


@pytest.mark.parametrize(("nodes", "pools", "severity", "manner", "pods"), [
    ((GOING,), SERVED, FindingSeverity.WARNING, Manner.PLAIN, 3),
    ((GOING,), NONE, FindingSeverity.ERROR, Manner.PLAIN, 3),
    ((replace(GOING, deleted_ns=None, is_disrupted=True),), NONE, FindingSeverity.ERROR, Manner.PLAIN, 3),
    ((replace(GOING, pods=0),), NONE, FindingSeverity.INFO, Manner.PLAIN, 0),
    ((GOING, CORDONED), SERVED, FindingSeverity.WARNING, Manner.SOME_CORDONED, 3),
    ((GOING, CORDONED), NONE, FindingSeverity.ERROR, Manner.SOME_CORDONED, 3),
    ((replace(GOING, pods=0), CORDONED), NONE, FindingSeverity.WARNING, Manner.SOME_CORDONED, 0),
    ((CORDONED, CORDONED), NONE, FindingSeverity.WARNING, Manner.ALL_CORDONED, 0),
])  # fmt: skip
def test_a_cluster_whose_nodes_are_all_leaving_or_cordoned_is_not_called_fine(
    nodes: tuple[VerdictNode, ...], pools: tuple[NodePool, ...], severity: FindingSeverity, manner: Manner, pods: int
) -> None:
    first = verdict_of(VerdictCase(now_ns=NOW_NS, nodes=nodes, pools=pools, has_prices=False))[0]
    assert (first.code, first.severity, first.manner) == (FindingCode.ALL_LEAVING, severity, manner)
    assert (first.nodes, first.pods) == (len(nodes), pods)


@pytest.mark.parametrize(("other", "is_told"), [
    (VerdictNode("node-2", "", None, has_node=True), False),
    (VerdictNode("new", "a", a_nodeclaim(node="", conditions=(a_condition("Launched"),)), has_node=False), False),
    (VerdictNode("dead", "a", a_nodeclaim(node="x", conditions=(a_condition("Registered"),)), has_node=False), True),
], ids=["a node stays", "a node starts", "its node is gone"])  # fmt: skip
def test_all_nodes_leave_only_if_none_stays_or_starts(other: VerdictNode, *, is_told: bool) -> None:
    findings = verdict_of(VerdictCase(now_ns=NOW_NS, nodes=(GOING, other), pools=SERVED))
    told_of = [finding.nodes for finding in findings if finding.code is FindingCode.ALL_LEAVING]
    assert told_of == ([1] if is_told else [])
