from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from karptui.disruption.analysis import NodeFindings
from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.disruption.codes import CODES, RANKS, Code, WhyCode
from karptui.disruption.outlook import Outcome
from karptui.disruption.termination import InstanceWarning
from karptui.karpenter import labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import WHEN_EMPTY, DisruptionBudget, NodePool
from karptui.karpenter.settings import Settings, parse_settings
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.views.why.labels import why_code, why_label
from karptui.views.why.sentences import refusal_text
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
    a_requirement,
    an_event,
    an_instance_type,
    an_owner,
    present,
)
from tests.disruption.making import LARGE, SMALL, TYPES, a_buffer, a_claim, consolidatable, drifted, prepared

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}
BIG: dict[str, Any] = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}
RIPE = (consolidatable(),)
SPOT_TYPES = tuple(
    an_instance_type(name=f"s{i}.large", cpu="2", memory="8Gi", prices={"spot": 0.01 * (i + 1)}) for i in range(4)
)
SPOT = an_instance_type(name="m5.2xlarge", cpu="8", memory="32Gi", prices={"spot": 0.4})


def findings_of(
    name: str = "node-1",
    *,
    node: Node | None = None,
    claim: NodeClaim | str | None = None,
    pool: NodePool | None = None,
    **objects: Any,
) -> NodeFindings:
    """Return the findings about the node of a one-node cluster, or about the named node."""
    cluster = prepared(
        nodes=[node or a_node(**BIG), *objects.pop("more_nodes", ())],
        nodeclaims=[
            *([claim or a_claim(instance_type="m5.2xlarge", conditions=RIPE)] if claim != "none" else ()),
            *objects.pop("more_claims", ()),
        ],
        nodepools=[pool or a_nodepool(budgets=())],
        **objects,
    )
    analysis = analyse_all(AnalysisSteps(cluster, 1))
    return next(findings for findings in analysis.findings.values() if findings.node_name == name)


def protected_pod(**fields: Any) -> Pod:
    return a_pod(node="node-1", annotations=PROTECTED, **fields)


def spot_claim() -> NodeClaim:
    return a_claim(instance_type="m5.2xlarge", capacity_type="spot", conditions=RIPE)


def spot_pool() -> NodePool:
    return a_nodepool(budgets=(), requirements=(a_requirement(labels.CAPACITY_TYPE, "In", "spot"),))


SPOT_CLUSTER: dict[str, Any] = {
    "node": a_node(capacity_type="spot", **BIG),
    "claim": spot_claim(),
    "pool": spot_pool(),
    "types": (*SPOT_TYPES, SPOT),
    "pods": [a_pod(node="node-1")],
}
BLOCKED: dict[str, dict[str, Any]] = {
    "DND": {"pods": [protected_pod(name="a"), protected_pod(name="b")]},
    "NODE-DND": {"node": a_node(annotations=PROTECTED, **BIG)},
    "PDB": {"pods": [a_pod(node="node-1")], "pdbs": [a_pdb()]},
    "NOMINATED": {"events": [an_event(reason="Nominated",
                                      message="Pod should schedule on: nodeclaim/claim-node-1, node/node-1",
                                      about="Pod/default/web", last_ns=NOW_NS - 1)]},
    "INIT": {"node": a_node(is_initialized=False)},
    "NO-POOL": {"node": a_node(pool="x"), "claim": a_claim(pool="x")},
    "NO-TYPES": {"types": (), "node": a_node()},
    "AFTER": {"claim": a_claim(instance_type="m5.2xlarge"),
              "pool": a_nodepool(budgets=(), consolidate_after_ns=DAY_NS)},
    "NEVER": {"pool": a_nodepool(budgets=(), consolidate_after_ns=None)},
    "POLICY": {"pool": a_nodepool(budgets=(), consolidation_policy=WHEN_EMPTY), "pods": [a_pod(node="node-1")]},
    "BUDGET": {"pool": a_nodepool(budgets=(DisruptionBudget("0"),))},
    "NO-TYPE": {"types": (SMALL,), "pods": [a_pod(node="node-1")]},
    "BUFFER": a_buffer(),
    "DELETING": {"claim": a_claim(deletion_ns=NOW_NS - MINUTE_NS)},
    "DRAIN": {"claim": a_claim(deletion_ns=NOW_NS - HOUR_NS,
                               conditions=(a_condition("Drained", status="Unknown",
                                                       since_ns=NOW_NS - 12 * MINUTE_NS),)),
              "pods": [protected_pod()]},
    "NOFIT": {"pods": [a_pod(node="node-1", node_selector={labels.ARCH: "arm64"})]},
    "PRICE": {"pods": [a_pod(node="node-1", cpu="7")]},
    "GATE-OFF": SPOT_CLUSTER,
    "SPOT": {**SPOT_CLUSTER, "settings": parse_settings({"FEATURE_GATES": "SpotToSpotConsolidation=true"})},
    "STATIC": {"pool": a_nodepool(budgets=(), replicas=1)},
    "WAITS": {"more_claims": [a_nodeclaim(name="launching", provider_id="")]},
    "REPAIR": {"claim": a_claim(instance_type="m5.2xlarge"),
               "node": a_node(annotations={labels.DO_NOT_REPAIR: "true"},
                              conditions=(a_condition("Ready", status="False", since_ns=NOW_NS - HOUR_NS),), **BIG),
               "settings": parse_settings({"FEATURE_GATES": "NodeRepair=true"}, "1.15.0")},
    "OK": {},
    "n/a": {"claim": "none", "node": a_node(pool="")},
}  # fmt: skip


