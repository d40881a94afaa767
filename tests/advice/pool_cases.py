"""Clusters for the rules about NodePools and their budgets."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from karptui.advice.finding import Severity
from karptui.karpenter import labels
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import BALANCED, WHEN_EMPTY, DisruptionBudget, NodePool
from karptui.kube.objects import Node
from karptui.kube.taints import Taint, Toleration
from tests.advice.asking import XLARGE, Case, quiet, reserved_type
from tests.builders import (
    DAY_NS,
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    a_condition,
    a_daemonset,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pod,
    a_requirement,
    amounts,
    an_instance_type,
    an_inventory,
)

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
ON_DEMAND = a_requirement(labels.CAPACITY_TYPE, "In", "on-demand")
NOT_READY = a_condition("Ready", status="False")
NO_SUBNETS = a_condition("NodeClassReady", status="False", message="no subnets")
FAMILY = f"{labels.AWS_GROUP}/instance-family"


def pools(*pool: NodePool, **others: Any) -> Inventory:
    """Return a cluster with these NodePools and pending pods."""
    return Inventory(nodepools=pool, pods=(a_pod(name="a"), a_pod(name="b")), **others)


def with_nodes(inventory: Inventory, *nodes: Node) -> Inventory:
    """Return the cluster with its nodes replaced by these."""
    return replace(inventory, nodes=nodes)


def three_nodes(**pool: Any) -> Inventory:
    return an_inventory(nodepools=(a_nodepool(**pool),))


def two_pools_that_never_consolidate() -> Inventory:
    """Return a cluster whose nodes belong to two NodePools, neither of which consolidates."""
    never = (a_nodepool(consolidate_after_ns=None), a_nodepool(name="spot", consolidate_after_ns=None))
    inventory = an_inventory(nodepools=never)
    node, claim = inventory.nodes[0], inventory.nodeclaims[0]
    other = {labels.NODEPOOL: "spot"}
    return replace(
        inventory,
        nodes=(replace(node, labels={**node.labels, **other}), *inventory.nodes[1:]),
        nodeclaims=(replace(claim, labels={**claim.labels, **other}), *inventory.nodeclaims[1:]),
    )


def with_one_leaving(inventory: Inventory) -> Inventory:
    """Return a cluster whose first NodeClaim is being deleted."""
    first, *others = inventory.nodeclaims
    return replace(inventory, nodeclaims=(replace(first, deletion_ns=NOW_NS), *others))


def gpu_nodes(*, asks: bool = False, **pool: Any) -> Inventory:
    """Return a cluster with three GPU nodes, and two NodePools that are tried after theirs; the last takes the pods."""
    inventory = three_nodes(weight=9, **pool)
    room = amounts({"cpu": "4", "memory": "16Gi", "pods": "58", "nvidia.com/gpu": "1"})
    between, after = a_nodepool(name="team", weight=5, taints=(DEDICATED,)), a_nodepool(name="rest", weight=1)
    nodes = tuple(replace(node, allocatable=room) for node in inventory.nodes)
    wants = amounts({"cpu": "1", "nvidia.com/gpu": "1"})
    pods = tuple(replace(pod, template=replace(pod.template, requests=wants)) for pod in inventory.pods)
    return replace(
        inventory, nodepools=(*inventory.nodepools, between, after), nodes=nodes, pods=pods if asks else inventory.pods
    )


def spot_nodes(count: int = 2, **pool: Any) -> Inventory:
    names = [f"node-{number}" for number in range(count)]
    wants = {"requirements": (a_requirement(labels.CAPACITY_TYPE, "In", "spot"),), **pool}
    return Inventory(
        nodepools=(a_nodepool(**wants),),
        nodes=tuple(a_node(name=name, capacity_type="spot") for name in names),
        nodeclaims=tuple(a_nodeclaim(name=f"claim-{name}", node=name, capacity_type="spot") for name in names),
    )


def spot_nodes_launched_and_removed() -> Inventory:
    """Return two nodes, one that is being deleted, and a NodeClaim without a node."""
    there = spot_nodes(4)
    *kept, going, starting = there.nodeclaims
    nodeclaims = (*kept, replace(going, deletion_ns=NOW_NS), replace(starting, node_name=""))
    return replace(there, nodes=there.nodes[:3], nodeclaims=nodeclaims)


SPOT = {"on-demand": 0.1, "spot": 0.04}
SPOT_TYPES = (an_instance_type(prices=SPOT), an_instance_type(name="m5.xlarge", cpu="4", prices=SPOT))
MANY_SPOT = (an_instance_type(prices=SPOT), *(an_instance_type(name=f"c{i}.large", prices=SPOT) for i in range(15)))

DEDICATED = Taint("dedicated", "NoSchedule", "ci")
FALLBACK = Taint("fallback", "NoSchedule")


def split(
    *,
    second_taints: tuple[Taint, ...],
    tolerations: tuple[Toleration, ...],
    first_taints: tuple[Taint, ...] = (DEDICATED,),
) -> Inventory:
    """Return a preferred NodePool, a fallback, and pods for them."""
    return Inventory(
        nodepools=(
            a_nodepool(name="flex", weight=100, taints=first_taints, template_labels={"team": "ci"}),
            a_nodepool(name="rest", weight=1, taints=second_taints, template_labels={"team": "ci"}),
        ),
        pods=(a_pod(name="a", tolerations=tolerations), a_pod(name="b", tolerations=tolerations)),
    )


def churning(*, quiet_ns: int, after_ns: int, nodes: int = 3, is_emptied: bool = False) -> Inventory:
    """Return nodes whose last pod event was ``quiet_ns`` ago: a pod's start, or the end of the only pod."""
    names = [f"node-{number}" for number in range(nodes)]
    return Inventory(
        nodepools=(a_nodepool(consolidate_after_ns=after_ns),),
        nodeclaims=tuple(
            a_nodeclaim(name=f"c-{name}", node=name, created_ns=NOW_NS - DAY_NS, last_pod_event_ns=NOW_NS - quiet_ns)
            for name in names
        ),
        nodes=tuple(a_node(name=name) for name in names),
        pods=() if is_emptied else tuple(a_pod(name=f"p-{name}", node=name) for name in names),
    )


