"""Every code of the WHY column, from the cluster that brings it about."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.disruption.codes import CODES, RANKS, Code, WhyCode
from karptui.disruption.outlook import Outcome
from karptui.disruption.study import Study, study_all
from karptui.karpenter import labels
from karptui.karpenter.nodepool import BALANCED, WHEN_EMPTY, DisruptionBudget
from karptui.karpenter.settings import parse_settings
from tests.builders import (
    DAY_NS,
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    a_condition,
    a_node,
    a_nodepool,
    a_pdb,
    a_pod,
    a_requirement,
    an_event,
    an_instance_type,
)
from tests.disruption.making import LARGE, SMALL, a_buffer, a_claim, consolidatable, drifted, prepared

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}
BIG = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}
RIPE = (consolidatable(),)
SPOT_TYPES = tuple(
    an_instance_type(name=f"s{i}.large", cpu="2", memory="8Gi", prices={"spot": 0.01 * (i + 1)}) for i in range(4)
)
SPOT = an_instance_type(name="m5.2xlarge", cpu="8", memory="32Gi", prices={"spot": 0.4})


def found(name="node-1", *, node=None, claim=None, pool=None, **objects):
    """Return what is found about one node of a cluster of one, or about another by its name."""
    cluster = prepared(
        nodes=[node or a_node(**BIG), *objects.pop("more_nodes", ())],
        nodeclaims=[
            *([claim or a_claim(instance_type="m5.2xlarge", conditions=RIPE)] if claim != "none" else ()),
            *objects.pop("more_claims", ()),
        ],
        nodepools=[pool or a_nodepool(budgets=())],
        **objects,
    )
    analysis = study_all(Study(cluster, 1))
    return next(one for one in analysis.findings.values() if one.node_name == name)


def protected_pod(**fields):
    return a_pod(node="node-1", annotations=PROTECTED, **fields)


def spot_claim():
    return a_claim(instance_type="m5.2xlarge", capacity_type="spot", conditions=RIPE)


def spot_pool():
    return a_nodepool(budgets=(), requirements=(a_requirement(labels.CAPACITY_TYPE, "In", "spot"),))


SPOT_CLUSTER = {
    "node": a_node(capacity_type="spot", **BIG),
    "claim": spot_claim(),
    "pool": spot_pool(),
    "types": (*SPOT_TYPES, SPOT),
    "pods": [a_pod(node="node-1")],
}
BLOCKED = {
    "DND": {"pods": [protected_pod(name="a"), protected_pod(name="b")]},
    "NODE-DND": {"node": a_node(annotations=PROTECTED, **BIG)},
    "PDB": {"pods": [a_pod(node="node-1")], "pdbs": [a_pdb()]},
    "NOMINATED": {
        "events": [
            an_event(
                reason="Nominated",
                message="Pod should schedule on: nodeclaim/claim-node-1, node/node-1",
                about="Pod/default/web",
                last_ns=NOW_NS - 1,
            )
        ]
    },
    "INIT": {"node": a_node(is_initialized=False)},
    "NO-POOL": {"node": a_node(pool="x"), "claim": a_claim(pool="x")},
    "AFTER": {
        "claim": a_claim(instance_type="m5.2xlarge"),
        "pool": a_nodepool(budgets=(), consolidate_after_ns=DAY_NS),
    },
    "NEVER": {"pool": a_nodepool(budgets=(), consolidate_after_ns=None)},
    "POLICY": {"pool": a_nodepool(budgets=(), consolidation_policy=WHEN_EMPTY), "pods": [a_pod(node="node-1")]},
    "BUDGET": {"pool": a_nodepool(budgets=(DisruptionBudget("0"),))},
    "NO-TYPE": {"types": (SMALL,), "pods": [a_pod(node="node-1")]},
    "BUFFER": a_buffer(),
    "DELETING": {"claim": a_claim(deletion_ns=NOW_NS - MINUTE_NS)},
    "DRAIN": {
        "claim": a_claim(
            deletion_ns=NOW_NS - HOUR_NS,
            conditions=(a_condition("Drained", status="Unknown", since_ns=NOW_NS - 12 * MINUTE_NS),),
        ),
        "pods": [protected_pod()],
    },
    "NOFIT": {"pods": [a_pod(node="node-1", node_selector={labels.ARCH: "arm64"})]},
    "PRICE": {"pods": [a_pod(node="node-1", cpu="7")]},
    "GATE-OFF": SPOT_CLUSTER,
    "SPOT": {**SPOT_CLUSTER, "settings": parse_settings({"FEATURE_GATES": "SpotToSpotConsolidation=true"})},
    "STATIC": {"pool": a_nodepool(budgets=(), replicas=1)},
    "OK": {},
    "n/a": {"claim": "none", "node": a_node(pool="")},
}


@pytest.mark.parametrize(("code", "cluster"), BLOCKED.items(), ids=BLOCKED)
def test_code(code, cluster):
    assert found(**cluster).why.code == code


def test_numbers_of_codes():
    assert found(**BLOCKED["DND"]).why.count == 2
    assert found(**BLOCKED["AFTER"]).why.until_ns > NOW_NS
    assert (found(**BLOCKED["BUDGET"]).why.count, found(**BLOCKED["BUDGET"]).why.of) == (0, 0)
    assert found(**BLOCKED["DRAIN"]).why.since_ns == NOW_NS - 12 * MINUTE_NS
    spot = found(**BLOCKED["SPOT"]).why
    assert (spot.count, spot.of) == (4, 15)
    assert found(**BLOCKED["OK"]).why.outcome is Outcome.DELETE
    assert found(pods=[a_pod(node="node-1")]).why.outcome is Outcome.REPLACE


def test_labels_that_are_missing():
    node = a_node(**BIG)
    bare = {key: value for key, value in node.labels.items() if key != labels.ZONE}
    assert found(node=replace(node, labels=bare), pods=[a_pod(node="node-1")]).why.code is WhyCode.NO_LABEL


def test_pods_that_need_two_new_nodes():
    pods = [a_pod(name=f"p{i}", node="node-1", cpu="1500m") for i in range(3)]
    why = found(pods=pods, types=(SMALL, LARGE), pool=a_nodepool(budgets=(), requirements=_small_only())).why
    assert (why.code, why.count) == (WhyCode.NODES, 3)


def _small_only():
    return (a_requirement(labels.INSTANCE_TYPE, "In", "m5.large"),)


def test_a_score_that_is_too_low():
    pool = a_nodepool(budgets=(), consolidation_policy=BALANCED)
    pods = [a_pod(name=f"a{i}", node="node-1", cpu="150m") for i in range(10)]
    why = found(
        pool=pool,
        pods=[*pods, a_pod(name="b", node="node-2", cpu="7")],
        more_nodes=[a_node(name="node-2", **BIG)],
        more_claims=[a_claim("node-2", instance_type="m5.2xlarge", conditions=RIPE)],
    ).why
    assert why.code is WhyCode.SCORE
    assert 0 < why.score < 0.5


def test_too_few_types_for_min_values():
    requirement = a_requirement(labels.INSTANCE_TYPE, "In", "m5.large", "m5.2xlarge", min_values=2)
    pool = a_nodepool(budgets=(), requirements=(requirement,))
    assert found(pool=pool, pods=[a_pod(node="node-1")]).why.code is WhyCode.MIN_VALUES


def test_a_running_command():
    claim = a_claim(
        instance_type="m5.2xlarge", conditions=(*RIPE, a_condition("DisruptionReason", reason="Underutilized"))
    )
    assert found(node=a_node(taints=(labels.DISRUPTED_TAINT,), **BIG), claim=claim).why.code is WhyCode.COMMAND


def test_before_anything_is_simulated():
    study = Study(prepared(nodes=[a_node(**BIG)], nodeclaims=[a_claim(conditions=RIPE)]), 1)
    analysis = study_all(study, ())
    assert next(iter(analysis.findings.values())).why.code is WhyCode.PENDING
    assert not analysis.is_complete


def test_drift_takes_what_consolidation_may_not():
    claim = a_claim(instance_type="m5.2xlarge", conditions=(drifted(),), termination_grace_period_ns=HOUR_NS)
    one = found(claim=claim, pods=[protected_pod()])
    # Karpenter seeks no place for a pod that is pinned, so nothing needs a replacement.
    assert (one.why.code, one.why.outcome) == (WhyCode.OK, Outcome.DELETE)
    assert WhyCode.DND in one.why.codes


def test_the_worst_code_comes_first():
    one = found(
        node=a_node(annotations=PROTECTED, **BIG),
        pool=a_nodepool(budgets=(DisruptionBudget("0"),)),
        pods=[protected_pod()],
    )
    assert one.why.codes == (WhyCode.DND, WhyCode.NODE_DND, WhyCode.BUDGET)


def test_every_blocker_and_every_code_has_its_place():
    assert set(CODES) == set(Code)
    reached = {*BLOCKED, "NO-LABEL", "NODES", "SCORE", "MINVALUES", "COMMAND", "…"}
    assert reached == {str(code) for code in RANKS}