@pytest.mark.parametrize(("code", "cluster"), BLOCKED.items(), ids=BLOCKED)
def test_why_code_of_a_blocked_node(code: str, cluster: Mapping[str, Any]) -> None:
    assert findings_of(**cluster).why.code == code


def test_an_unread_feature_gate_is_assumed_to_be_off() -> None:
    unread = findings_of(**SPOT_CLUSTER, settings=Settings(are_gates_assumed=True))
    assert (why_label(unread.why, NOW_NS), why_code(unread.why, NOW_NS)) == ("spot-to-spot off?", "GATE-OFF")
    assert "which is off by default and was not read" in refusal_text(present(unread.outlook).now)
    read = findings_of(**SPOT_CLUSTER)
    assert (why_label(read.why, NOW_NS), why_code(read.why, NOW_NS)) == ("spot-to-spot off", "GATE-OFF")


def lanes(findings: NodeFindings) -> dict[str, Any]:
    """Return each method's verdict about a node, in short."""
    return {lane.method: (lane.is_wanted, lane.code, lane.outcome and str(lane.outcome)) for lane in findings.lanes}


def test_moving_pods_keep_a_node_from_being_empty() -> None:
    daemon = a_pod(name="daemon", node="node-1", owner=an_owner(kind="DaemonSet", name="logs"))
    static = a_pod(name="static", node="node-1", owner=an_owner(kind="Node", name="node-1", api_version="v1"))
    ended = a_pod(name="ended", node="node-1", phase="Succeeded")
    free = a_pod(name="free", node="node-1", annotations={labels.POD_DELETION_COST: "-2147483648"})
    findings = findings_of(pods=[daemon, static, ended, free, a_pod(name="web", node="node-1")])
    assert (findings.moving_pods, lanes(findings)["Emptiness"]) == (1, (False, "NOT_EMPTY", None))
    empty = findings_of(pods=[daemon, static, ended, free])
    assert (empty.moving_pods, lanes(empty)["Emptiness"][0]) == (0, True)


def test_a_gate_is_not_named_if_it_blocks_no_method_that_wants_the_node() -> None:
    quiet = findings_of(**BLOCKED["AFTER"] | {"pods": [protected_pod()]})
    assert (quiet.why.codes, quiet.why.method, quiet.is_held) == ((WhyCode.AFTER,), "", False)
    assert not any(blocker.is_wanted for blocker in quiet.blockers)
    # Only Drift wants the node, and the budget blocks it: consolidateAfter does not matter.
    pool = a_nodepool(budgets=(DisruptionBudget("0"),), consolidate_after_ns=DAY_NS)
    held = findings_of(claim=a_claim(instance_type="m5.2xlarge", conditions=(drifted(),)), pool=pool)
    assert (held.why.code, held.why.method, held.why.codes) == (WhyCode.BUDGET, "Drift", (WhyCode.BUDGET,))