def expiring(*ages_ns: int, grace_ns: int | None = None, protects: tuple[str, ...] = ()) -> Inventory:
    """Return nodes of these ages that expire after a day; ``protects`` puts do-not-disrupt on pods or nodes."""
    names, mark = [f"node-{number}" for number in range(len(ages_ns))], {labels.DO_NOT_DISRUPT: "true"}
    return Inventory(
        nodepools=(a_nodepool(),),
        nodes=tuple(a_node(name=name, annotations=mark if "nodes" in protects else {}) for name in names),
        pods=tuple(a_pod(name=name, node=name, annotations=mark) for name in names if "pods" in protects),
        nodeclaims=tuple(
            a_nodeclaim(
                name=f"c-{name}",
                node=name,
                created_ns=NOW_NS - age_ns,
                expire_after_ns=DAY_NS,
                termination_grace_period_ns=grace_ns,
            )
            for name, age_ns in zip(names, ages_ns, strict=True)
        ),
    )


def protected(
    value: str = "true", *, grace_ns: int | None = None, pool_grace_ns: int | None = None, **claim: Any
) -> Inventory:
    return Inventory(
        nodepools=(a_nodepool(termination_grace_period_ns=pool_grace_ns),),
        nodes=(a_node(),),
        nodeclaims=(a_nodeclaim(termination_grace_period_ns=grace_ns, **claim),),
        pods=(a_pod(node="node-1", annotations={labels.DO_NOT_DISRUPT: value}),),
    )


def annotated_pool(value: str) -> Inventory:
    return Inventory(
        nodepools=(a_nodepool(template_annotations={labels.DO_NOT_DISRUPT: value}),),
        nodes=(a_node(annotations={labels.DO_NOT_DISRUPT: value}),),
        nodeclaims=(a_nodeclaim(),),
    )


def budgets(*lines: DisruptionBudget, **others: Any) -> Inventory:
    return an_inventory(nodepools=(a_nodepool(budgets=lines),), **others)


def one_not_ready() -> Inventory:
    names = ["node-1", "node-2", "node-3"]
    return with_nodes(budgets(DisruptionBudget("1")), *(a_node(name=name, is_ready=name != "node-2") for name in names))


def eleven_daemonsets(slots: str) -> tuple[Inventory, tuple[InstanceType, ...]]:
    small = an_instance_type(name="t3.small", cpu="2", memory="2Gi", pods=slots)
    inventory = pools(a_nodepool(), daemonsets=tuple(a_daemonset(name=f"ds-{i}", cpu="20m") for i in range(11)))
    return inventory, (small, XLARGE)


