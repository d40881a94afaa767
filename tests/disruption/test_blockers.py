from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

import pytest

from karptui.disruption.blockers import BlockerSurvey
from karptui.disruption.codes import Code, Scope
from karptui.disruption.command import Method
from karptui.disruption.fleet import Fleet, arrivals
from karptui.karpenter import labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import WHEN_EMPTY, DisruptionBudget, NodePool
from karptui.kube.objects import Node
from karptui.kube.quantity import parse_quantity
from karptui.kube.taints import NO_SCHEDULE, Taint
from tests.builders import (
    DAY_NS,
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    SECOND_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pdb,
    a_pod,
    an_event,
)
from tests.disruption.making import a_claim, a_fleet, blockers_of, consolidatable, drifted, node_of

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}
GRACEFUL = frozenset({Method.EMPTINESS, Method.MULTI_NODE, Method.SINGLE_NODE})
ALL = GRACEFUL | {Method.DRIFT}
READY = (consolidatable(),)


def _fleet(
    *, node: Node | None = None, claim: NodeClaim | None = None, pool: NodePool | None = None, **objects: Any
) -> Fleet:
    return a_fleet(nodes=[node or a_node()], nodeclaims=[claim or a_claim(conditions=READY)],
                   nodepools=[pool or a_nodepool(budgets=())], **objects)  # fmt: skip


def test_all_blocking_pods_are_blockers() -> None:
    pods = [
        a_pod(name="a", node="node-1", annotations=PROTECTED),
        a_pod(name="b", node="node-1", annotations=PROTECTED),
        a_pod(name="c", node="node-1"),
        a_pod(name="d", node="node-1", labels={"app": "free"}),
        a_pod(name="e", node="node-1", phase="Succeeded", annotations=PROTECTED),
    ]
    fleet = _fleet(pods=pods, pdbs=[a_pdb()])
    blockers = BlockerSurvey(fleet).of(node_of(fleet))
    assert [(str(blocker.code), blocker.object_ref, blocker.is_reported) for blocker in blockers] == [
        ("POD_DND", "Pod/default/a", True),
        ("POD_DND", "Pod/default/b", False),
        ("PDB_EXHAUSTED", "Pod/default/c", False),
    ]


def test_budget_is_reported_without_protected_pods() -> None:
    pods = [a_pod(name="a", node="node-1"), a_pod(name="b", node="node-1", labels={"app": "api"})]
    fleet = _fleet(
        pods=pods, pdbs=[a_pdb(name="x", labels={"app": "api"}), a_pdb(name="y", labels={"app": "api"}), a_pdb()]
    )
    blockers = BlockerSurvey(fleet).of(node_of(fleet))
    assert [(blocker.code, blocker.is_reported) for blocker in blockers] == [
        (Code.PDB_EXHAUSTED, True),
        (Code.PDB_MULTIPLE, False),
    ]
    assert blockers[1].value == "default/x default/y"


@pytest.mark.parametrize(("grace_ns", "blocks"), [(None, ALL), (0, GRACEFUL)])
def test_pods_do_not_block_drift_with_a_grace_period(grace_ns: int | None, blocks: AbstractSet[Method]) -> None:
    claim = a_claim(conditions=READY, termination_grace_period_ns=grace_ns)
    blocker = blockers_of(_fleet(claim=claim, pods=[a_pod(node="node-1", annotations=PROTECTED)]))["POD_DND"]
    assert blocker.blocks == blocks


def test_a_blocker_starts_when_a_method_wants_the_node() -> None:
    pods = [a_pod(node="node-1", annotations={labels.DO_NOT_DISRUPT: "2h"}, created_ns=NOW_NS - HOUR_NS)]
    idle = blockers_of(_fleet(claim=a_claim(), pods=pods))["POD_DND"]
    assert (idle.is_wanted, idle.since_ns, idle.until_ns) == (False, NOW_NS - HOUR_NS, NOW_NS + HOUR_NS + SECOND_NS)
    wanted = blockers_of(_fleet(claim=a_claim(conditions=(drifted(since_ns=NOW_NS - MINUTE_NS),)), pods=pods))[
        "POD_DND"
    ]
    assert (wanted.is_wanted, wanted.since_ns) == (True, NOW_NS - MINUTE_NS)
    early = blockers_of(_fleet(claim=a_claim(conditions=(drifted(since_ns=NOW_NS - DAY_NS),)), pods=pods))["POD_DND"]
    assert early.since_ns == NOW_NS - HOUR_NS


def test_since_when_a_budget_is_exhausted_or_two_select_a_pod() -> None:
    spent = a_pdb(conditions=(a_condition("DisruptionAllowed", status="False", since_ns=NOW_NS - MINUTE_NS),))
    assert (
        blockers_of(_fleet(pods=[a_pod(node="node-1")], pdbs=[spent]))["PDB_EXHAUSTED"].since_ns == NOW_NS - MINUTE_NS
    )
    twice = [a_pdb(name="a", created_ns=NOW_NS - MINUTE_NS), a_pdb(name="b", created_ns=NOW_NS - DAY_NS)]
    assert blockers_of(_fleet(pods=[a_pod(node="node-1")], pdbs=twice))["PDB_MULTIPLE"].since_ns == NOW_NS - MINUTE_NS