def test_each_method_has_a_lane() -> None:
    assert lanes(findings_of(pods=[a_pod(node="node-1"), protected_pod(name="ci")])) == {
        "Emptiness": (False, "NOT_EMPTY", None),
        "Drift": (False, "NOT_DRIFTED", None),
        "MultiNodeConsolidation": (True, "POD_DND", None),
        "SingleNodeConsolidation": (True, "POD_DND", None),
    }
    claim = a_claim(instance_type="m5.2xlarge", conditions=(drifted(), *RIPE))
    budget = DisruptionBudget("0", reasons=("Drifted",))
    findings = findings_of(claim=claim, pool=a_nodepool(budgets=(budget,)), pods=[a_pod(node="node-1", cpu="7")])
    assert lanes(findings)["Drift"] == (True, "BUDGET_ZERO", None)
    assert lanes(findings)["SingleNodeConsolidation"] == (True, "NOT_CHEAPER", None)
    # The first method, in Karpenter's order, that wants the node.
    assert (findings.why.code, findings.why.method) == (WhyCode.BUDGET, "Drift")


def test_a_node_of_another_methods_command_is_not_blocked() -> None:
    claim = a_claim(instance_type="m5.2xlarge", conditions=(drifted(), *RIPE))
    budget = DisruptionBudget("0", reasons=("Drifted",))
    findings = findings_of(claim=claim, pool=a_nodepool(budgets=(budget,)))
    assert (findings.why.code, findings.why.outcome, findings.why.method) == (WhyCode.OK, Outcome.DELETE, "Emptiness")


def test_drift_is_blocked_if_pods_are_unschedulable() -> None:
    claim = a_claim(instance_type="m5.2xlarge", conditions=(drifted(),))
    findings = findings_of(claim=claim, pods=[a_pod(node="node-1", node_selector={labels.ARCH: "arm64"})])
    assert lanes(findings)["Drift"] == (True, "SIM_UNSCHEDULABLE", None)
    assert (findings.why.code, findings.why.method) == (WhyCode.NOFIT, "Drift")


def test_why_shows_that_the_whole_cluster_is_blocked() -> None:
    launching: dict[str, Any] = {"more_claims": [a_nodeclaim(name="launching", provider_id="")]}
    assert (findings_of(**launching).why.code, findings_of(**launching).why.outcome) == (WhyCode.WAITS, Outcome.DELETE)
    # A node's own blocker is still shown.
    assert findings_of(**launching, pods=[protected_pod()]).why.code is WhyCode.DND
    cluster: dict[str, Any] = {"nodes": [a_node(**BIG)], "nodepools": [a_nodepool(budgets=())]}
    claim = a_claim(instance_type="m5.2xlarge", conditions=RIPE)
    free = prepared(**cluster, nodeclaims=[claim])
    waiting = prepared(**cluster, nodeclaims=[claim, a_nodeclaim(name="launching", provider_id="")])
    before = analyse_all(AnalysisSteps(free, 1))
    after = analyse_all(AnalysisSteps(waiting, 2, before), ())
    again = analyse_all(AnalysisSteps(free, 3, after), ())
    codes = [analysis.findings["claim/claim-node-1"].why.code for analysis in (before, after, again)]
    assert codes == [WhyCode.OK, WhyCode.WAITS, WhyCode.OK]


def test_multi_node_consolidation_is_shown_on_all_its_nodes() -> None:
    # No node can be replaced more cheaply alone, but one cheaper node fits the pods of both.
    nodes = [a_node(name=name, **BIG) for name in ("node-1", "node-2")]
    pods = [a_pod(name=f"p-{node.name}", node=node.name, cpu="3") for node in nodes]
    claims = [a_claim(node.name, instance_type="m5.2xlarge", conditions=RIPE) for node in nodes]
    middle = an_instance_type(name="m5.xlarge", cpu="4", memory="16Gi", prices={"on-demand": 0.39})
    steps = AnalysisSteps(
        prepared(nodes=nodes, nodeclaims=claims, pods=pods, nodepools=[a_nodepool(budgets=())], types=(middle, LARGE)),
        1,
    )
    analyse_all(steps)
    steps.simulate_next_pass()
    report = steps.analysis.next
    rows = {item.node_name: (item.why.code, str(item.why.outcome)) for item in steps.analysis.findings.values()}
    going = {name for command in present(report).commands for name in command.node_names}
    assert going
    assert {name for name, (code, _) in rows.items() if code is WhyCode.OK} >= going