SIXTY_TYPES = a_requirement(labels.INSTANCE_TYPE, "Exists", min_values=60)
SEEN = tuple(replace(instance_type, seen_on=1) for instance_type in eleven_daemonsets("8")[1])
"""No known instance types, so that types are read from nodes."""
CASES = [
    Case("pool-wildcard-value",
         lambda: pools(a_nodepool(requirements=(ON_DEMAND, a_requirement(labels.ARCH, "In", "*")))),
         ("NodePool general cannot launch any node: it requires kubernetes.io/arch In [*]: * matches nothing",), ERROR),
    Case("pool-wildcard-value",
         lambda: pools(a_nodepool(requirements=(a_requirement(FAMILY, "In", "m5", "c5*", min_values=1),))),
         ("NodePool general requires", "adds nothing to the other values"), name="among others"),
    Case("pool-unknown-operator",
         lambda: pools(a_nodepool(requirements=(ON_DEMAND, a_requirement(FAMILY, "in", "m5")))),
         ("instance-family has the unknown operator in", "allows every value"), ERROR),
    Case("pool-unknown-operator",
         lambda: pools(a_nodepool(requirements=(a_requirement(FAMILY, "", "m5"),
                                                a_requirement("team", "Equals", "a")))),
         ("instance-family has the unknown operator (empty)", "team has the unknown operator Equals"), ERROR, count=2,
         name="no operator at all"),
    *quiet("pool-unknown-operator",
           lambda: pools(a_nodepool(requirements=(ON_DEMAND, a_requirement(FAMILY, "Exists"))))),
    *quiet("pool-wildcard-value", lambda: pools(a_nodepool(requirements=(a_requirement(FAMILY, "In", "m5"),)))),
    Case("pool-weight-order", lambda: pools(a_nodepool(name="a", weight=100), a_nodepool(name="b", weight=50)),
         ("a has weight 100 and b 50", "look like a ratio", "2 pods may go to either"), INFO, name="story A"),
    Case("pool-weight-order", lambda: pools(a_nodepool(name="a", weight=80), a_nodepool(name="b", weight=20)),
         ("add up to 100 like shares",), INFO, name="shares"),
    Case("pool-weight-order", lambda: pools(a_nodepool(name="a", weight=10), a_nodepool(name="b", weight=2)),
         ("differ by only 8",), INFO, name="close"),
    *quiet("pool-weight-order", lambda: pools(a_nodepool(name="a", weight=100), a_nodepool(name="b", weight=1)),
           lambda: pools(a_nodepool(name="a", weight=100), a_nodepool(name="b")),
           lambda: pools(a_nodepool(name="a", weight=100), a_nodepool(name="b", weight=50, taints=(DEDICATED,)))),
    Case("pool-weight-tie", lambda: pools(a_nodepool(name="a", weight=7), a_nodepool(name="b", weight=7)),
         ("b, a all have weight 7", "b is always tried first, because its name sorts last"), INFO),
    Case("pool-weight-tie", lambda: pools(a_nodepool(name="a"), a_nodepool(name="b")), ("all have no weight",), INFO,
         name="none"),
    *quiet("pool-weight-tie", lambda: pools(a_nodepool(name="a", weight=2), a_nodepool(name="b", weight=1)),
           lambda: pools(a_nodepool(name="a"), a_nodepool(name="b", taints=(DEDICATED,)))),
    Case("pool-accelerator-untainted", gpu_nodes,
         ("3 nodes of general", "run only pods that request none", "general (weight 9)", "tried before rest"),
         per_hour=0.288),
    *quiet("pool-accelerator-untainted", three_nodes, lambda: gpu_nodes(asks=True),
           lambda: gpu_nodes(taints=(DEDICATED,))),
    Case("pool-fallback-unequal",
         lambda: split(second_taints=(DEDICATED, FALLBACK), tolerations=(Toleration("dedicated", "Exists"),)),
         ("rest (weight 1) differs from flex (weight 100)", "taint fallback:NoSchedule", "2 pods"), name="story B"),
    *quiet("pool-fallback-unequal",
           lambda: split(second_taints=(DEDICATED,), tolerations=(Toleration("dedicated", "Exists"),)),
           lambda: split(second_taints=(DEDICATED, FALLBACK), tolerations=(Toleration(operator="Exists"),)),
           lambda: Inventory(nodepools=(a_nodepool(name="a", weight=9),
                                        a_nodepool(name="b", weight=1, taints=(DEDICATED,))),
                             pods=(a_pod(),))),
    *quiet("pool-no-types", lambda: pools(a_nodepool(requirements=(SIXTY_TYPES,))), types=SEEN),
    Case("pool-no-types", lambda: pools(a_nodepool(requirements=(a_requirement(labels.ARCH, "In", "arm64"),))),
         ("cannot launch any node: its requirements exclude all 2 instance types (kubernetes.io/arch In [arm64])",),
         ERROR),
    Case("pool-no-types",
         lambda: pools(a_nodepool(requirements=(a_requirement(labels.INSTANCE_TYPE, "In", "m5.large"),
                                                a_requirement(labels.ARCH, "In", "arm64")))),
         ("cannot launch any node: its requirements exclude all 2 instance types (kubernetes.io/arch In [arm64])",),
         ERROR, name="one of two requirements"),
    Case("pool-no-types",
         lambda: pools(a_nodepool(requirements=(a_requirement(labels.INSTANCE_TYPE, "Exists", min_values=3),))),
         ("minValues of node.kubernetes.io/instance-type is not met: only 2 values offered.",), ERROR,
         settings={"MIN_VALUES_POLICY": "Strict"}, name="minValues"),
    Case("pool-no-types",
         lambda: pools(a_nodepool(requirements=(a_requirement(labels.INSTANCE_TYPE, "Exists", min_values=3),))),
         ("only 2 values offered (MIN_VALUES_POLICY is not known: its default is assumed)",), WARNING,
         name="minValues-of-unknown-policy"),
    Case("pool-no-types",
         lambda: pools(a_nodepool(requirements=(a_requirement(labels.INSTANCE_TYPE, "In", "m99.large"),)),
                       nodes=(a_node(instance_type="m99.large"),)),
         ("The types that general launches are unknown: the built-in list of types of 20", "lacks m99.large"), INFO,
         name="unlisted"),
    *quiet("pool-no-types", lambda: pools(a_nodepool()), lambda: pools(a_nodepool(replicas=2))),
    Case("pool-limit-below-type", lambda: pools(a_nodepool(limits=amounts({"cpu": "1"}))),
         ("limit of cpu 1000m, and its smallest allowed type has 2000m: it can never launch a node", "2 pending pods"),
         ERROR, name="never"),
    Case("pool-limit-below-type",
         lambda: Inventory(nodepools=(a_nodepool(limits=amounts({"cpu": "1"})),),
                           pods=(a_pod(name="a"), a_pod(name="b", node_selector={labels.ARCH: "arm64"}))),
         ("1 pending pod could go to it",), ERROR, name="types that no pod can use"),
    Case("pool-limit-below-type",
         lambda: with_nodes(three_nodes(limits=amounts({"memory": "22Gi"})),
                            *(a_node(name=f"node-{i}", capacity={"memory": "7Gi"}) for i in (1, 2, 3))),
         ("memory 1,024Mi left of 22,528Mi, and its smallest allowed type has 8,192Mi",), name="full"),
    Case("pool-limit-below-type", lambda: an_inventory(nodepools=(a_nodepool(limits=amounts({"nodes": "3"})),)),
         ("at its limit of 3 nodes",), name="nodes"),
    *quiet("pool-limit-below-type", lambda: pools(a_nodepool(limits=amounts({"cpu": "100", "example.com/gpu": "0"}))),
           lambda: pools(a_nodepool())),
    Case("pool-limit-largest-type", lambda: pools(a_nodepool(limits=amounts({"cpu": "7"}))),
         ("cpu 7000m left, and allowed types reach up to 4000m", "where 3 of the smallest would fit"), INFO),
    *quiet("pool-limit-largest-type", lambda: pools(a_nodepool(limits=amounts({"cpu": "100"}))),
           lambda: pools(a_nodepool(limits=amounts({"cpu": "4"})))),
    Case("pool-limit-nodes", lambda: an_inventory(nodepools=(a_nodepool(limits=amounts({"nodes": "5"})),)),
         ("has 3 nodes of at most 5", "more than the 2 that are left"), INFO),
    *quiet("pool-limit-nodes", lambda: an_inventory(nodepools=(a_nodepool(limits=amounts({"nodes": "3"})),)),
           lambda: an_inventory(nodepools=(a_nodepool(limits=amounts({"cpu": "3"})),))),
    Case("pool-not-ready",
         lambda: Inventory(nodepools=(a_nodepool(conditions=(NOT_READY, NO_SUBNETS)),),
                           nodeclasses=(NodeClass(name="default", group="karpenter.k8s.aws", kind="EC2NodeClass"),)),
         ("not ready: NodeClassReady is False (no subnets)", "It launches nothing."), ERROR),
    Case("pool-not-ready", lambda: Inventory(nodepools=(a_nodepool(is_ready=False),)),
         ("its EC2NodeClass default does not exist",), ERROR, name="missing"),
    Case("pool-not-ready",
         lambda: Inventory(nodepools=(a_nodepool(conditions=(NOT_READY, replace(NO_SUBNETS, reason="SubnetsReady"))),)),
         ("not ready: NodeClassReady is False (no subnets)",), ERROR, hidden=frozenset({"NodeClass"}), name="unread"),
    Case("pool-not-ready", lambda: Inventory(nodepools=(a_nodepool(conditions=()),)),
         ("it has no Ready condition yet",), ERROR, hidden=frozenset({"NodeClass"}), name="new"),
    *quiet("pool-not-ready", lambda: pools(a_nodepool()),
           lambda: pools(a_nodepool(conditions=(a_condition("Ready", status="Unknown", since_ns=NOW_NS),)))),
    Case("pool-capacity-type-open", lambda: an_inventory(nodepools=(a_nodepool(requirements=()),)),
         ("requires no capacity type", "are on-demand, as no spot is offered", "every replacement fails"), WARNING,
         name="no spot"),
    Case("pool-capacity-type-open",
         lambda: spot_nodes(requirements=(), raw={"spec": {"template": {"spec": {"requirements": []}}}}),
         ("2 of 2 nodes are spot ($0.08/h)", "does not fall back to on-demand"), INFO, types=SPOT_TYPES),
    Case("pool-capacity-type-open", lambda: an_inventory(nodepools=(a_nodepool(requirements=()),)),
         ("new nodes are reserved while a reservation has room, else on-demand, as no spot is offered",
          "Consolidation pins replacements that are not reserved to spot: these fail to launch"),
         WARNING, types=(an_instance_type(prices={"on-demand": 0.1}), reserved_type(3)), name="reserved, no spot"),
    Case("pool-capacity-type-open", lambda: spot_nodes(requirements=()),
         ("new nodes are reserved while a reservation has room, else spot wherever spot is offered; 2 of 2 nodes",),
         INFO, types=(SPOT_TYPES[0], reserved_type(3)), name="reserved"),
    Case("pool-capacity-type-open", lambda: spot_nodes(requirements=()),
         ("new nodes are spot wherever spot is offered; 2 of 2 nodes",), INFO, types=(SPOT_TYPES[0], reserved_type(3)),
         settings={"FEATURE_GATES": "ReservedCapacity=false"}, name="reserved, but off"),
    *quiet("pool-capacity-type-open", lambda: pools(a_nodepool()),
           lambda: pools(a_nodepool(requirements=(), replicas=1))),
    Case("pool-spot-gate-off", spot_nodes_launched_and_removed,
         ("2 spot nodes ($0.08/h) of general", "never replaced by cheaper ones"), INFO,
         types=SPOT_TYPES, per_hour=0.08),
    Case(
        "pool-spot-gate-off",
        spot_nodes,
        ("2 spot nodes of general", "never replaced by cheaper ones"),
        INFO,
        types=tuple(
            replace(spot_type, offerings=tuple(replace(each, is_price_assumed=True) for each in spot_type.offerings))
            for spot_type in SPOT_TYPES
        ),
        name="without known spot prices",
    ),
    *quiet("pool-spot-gate-off", spot_nodes, settings={"FEATURE_GATES": "SpotToSpotConsolidation=true"}),
    Case("pool-spot-gate-off", partial(spot_nodes, consolidation_policy=WHEN_EMPTY), name="when empty"),
    Case("pool-spot-inflexible", spot_nodes, ("allows 2 available types", "with 15 cheaper ones"), types=SPOT_TYPES,
         settings={"FEATURE_GATES": "SpotToSpotConsolidation=true"}),
    *quiet("pool-spot-inflexible", spot_nodes, types=SPOT_TYPES),
    *quiet("pool-spot-inflexible", spot_nodes, types=MANY_SPOT,
           settings={"FEATURE_GATES": "SpotToSpotConsolidation=true"}),
    Case("pool-min-values",
         lambda: pools(a_nodepool(requirements=(ON_DEMAND,
                                                a_requirement(labels.INSTANCE_TYPE, "Exists", min_values=2))),
                       nodeclasses=(NodeClass(name="default", group="karpenter.k8s.aws", kind="EC2NodeClass",
                                              spec={"amiFamily": "AL2023"}),)),
         ("requires minValues (node.kubernetes.io/instance-type 2)",), INFO),
    *quiet("pool-min-values",
           lambda: pools(a_nodepool(requirements=(a_requirement(labels.INSTANCE_TYPE, "Exists", min_values=2),))),
           lambda: pools(a_nodepool())),
    Case("pool-daemonset-types", lambda: eleven_daemonsets("8")[0],
         ("carries 11 DaemonSet pods (220m, 1,408Mi): 1 of 2 allowed types", "t3.small (8 pod slots)"), INFO,
         types=eleven_daemonsets("8")[1], name="story C"),
    Case("pool-daemonset-types", lambda: eleven_daemonsets("8")[0], ("it can launch no node",), ERROR,
         types=(eleven_daemonsets("11")[1][0],), name="all"),
    Case("pool-daemonset-types", lambda: replace(eleven_daemonsets("8")[0], pods=(a_pod(cpu="64"),)),
         ("1 of 2 allowed types", "it is left out without a message"), INFO, types=eleven_daemonsets("8")[1],
         name="beside a pod that is too large"),
    *quiet("pool-daemonset-types", lambda: eleven_daemonsets("8")[0], types=(XLARGE,)),
    *quiet("pool-daemonset-types", lambda: eleven_daemonsets("8")[0], types=SEEN),
    Case("pool-consolidation-never", lambda: three_nodes(consolidate_after_ns=None),
         ("general has consolidateAfter Never", "It has 3 nodes."), INFO),
    Case("pool-consolidation-never", two_pools_that_never_consolidate,
         ("general, spot have consolidateAfter Never", "They have 3 nodes."), INFO, name="several NodePools"),
    Case("pool-consolidation-never",
         lambda: an_inventory(pods_per_node=0, nodepools=(a_nodepool(consolidate_after_ns=None),)),
         ("3 of them are empty ($0.29/h)",), WARNING, name="empty", per_hour=0.288),
    Case("pool-consolidation-never",
         lambda: with_one_leaving(an_inventory(pods_per_node=0, nodepools=(a_nodepool(consolidate_after_ns=None),))),
         ("It has 2 nodes; 2 of them are empty ($0.19/h)",), WARNING, name="beside one that leaves", per_hour=0.192),
    Case("pool-consolidation-never", lambda: churning(quiet_ns=7 * HOUR_NS, after_ns=2 * DAY_NS, is_emptied=True),
         ("3 empty nodes of general ($0.29/h) stay for at least 41h more: consolidateAfter is 48h",), WARNING,
         name="after days", per_hour=0.288),
    *quiet("pool-consolidation-never", three_nodes, lambda: pools(a_nodepool(consolidate_after_ns=None)),
           lambda: churning(quiet_ns=5 * HOUR_NS, after_ns=2 * DAY_NS, is_emptied=True),
           lambda: churning(quiet_ns=7 * HOUR_NS, after_ns=23 * HOUR_NS, is_emptied=True)),
    Case("pool-when-empty", lambda: three_nodes(consolidation_policy="WhenEmpty"),
         ("3 nodes of general ($0.29/h) stay although pods request less than a quarter of each",
          "removes only empty nodes"),
         WARNING, per_hour=0.288),
    *quiet("pool-when-empty", three_nodes,
           lambda: an_inventory(pods_per_node=0, nodepools=(a_nodepool(consolidation_policy="WhenEmpty"),)),
           lambda: three_nodes(consolidation_policy="WhenEmpty", consolidate_after_ns=None)),
    Case("pool-consolidate-after-churn", lambda: churning(quiet_ns=4 * MINUTE_NS, after_ns=HOUR_NS),
         ("3 nodes of general ($0.29/h) are not consolidated", "consolidateAfter (1h)", "within the last 4m")),
    *quiet("pool-consolidate-after-churn", lambda: churning(quiet_ns=2 * HOUR_NS, after_ns=HOUR_NS),
           lambda: churning(quiet_ns=MINUTE_NS, after_ns=12 * HOUR_NS),
           lambda: churning(quiet_ns=MINUTE_NS, after_ns=HOUR_NS, nodes=2),
           lambda: churning(quiet_ns=4 * MINUTE_NS, after_ns=HOUR_NS, is_emptied=True)),
    Case("pool-expiry-wave",
         lambda: expiring(*(DAY_NS - HOUR_NS - i * MINUTE_NS for i in range(3)), protects=("pods", "nodes")),
         ("3 of 3 nodes of general", "from 2026-11-20T13:00:00Z on (in 1h)",
          "limit expiration. 3 drains may never end: no terminationGracePeriod. do-not-disrupt on 3 nodes does not")),
    Case("pool-expiry-wave", lambda: expiring(*(DAY_NS - HOUR_NS for _ in range(3)), 0, grace_ns=HOUR_NS),
         ("3 of 4 nodes of general", "do not limit expiration."), name="bounded"),
    *quiet("pool-expiry-wave", lambda: expiring(*(DAY_NS - i * HOUR_NS for i in range(1, 5))),
           lambda: expiring(DAY_NS - HOUR_NS, DAY_NS - HOUR_NS), three_nodes),
    Case("pool-no-grace-period", protected,
         ("1 pod (ReplicaSet/default/web) has do-not-disrupt on 1 node of general ($0.10/h)", "no end"), per_hour=0.096,
         severity=Severity.INFO, name="no node expires"),
    Case("pool-no-grace-period", lambda: protected(pool_grace_ns=DAY_NS, expire_after_ns=30 * DAY_NS),
         ("New nodes of the pool have one, this does not.",), name="later"),
    *quiet("pool-no-grace-period", lambda: protected(grace_ns=DAY_NS), lambda: protected("1d"),
           lambda: protected("300h"), three_nodes),
    Case("pool-protects-nodes", lambda: annotated_pool("true"), ("Every new node of general", "1 node ($0.10/h)")),
    Case("pool-protects-nodes", lambda: annotated_pool("2h"), ('"2h"', "protects nothing"), name="dead"),
    *quiet("pool-protects-nodes", three_nodes),
    Case("pool-balanced-silent", lambda: three_nodes(consolidation_policy=BALANCED),
         ("general (3 nodes) consolidates by the Balanced policy",), INFO),
    *quiet("pool-balanced-silent", three_nodes),
    Case("budget-unreadable", lambda: budgets(DisruptionBudget("1", "0 0 * * 7", "1h")),
         ("Budget 0 of general cannot be read", "above maximum (6)", "none of its 3 nodes ($0.29/h)"), ERROR),
    Case("budget-unreadable", lambda: budgets(DisruptionBudget("10%"), DisruptionBudget("1", None, "1h")),
         ("Budget 1 of general",), ERROR, name="duration alone"),
    *quiet("budget-unreadable", lambda: budgets(DisruptionBudget("1", "0 0 * * 0", "1h"))),
    Case("budget-never-opens", lambda: budgets(DisruptionBudget("0")),
         ("for Empty, Drifted and Underutilized at any time in the next 7 days (3 nodes, $0.29/h)",)),
    Case(
        "budget-never-opens",
        lambda: budgets(
            DisruptionBudget("0", "0 0 * * *", "12h", ("Drifted",)),
            DisruptionBudget("0", "0 12 * * *", "12h", ("Drifted",)),
            nodeclaims=tuple(
                a_nodeclaim(
                    name=f"c-{i}", node=f"node-{i}", conditions=(*a_nodeclaim().conditions, a_condition("Drifted"))
                )
                for i in (1, 2, 3)
            ),
        ),
        ("for Drifted at any time", "3 drifted nodes are not replaced."),
        name="between them",
    ),
    *quiet("budget-never-opens", lambda: budgets(DisruptionBudget("0", "0 0 * * *", "12h")),
           lambda: budgets(DisruptionBudget("10%")), lambda: pools(a_nodepool(budgets=(DisruptionBudget("0"),)))),
    Case("budget-always-active", lambda: budgets(DisruptionBudget("1", "0 0 30 2 *", "1h")),
         ('"0 0 30 2 *"', "a date that never comes", "always open")),
    *quiet("budget-always-active", lambda: budgets(DisruptionBudget("1", "0 0 1 2 *", "1h"), DisruptionBudget("x%"))),
    Case("budget-stops-repair", lambda: budgets(DisruptionBudget("0", "@daily", "1h")),
         ("(0 nodes, every reason) stops node repair too while its window is open",),
         settings={"FEATURE_GATES": "NodeRepair=true"}),
    *quiet("budget-stops-repair", lambda: budgets(DisruptionBudget("0"))),
    Case("budget-without-duration", lambda: budgets(DisruptionBudget("0", "@daily")),
         ('has the schedule "@daily" and no duration', "never applies")),
    *quiet("budget-without-duration", lambda: budgets(DisruptionBudget("0", "@daily", "1h")),
           lambda: budgets(DisruptionBudget("0", "0 0 * * 7"))),
    Case("budget-eaten", one_not_ready,
         ("allows 1 of 3 nodes", "1 node not Ready (node-2) uses all of it", "other 2 nodes ($0.19/h) are blocked"),
         per_hour=0.192),
    *quiet("budget-eaten", lambda: budgets(DisruptionBudget("1")), lambda: budgets(DisruptionBudget("0"))),
]  # fmt: skip