TAINTED = a_node(taints=(Taint("karpenter.sh/disrupted", NO_SCHEDULE),))


@pytest.mark.parametrize(("fleet", "code", "since_ns", "until_ns", "value"), [
    (_fleet(node=TAINTED,
            claim=a_claim(conditions=(a_condition("DisruptionReason", reason="Drifted", since_ns=NOW_NS - 1),))),
     "IN_COMMAND", NOW_NS - 1, None, "Drifted"),
    (_fleet(node=a_node(is_initialized=False), claim=a_claim(stage="Registered", created_ns=NOW_NS - MINUTE_NS)),
     "NOT_INITIALIZED", NOW_NS - MINUTE_NS, None, ""),
    (_fleet(node=a_node(is_initialized=False), claim=a_nodeclaim(name="claim-node-1", conditions=())),
     "NOT_INITIALIZED", NOW_NS - HOUR_NS, None, ""),
    (_fleet(node=a_node(annotations=PROTECTED)), "NODE_DND", None, None, "true"),
    (_fleet(events=[an_event(reason="Nominated", message="schedule on: node/node-1", last_ns=NOW_NS)]), "NOMINATED",
     None, NOW_NS + 20 * SECOND_NS, ""),
    (_fleet(node=a_node(pool="old"), claim=a_claim(pool="old")), "NODEPOOL_UNRESOLVED", None, None, "old"),
    (_fleet(claim=a_claim(deletion_ns=NOW_NS - MINUTE_NS, termination_grace_period_ns=HOUR_NS)), "DELETING",
     NOW_NS - MINUTE_NS, NOW_NS + 59 * MINUTE_NS, ""),
])  # fmt: skip
def test_gates_as_blockers(fleet: Fleet, code: str, since_ns: int | None, until_ns: int | None, value: str) -> None:
    blocker = blockers_of(fleet)[code]
    assert (blocker.since_ns, blocker.until_ns, blocker.value) == (since_ns, until_ns, value)
    assert blocker.is_reported is (code != "IN_COMMAND")
    assert blocker.message


def test_consolidate_after_blocks_until_pods_are_quiet() -> None:
    pool = a_nodepool(budgets=(), consolidate_after_ns=HOUR_NS)
    claim = a_claim(last_pod_event_ns=NOW_NS - MINUTE_NS)
    blocker = blockers_of(_fleet(pool=pool, claim=claim))["CONSOLIDATE_AFTER"]
    assert (blocker.since_ns, blocker.until_ns) == (NOW_NS - MINUTE_NS, NOW_NS + 59 * MINUTE_NS)
    assert blocker.blocks == GRACEFUL
    begun = blockers_of(_fleet(pool=a_nodepool(budgets=(), consolidate_after_ns=2 * HOUR_NS), claim=a_claim()))
    assert begun["CONSOLIDATE_AFTER"].until_ns == NOW_NS + HOUR_NS
    assert "initialized" in begun["CONSOLIDATE_AFTER"].message
    over = blockers_of(_fleet(pool=pool, claim=a_claim(last_pod_event_ns=NOW_NS - 2 * HOUR_NS)))
    assert over["NOT_CONSOLIDATABLE"].since_ns == NOW_NS - HOUR_NS


def test_nodepool_blockers() -> None:
    pods = [a_pod(node="node-1")]
    never = blockers_of(_fleet(pool=a_nodepool(budgets=(), consolidate_after_ns=None), pods=pods))
    assert (never["CONSOLIDATION_DISABLED"].blocks, never["CONSOLIDATION_DISABLED"].is_reported) == (GRACEFUL, True)
    policy = a_nodepool(budgets=(), consolidation_policy=WHEN_EMPTY)
    assert "WHEN_EMPTY_POLICY" in blockers_of(_fleet(pool=policy, pods=pods))
    assert blockers_of(_fleet(pool=policy)) == {}


def _crowd(*budgets: DisruptionBudget, static: int | None = None, **second: Any) -> Fleet:
    pool = a_nodepool(budgets=budgets, replicas=static)
    return a_fleet(
        nodes=[a_node(), a_node(name="node-2", is_ready=second.pop("is_ready", True))],
        nodeclaims=[a_claim(conditions=READY), a_claim("node-2", **second)],
        nodepools=[pool],
    )


