"""Clusters for the rules about nodes and NodeClaims."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from karptui.advice.finding import Severity
from karptui.karpenter import labels
from karptui.karpenter.inventory import Inventory
from karptui.kube.pod import Pod
from karptui.kube.taints import Taint
from tests.advice.asking import Case, quiet
from tests.builders import (
    DAY_NS,
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pod,
    amounts,
    an_event,
    an_inventory,
)

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
DND = labels.DO_NOT_DISRUPT


def one_node(
    *,
    node: dict[str, Any] | None = None,
    claim: dict[str, Any] | None = None,
    pods: tuple[Pod, ...] = (),
    **others: Any,
) -> Inventory:
    """Return a cluster of one managed node."""
    return Inventory(nodepools=(a_nodepool(),), nodes=(a_node(**(node or {})),),
                     nodeclaims=(a_nodeclaim(**(claim or {})),), pods=tuple(pods), **others)  # fmt: skip


def where_nodes_are_slow() -> Inventory:
    """Return a node that is not initialized after an hour; the others took twenty minutes."""
    made_ns = NOW_NS - DAY_NS
    conditions = (a_condition("Initialized", since_ns=made_ns + 20 * MINUTE_NS),)
    slow = (a_nodeclaim(name=f"slow-{n}", node="", created_ns=made_ns, conditions=conditions) for n in range(3))
    inventory = one_node(node={"is_initialized": False}, claim={"stage": "Registered"})
    return replace(inventory, nodeclaims=(*inventory.nodeclaims, *slow))


def held(*, arrived_ns: int = 10 * MINUTE_NS, is_cordoned: bool = False, value: str = "true") -> Inventory:
    runner = a_pod(name="runner", node="node-1", annotations={DND: value}, created_ns=NOW_NS - 5 * HOUR_NS)
    return one_node(
        node={"is_unschedulable": is_cordoned},
        pods=(
            replace(runner, start_ns=runner.created_ns),
            a_pod(name="new", node="node-1", created_ns=NOW_NS - arrived_ns),
        ),
    )


def leaving(*, node_selector: dict[str, str]) -> Inventory:
    return one_node(
        claim={"deletion_ns": NOW_NS - MINUTE_NS},
        pods=(a_pod(name="stuck", node="node-1", node_selector=node_selector),),
    )


def draining(
    *, since_ns: int = HOUR_NS, grace_ns: int | None = None, pods: tuple[Pod, ...] = (), **claim: Any
) -> Inventory:
    return one_node(claim={"deletion_ns": NOW_NS - since_ns, "termination_grace_period_ns": grace_ns,
                           "created_ns": NOW_NS - DAY_NS, **claim},
                    pods=pods)  # fmt: skip


def reported(
    reason: str = "ConsolidationCandidate",
    *,
    count: int = 12,
    first_ns: int = 2 * HOUR_NS,
    node: dict[str, tuple[Taint, ...]] | None = None,
    **claim: Any,
) -> Inventory:
    event = an_event(about="Node/node-1", reason=reason, count=count, last_ns=NOW_NS)
    return one_node(events=(replace(event, first_ns=NOW_NS - first_ns),), node=node, claim=claim)


EVICTED = an_event(about="Pod/default/web-0", reason="Evicted")
SLOW = Taint("slow", "NoSchedule")


def failing(*, times: int, age_ns: int = MINUTE_NS, message: str = "no m5.large in us-east-1a") -> Inventory:
    event = an_event(about="NodeClaim/general-x1y2z", reason="InsufficientCapacityError", message=message, count=times,
                     last_ns=NOW_NS - age_ns)  # fmt: skip
    return one_node(events=(event,))


NO_CAPACITY = a_condition("Launched", status="False", message="no capacity")
CASES = [
    Case("node-dead-protection", lambda: one_node(node={"annotations": {DND: "2h"}}),
         ('1 node (node-1) has do-not-disrupt "2h"', "protects nothing")),
    Case("node-dead-protection", lambda: one_node(claim={"annotations": {DND: "true"}}),
         ("1 NodeClaim (general-abcde) has do-not-disrupt and the node does not",), name="claim"),
    *quiet("node-dead-protection",
           lambda: one_node(node={"annotations": {DND: "true"}}, claim={"annotations": {DND: "true"}}),
           lambda: one_node(node={"annotations": {DND: "false"}}),
           lambda: Inventory(nodes=(a_node(pool="", annotations={DND: "2h"}),)), one_node),
    Case("node-receives-pods", held,
         ("1 node of general ($0.10/h) is blocked by do-not-disrupt and still received 1 new pod", "(node-1)"),
         per_hour=0.096, name="story E"),
    *quiet("node-receives-pods", lambda: held(arrived_ns=3 * HOUR_NS), lambda: held(is_cordoned=True),
           lambda: held(value="1h"), lambda: held(value="300h")),
    Case("node-deleting-blocks-all", lambda: leaving(node_selector={"disk": "fast"}),
         ("default/stuck of node-1, which is being removed, fits nowhere else: no node of NodePool general",),
         ERROR),
    Case("node-deleting-blocks-all", lambda: replace(leaving(node_selector={"disk": "fast"}),
                                                     nodepools=(a_nodepool(taints=(SLOW,)), a_nodepool(name="big"))),
         ("it does not tolerate slow:NoSchedule of NodePool general (1 other NodePool cannot take it either)",),
         ERROR, name="its own NodePool first"),
    *quiet("node-deleting-blocks-all", lambda: leaving(node_selector={}), one_node),
    Case("node-unmanaged",
         lambda: Inventory(nodepools=(a_nodepool(),), nodes=(a_node(), a_node(name="other", pool="")),
                           nodeclaims=(a_nodeclaim(), a_nodeclaim(name="starts", node="", stage="Launched")),
                           pods=(a_pod(node="other"),)),
         ("1 of 2 nodes is not Karpenter's (other)", "1 workload pod runs on it."), INFO),
    Case("node-unmanaged", lambda: Inventory(nodepools=(a_nodepool(),), nodes=(a_node(),)),
         ("1 node (node-1) carries the label of a NodePool and has no NodeClaim",), name="orphan"),
    *quiet("node-unmanaged", one_node),
    Case("node-smaller-than-claim",
         lambda: one_node(claim={"allocatable": amounts({"cpu": "2", "memory": "8Gi", "pods": "29"})}),
         ("1 node of general (m5.large) offers less cpu than its NodeClaim, node-1 1930m instead of 2000m",
          "less memory than its NodeClaim, node-1 7,168Mi instead of 8,192Mi"),
         count=2),
    Case("node-smaller-than-claim",
         lambda: one_node(claim={"allocatable": amounts({"cpu": "1930m", "memory": "8Gi", "pods": "29"})},
                          pods=(a_pod(memory="7500Mi"),)),
         ("1 node of general (m5.large) offers less memory than its NodeClaim",), ERROR, name="missed"),
    Case("node-smaller-than-claim",
         lambda: one_node(claim={"allocatable": amounts({"cpu": "1930m", "memory": "7190Mi", "pods": "58"})},
                          pods=(a_pod(), *(a_pod(name=f"cell-{number}", node="node-1") for number in range(29)))),
         ("1 node of general (m5.large) offers fewer pods than its NodeClaim, node-1 29 instead of 58",), ERROR,
         name="full"),
    *quiet("node-smaller-than-claim",
           lambda: one_node(claim={"allocatable": amounts({"cpu": "1930m", "memory": "7190Mi", "pods": "29"})}),
           one_node),
    Case("node-drain-without-end", lambda: draining(pods=(a_pod(node="node-1"),)),
         ("1 node (node-1) ($0.10/h) has been terminating for up to 1h", "It waits for default/web-1."),
         per_hour=0.096),
    Case("node-drain-without-end", draining, ("No pod blocks it",), name="no pods"),
    Case("node-drain-without-end",
         lambda: draining(pods=(a_pod(node="node-1"), a_pod(name="late", node="node-1", deletion_ns=NOW_NS + HOUR_NS))),
         ("It waits for default/web-1, default/late",), name="one of two ends"),
    *quiet("node-drain-without-end", lambda: draining(grace_ns=DAY_NS), lambda: draining(since_ns=MINUTE_NS), one_node,
           lambda: draining(pods=(a_pod(node="node-1", deletion_ns=NOW_NS + HOUR_NS),)),
           lambda: draining(conditions=(a_condition("InstanceTerminating"),)),
           lambda: replace(draining(pods=(a_pod(node="node-1"),)), events=(EVICTED,))),
    Case("node-candidate-only", reported,
         ("1 node (node-1) has been called a consolidation candidate 12 times for up to 2h",), INFO),
    *quiet("node-candidate-only", lambda: reported(count=1), lambda: reported(first_ns=MINUTE_NS),
           lambda: reported("Unconsolidatable"), lambda: reported(deletion_ns=NOW_NS - MINUTE_NS),
           lambda: reported(node={"taints": (labels.DISRUPTED_TAINT,)},
                            conditions=(*a_nodeclaim().conditions,
                                        a_condition("DisruptionReason", reason="Underutilized")))),
    Case("claim-unsynced",
         lambda: Inventory(nodepools=(a_nodepool(),),
                           nodeclaims=(a_nodeclaim(stage="", conditions=(NO_CAPACITY,),
                                                   created_ns=NOW_NS - 3 * MINUTE_NS),)),
         ("1 NodeClaim (general-abcde) has had no instance for up to 3m (no capacity)", "disrupts no node of"), ERROR),
    *quiet("claim-unsynced",
           lambda: Inventory(nodepools=(a_nodepool(),),
                             nodeclaims=(a_nodeclaim(stage="", conditions=(), created_ns=NOW_NS - MINUTE_NS),)),
           an_inventory),
    Case("node-never-initialized",
         lambda: one_node(node={"is_initialized": False, "taints": (SLOW,)},
                          claim={"stage": "Registered", "startup_taints": (SLOW,)}),
         (("1 node (node-1) ($0.10/h) registered and is not initialized after up to 1h (startup taint "
           "slow:NoSchedule)"),),
         ERROR, per_hour=0.096),
    Case("node-never-initialized",
         lambda: one_node(node={"is_initialized": False},
                          claim={"conditions": (a_condition("Registered"),
                                                a_condition("Initialized", status="Unknown",
                                                            message="gpu is missing"))}),
         ("(gpu is missing)",), ERROR, name="message"),
    *quiet("node-never-initialized", one_node,
           lambda: one_node(node={"is_initialized": False},
                            claim={"stage": "Registered", "created_ns": NOW_NS - MINUTE_NS}),
           lambda: one_node(node={"is_initialized": False},
                            claim={"conditions": (a_condition("Registered", since_ns=NOW_NS - MINUTE_NS),)}),
           where_nodes_are_slow),
    Case("node-never-initialized", lambda: one_node(node={"is_initialized": False}, claim={"stage": "Registered"}),
         ("after up to 1h: such",), ERROR, name="nothing known"),
    Case("node-protected",
         lambda: one_node(node={"annotations": {DND: "true"}},
                          claim={"conditions": (*a_nodeclaim().conditions, a_condition("Drifted"))}),
         ("1 node (node-1) ($0.10/h) has do-not-disrupt", "it has drifted and stays despite"), per_hour=0.096),
    Case("node-protected", lambda: one_node(node={"annotations": {DND: "true"}}),
         ("neither drift nor consolidation ever removes it.",), INFO, name="not drifted"),
    *quiet("node-protected", one_node, lambda: one_node(node={"annotations": {DND: "2h"}}),
           lambda: replace(one_node(node={"annotations": {DND: "true"}}),
                           nodepools=(a_nodepool(template_annotations={DND: "true"}),))),
    Case("claim-no-capacity", lambda: failing(times=4),
         ("Launches of general failed 4 times for lack of capacity", "last 1m ago: no m5.large in us-east-1a")),
    Case("claim-no-capacity", lambda: failing(times=3, message="x" * 300), ("x…",), name="long message"),
    *quiet("claim-no-capacity", lambda: failing(times=2), lambda: failing(times=9, age_ns=2 * HOUR_NS), one_node),
]  # fmt: skip