def test_numbers_and_times_of_why_codes() -> None:
    assert findings_of(**BLOCKED["DND"]).why.count == 2
    assert findings_of(**BLOCKED["AFTER"]).why.until_ns > NOW_NS
    assert (findings_of(**BLOCKED["BUDGET"]).why.count, findings_of(**BLOCKED["BUDGET"]).why.of) == (0, 0)
    assert findings_of(**BLOCKED["DRAIN"]).why.since_ns == NOW_NS - 12 * MINUTE_NS
    spot = findings_of(**BLOCKED["SPOT"]).why
    assert (spot.count, spot.of) == (4, 15)
    assert findings_of(**BLOCKED["OK"]).why.outcome is Outcome.DELETE
    assert findings_of(pods=[a_pod(node="node-1")]).why.outcome is Outcome.REPLACE


def test_node_with_unknown_provider_types() -> None:
    seen = [msgspec.structs.replace(instance_type, seen_on=1) for instance_type in TYPES]
    assert findings_of(types=seen, pods=[a_pod(node="node-1", cpu="5")]).why.code is WhyCode.UNKNOWN
    message = 'Instance Type "m5.2xlarge" not found'
    event = an_event(about="Node/node-1", reason="Unconsolidatable", message=message, last_ns=NOW_NS)
    given: dict[str, Any] = {"pods": [a_pod(node="node-1")], "events": [event]}
    of_others = msgspec.structs.replace(event, involved_name="node-of-another-nodepool")
    assert findings_of(types=seen, **{**given, "events": [of_others]}).why.code is not WhyCode.NO_TYPE
    assert findings_of(types=seen, **given).why.code is WhyCode.NO_TYPE
    assert findings_of(types=TYPES, **given).why.code is not WhyCode.NO_TYPE, "a known catalogue was ignored"


def test_drift_of_a_node_that_consolidation_may_not_remove() -> None:
    claim = a_claim(instance_type="m5.2xlarge", conditions=(drifted(),), termination_grace_period_ns=HOUR_NS)
    findings = findings_of(claim=claim, pods=[protected_pod()])
    # Karpenter does not reschedule a pinned pod, so no replacement is needed.
    assert (findings.why.code, findings.why.outcome) == (WhyCode.OK, Outcome.DELETE)
    # No other method wants the node, so the pod blocks nothing.
    assert findings.why.codes == (WhyCode.OK,)
    assert not findings.is_held


def test_first_gate_in_karpenters_order_is_shown() -> None:
    findings = findings_of(
        node=a_node(annotations=PROTECTED, **BIG),
        pool=a_nodepool(budgets=(DisruptionBudget("0"),)),
        pods=[protected_pod()],
    )
    assert findings.why.codes == (WhyCode.NODE_DND, WhyCode.DND, WhyCode.BUDGET)


def test_every_blocker_and_why_code_is_covered() -> None:
    assert set(CODES) == set(Code)
    reached = {*BLOCKED, "NO-LABEL", "NODES", "SCORE", "MINVALUES", "UNKNOWN", "COMMAND", "…"}
    assert reached == {str(code) for code in RANKS}


def test_the_last_interruption_warning_about_a_node_or_claim() -> None:
    events = [
        an_event(about="Node/node-1", reason="InstanceStopping", last_ns=NOW_NS - HOUR_NS),
        an_event(about="NodeClaim/claim-node-1", reason="SpotInterrupted", last_ns=NOW_NS - MINUTE_NS),
        an_event(about="Node/node-1", reason="SpotRebalanceRecommendation", last_ns=NOW_NS),
        an_event(about="Node/node-2", reason="InstanceTerminating", last_ns=NOW_NS),
    ]
    assert findings_of(events=events).warning == InstanceWarning("SpotInterrupted", NOW_NS - MINUTE_NS)
    assert findings_of(events=events[2:]).warning is None
    given: dict[str, Any] = {"nodes": [a_node(**BIG)], "nodeclaims": [a_claim(instance_type="m5.2xlarge")]}
    before = analyse_all(AnalysisSteps(prepared(**given), 1))
    event = an_event(about="Node/node-1", reason="SpotInterrupted", last_ns=NOW_NS)
    after = analyse_all(AnalysisSteps(prepared(**given, events=[event]), 2, before=before))
    assert next(iter(after.findings.values())).warning == InstanceWarning("SpotInterrupted", NOW_NS)