def test_budgets_that_allow_no_disruption() -> None:
    window = DisruptionBudget("0", "0 9 * * *", "8h")
    blocker = blockers_of(_crowd(window))["BUDGET_ZERO"]
    assert blocker.blocks == ALL
    assert (blocker.since_ns, blocker.until_ns) == (NOW_NS - HOUR_NS, NOW_NS + 5 * HOUR_NS)
    assert blocker.value == "nodes 0, schedule 0 9 * * * for 8h"
    empty = blockers_of(_crowd(DisruptionBudget("0", reasons=("Empty",))))["BUDGET_ZERO"]
    assert (empty.blocks, empty.value) == ({Method.EMPTINESS}, "nodes 0, reasons Empty")
    broken = blockers_of(_crowd(DisruptionBudget("1", "nonsense", "1h")))["BUDGET_ZERO"]
    assert "cannot be parsed" in broken.message
    assert (broken.value, broken.since_ns, broken.until_ns) == ("", None, None)


def test_exhausted_budgets() -> None:
    budget = DisruptionBudget("1")
    deleting = blockers_of(_crowd(budget, deletion_ns=NOW_NS - MINUTE_NS, termination_grace_period_ns=HOUR_NS))
    assert deleting["BUDGET_ZERO"].until_ns == NOW_NS + 59 * MINUTE_NS
    assert deleting["BUDGET_ZERO"].since_ns == NOW_NS - MINUTE_NS
    late = blockers_of(_crowd(budget, deletion_ns=NOW_NS - 2 * HOUR_NS, termination_grace_period_ns=HOUR_NS))
    assert late["BUDGET_ZERO"].until_ns is None
    unready = blockers_of(_crowd(budget, is_ready=False))["BUDGET_ZERO"]
    assert (unready.since_ns, unready.until_ns) == (NOW_NS - HOUR_NS, None)
    assert "0 deleting, 1 NotReady" in unready.message
    since = [
        blockers_of(
            a_fleet(
                nodes=[a_node(), a_node(name="node-2", is_ready=False), a_node(name="node-3")],
                nodeclaims=[a_claim(), a_claim("node-2"), a_claim("node-3", deletion_ns=NOW_NS - MINUTE_NS)],
                nodepools=[a_nodepool(budgets=(DisruptionBudget(nodes),))],
            )
        )["BUDGET_ZERO"].since_ns
        for nodes in "12"
    ]
    assert since == [NOW_NS - HOUR_NS, NOW_NS - MINUTE_NS]


def test_only_drift_is_blocked_in_static_nodepools() -> None:
    scaling = blockers_of(_crowd(DisruptionBudget("0"), static=1))
    assert {code: blocker.blocks for code, blocker in scaling.items()} == {
        "BUDGET_ZERO": {Method.STATIC_DRIFT},
        "STATIC_SCALING": {Method.STATIC_DRIFT},
    }
    pool = a_nodepool(budgets=(), replicas=1, limits={"nodes": parse_quantity("1")})
    assert "STATIC_NO_HEADROOM" in blockers_of(_fleet(pool=pool))


def test_cluster_blockers() -> None:
    fleet = a_fleet(nodeclaims=[a_nodeclaim(name="new", stage="")], nodepools=[a_nodepool(is_ready=False)])
    blockers = BlockerSurvey(fleet).cluster
    assert [(blocker.code, blocker.scope) for blocker in blockers] == [
        (Code.UNSYNCED, Scope.CLUSTER),
        (Code.NO_NODEPOOLS, Scope.CLUSTER),
    ]
    assert BlockerSurvey(a_fleet()).cluster == ()


def test_a_blocker_quotes_karpenters_event_with_the_same_message() -> None:
    pods = [a_pod(name="a", node="node-1", annotations=PROTECTED)]
    message = 'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/a)'
    events = [
        an_event(about="Node/node-1", reason="DisruptionBlocked", message=message, last_ns=NOW_NS - 2),
        an_event(about="NodeClaim/claim-node-1", reason="DisruptionBlocked", message=message, last_ns=NOW_NS - 1),
        an_event(about="Node/node-1", reason="Other", message=message, last_ns=NOW_NS),
    ]
    assert blockers_of(_fleet(pods=pods, events=events))["POD_DND"].quoted_ns == NOW_NS - 1
    assert blockers_of(_fleet(pods=pods))["POD_DND"].quoted_ns is None
    other = an_event(about="Node/node-1", reason="DisruptionBlocked", message="else")
    assert blockers_of(_fleet(pods=pods, events=[other]))["POD_DND"].quoted_ns is None


def test_recently_arrived_pods() -> None:
    pods = [
        a_pod(name="old", node="node-1", created_ns=NOW_NS - HOUR_NS),
        a_pod(name="new", node="node-1", created_ns=NOW_NS - MINUTE_NS),
        a_pod(name="newest", node="node-1", created_ns=NOW_NS - SECOND_NS),
        a_pod(name="agent", node="node-1", created_ns=NOW_NS - MINUTE_NS, daemonset="agent"),
    ]
    fleet = _fleet(pods=pods)
    assert [pod.name for pod in arrivals(fleet, node_of(fleet))] == ["newest", "new"]