HEAVY = an_instance_type(name="c5.tiny", cpu="2", memory="1Gi", pods="29")
TWO_STATIC = {"replicas": 3, "budgets": (DisruptionBudget("0"),)}

CASES += [
    Case("pool-daemonset-types", lambda: eleven_daemonsets("8")[0], ("c5.tiny (memory 1,024Mi, 1,408Mi needed)",), INFO,
         types=(HEAVY, XLARGE), name="memory"),
    Case("budget-never-opens", lambda: three_nodes(**TWO_STATIC), ("allow no disruption for Drifted at any time",),
         INFO, name="static"),
    Case("budget-eaten",
         lambda: replace(one_not_ready(), nodepools=(a_nodepool(replicas=3, budgets=(DisruptionBudget("1"),)),)),
         ("to be disrupted for Drifted, and",), name="static"),
    Case("budget-never-opens",
         lambda: three_nodes(replicas=3, budgets=(DisruptionBudget("0", reasons=("Unhealthy", "Empty")),)),
         ("allow no disruption for Unhealthy at any time",), INFO, settings={"FEATURE_GATES": "NodeRepair=true"},
         name="repair"),
    Case("budget-eaten",
         lambda: Inventory(nodepools=(a_nodepool(budgets=(DisruptionBudget("1"),)),), nodes=(a_node(is_ready=False),),
                           nodeclaims=(a_nodeclaim(),)),
         name="nothing else there"),
    *quiet("pool-fallback-unequal",
           lambda: Inventory(nodepools=(a_nodepool(name="a", weight=9, template_labels={"x": "1"}),
                                        a_nodepool(name="b", weight=1,
                                                   requirements=(ON_DEMAND,
                                                                 a_requirement(labels.ZONE, "In", "us-east-1a")))),
                             pods=(a_pod(),))),
    Case("pool-limit-below-type", lambda: an_inventory(nodepools=(a_nodepool(limits=amounts({"nodes": "5"})),)),
         name="nodes left"),
    Case("pool-limit-largest-type", lambda: pools(a_nodepool(limits=amounts({"nodes": "5", "cpu": "0"}))),
         name="nothing left"),
    Case("pool-no-types", lambda: pools(a_nodepool()), types=(), name="no types known"),
    Case("pool-spot-inflexible", partial(spot_nodes, consolidation_policy=WHEN_EMPTY), types=SPOT_TYPES,
         settings={"FEATURE_GATES": "SpotToSpotConsolidation=true"}, name="when empty"),
    Case(
        "budget-eaten",
        lambda: replace(
            budgets(DisruptionBudget("1")),
            nodeclaims=tuple(
                a_nodeclaim(
                    name=f"c-{i}",
                    node=f"node-{i}",
                    created_ns=NOW_NS - DAY_NS,
                    deletion_ns=NOW_NS - HOUR_NS if i == 1 else 0,
                )
                for i in (1, 2, 3)
            ),
        ),
        ("1 node terminating for more than 30m (node-1) uses all of it",),
        name="drain",
    ),
    Case(
        "budget-eaten",
        lambda: replace(
            budgets(DisruptionBudget("1")),
            nodeclaims=tuple(
                a_nodeclaim(name=f"c-{i}", node=f"node-{i}", deletion_ns=NOW_NS - MINUTE_NS if i == 1 else 0)
                for i in (1, 2, 3)
            ),
        ),
        name="a drain of a minute",
    ),
]  # fmt: skip
