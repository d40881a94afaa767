"""Faults of every day, in combinations that no other incident has."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import HOST, gone_claim, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import NOT_READY, add_node, conditions
from tests.incidents.objects import condition
from tests.incidents.pods import (
    PROTECTED,
    SELECTOR,
    add_daemonset,
    add_volume,
    add_workload,
    matching,
    no_node,
    waiting,
)
from tests.incidents.pools import add_nodeclass, add_pool

STATIC = {"FEATURE_GATES": "StaticCapacity=true"}


@incident(
    story="Four pods select the static NodePool gateway, whose three nodes are full. Karpenter launches nodes of a static NodePool for its replicas only, so they are pending for 31 minutes without an event.",
    cause="4 pods of gw/stun select the static NodePool gateway, which has 3 replicas, all full, and launches no nodes for pods.",
    thread="kubernetes-sigs/karpenter#2513",
    must=["gw/stun", "gateway", "static", n(3), n(4)],
    must_not=[LAUNCHES, ROOM, ICE],
    settings=STATIC,
)
def pods_select_a_full_static_pool(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gateway", replicas=3, limits={"nodes": "6"})
    pairs = [add_node(c, "gateway", "m6i.xlarge", zone, age="20d") for zone in c.zones]
    add_workload(c, "gw/turn", on=pairs, count=9, age="18d", pool="gateway")
    waiting(c, "gw/stun", 4, "31m", pool="gateway")


@incident(
    story="A new chart sets karpenter.sh/do-not-disrupt in the pod template of the DaemonSet secops/falco. Karpenter counts DaemonSet pods as well, so no node can be disrupted: the drift of six nodes has waited for 20 days.",
    cause="do-not-disrupt on the pods of the DaemonSet secops/falco blocks the drift of 6 nodes for 20 days.",
    thread="aws/karpenter-provider-aws#5786",
    must=["secops/falco", "do-not-disrupt", n(6), r"20 ?d", "drift"],
    must_not=[LAUNCHES, ICE],
)
def daemonset_protects_every_node(c: Cluster) -> None:
    usual(c)
    add_pool(c, "web")
    pairs = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age="40d", drifted="20d") for number in range(6)]
    add_workload(c, "shop/front", on=pairs, count=18, age="19d")
    add_daemonset(c, "secops", "falco", cpu="50m", memory="64Mi")
    c.daemonsets[-1][1]["annotations"] = PROTECTED
    c.objects = [manifest for manifest in c.objects if manifest["kind"] != "Event"]


@incident(
    story="The NodeClaim of a node was deleted by hand with its finalizer, and the instance ended two days ago. The Node is left: no controller removes it, and a database pod is stuck terminating on it.",
    cause="ip-10-24-17-133 has not been ready for 2 days and has no NodeClaim, so Karpenter never removes it; db/pg-0 is stuck terminating on it.",
    thread="kubernetes-sigs/karpenter#2169",
    must=["ip-10-24-17-133", r"not (been )?ready", r"\b2 ?d\b|47 ?h", "db/pg-0", "no NodeClaim"],
    must_not=[LAUNCHES, ICE],
)
def node_of_a_gone_instance_is_left(c: Cluster) -> None:
    usual(c)
    ghost = add_node(c, "general", "m6i.xlarge", c.zones[1], age="30d", ready=NOT_READY, ready_since="2d")
    c.objects = [manifest for manifest in c.objects if manifest is not ghost.claim]
    ghost.claim = None
    add_workload(c, "db/pg", kind="StatefulSet", on=[ghost], age="29d", deleting="47h")


@incident(
    story="A database needs us-east-1c for its volume. Only NodePool data launches there, and it is at its limit of 8 cores; NodePool general launches in the other two zones.",
    cause="NodePool data is at its limit of 8 cores, so db/pg-0, whose volume is in us-east-1c, is pending for 70 minutes.",
    thread="aws/karpenter-provider-aws#8885",
    must=["db/pg-0", r"\bdata\b", "limit", "us-east-1c", r"70 ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def volume_needs_the_zone_of_a_full_pool(c: Cluster) -> None:
    usual(c, zones=c.zones[:2])
    add_pool(c, "data", zones=c.zones[2:], limits={"cpu": "8"})
    pairs = [add_node(c, "data", "m6i.xlarge", c.zones[2], age="30d") for _ in range(2)]
    add_workload(c, "db/es", kind="StatefulSet", on=pairs, age="20d", cpu="3200m", memory="10Gi")
    text = no_node({"node(s) had volume node affinity conflict": 6, "Insufficient cpu": 2})
    pods = waiting(c, "db/pg", 1, "70m", text, kind="StatefulSet", cpu="2", memory="4Gi")
    pods[0]["spec"]["volumes"] = [add_volume(c, "db", "data-pg-0", c.zones[2])]


@incident(
    story="A load balancer uses host port 8443 on each of the three nodes that NodePool edge may have. Its rolling update starts a fourth pod first, which finds no free port for 50 minutes.",
    cause="NodePool edge is at its limit of 3 nodes, all of whose host ports 8443 are in use, so the new pod of edge/lb is pending for 50 minutes.",
    thread="kubernetes/kubernetes#120160",
    must=["edge/lb", r"\bedge\b", "limit", n(3), r"50 ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def rolling_update_needs_a_fourth_host_port(c: Cluster) -> None:
    usual(c)
    add_pool(c, "edge", labels={"role": "edge"}, limits={"nodes": "3"})
    pairs = [add_node(c, "edge", "m6i.xlarge", zone, age="9d") for zone in c.zones]
    spec = {"nodeSelector": {"role": "edge"}, "ports": [{"containerPort": 8443, "hostPort": 8443}]}
    text = no_node({SELECTOR: 6, "node(s) didn't have free ports for the requested pod ports": 3})
    add_workload(c, "edge/lb", on=pairs, pending=1, pending_since="50m", cpu="500m", memory="1Gi", age="7d", spec=spec, message=text)  # fmt: skip


@incident(
    story="Heavy NodePool fast lost its subnets three hours ago. Its pods go to NodePool general, which is at its limit of 16 cores now: six pods are pending for 50 minutes.",
    cause="EC2NodeClass fast finds no subnets for 3 hours, and the NodePool that took its pods, general, is at its limit of 16 cores: 6 pods are pending.",
    thread="aws/karpenter-provider-aws#8885",
    must=[r"\bfast\b", "[Ss]ubnet", r"general\b", "limit", n(6)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def fallback_of_a_broken_class_is_full(c: Cluster) -> None:
    usual(c, limits={"cpu": "16"})
    broken = {"SubnetsReady": ("SubnetsNotFound", "SubnetSelector did not match any Subnets")}
    add_nodeclass(c, "fast", broken=broken, since="3h")
    add_pool(c, "fast", nodeclass="fast", weight=50, not_ready=("NodeClassNotReady", "NodeClass is not ready", "3h"))
    waiting(c, "orders/checkout", 6, "50m")


@incident(
    story="A disruption budget of 0 for Empty and Underutilized keeps four empty nodes of general, and these use up its CPU limit. Three wide pods need larger nodes and are pending for 45 minutes.",
    cause="NodePool general is at its limit of 32 cores, so 3 pods of etl/wide are pending; its budget of 0 keeps 4 empty nodes.",
    thread="aws/karpenter-provider-aws#5733",
    must=["etl/wide", "limit", r"\b32\b", n(3), "budget"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def empty_nodes_use_up_the_limit(c: Cluster) -> None:
    usual(c, limits={"cpu": "32"}, disruption={"budgets": [{"nodes": "0", "reasons": ["Empty", "Underutilized"]}]})
    for number in range(4):
        add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="3d")
    waiting(c, "etl/wide", 3, "45m", cpu="6", memory="20Gi")


@incident(
    story="terminationGracePeriod was added to NodePool research yesterday. Two older nodes drain since then; their NodeClaims have none, so the protected notebooks on them keep them without end.",
    cause="do-not-disrupt on 2 pods of ml/notebook blocks the drain of 2 nodes for 26 hours; their NodeClaims have no terminationGracePeriod, though the NodePool has one.",
    thread="kubernetes-sigs/karpenter#2219",
    must=["ml/notebook", "do-not-disrupt", n(2), r"26 ?h", r"no (time )?limit|no end|never"],
    must_not=[LAUNCHES, ICE, r"will be killed|forced in"],
)
def grace_period_came_after_the_nodes(c: Cluster) -> None:
    usual(c)
    pool = add_pool(c, "research")
    pairs = [add_node(c, "research", "m6i.xlarge", zone, age="40d", deleting="26h") for zone in c.zones[:2]]
    for pair in pairs:
        conditions(pair, condition("Drained", "Unknown", c.at("26h"), "Draining", "Draining"))
    pool["spec"]["template"]["spec"]["terminationGracePeriod"] = "1h"
    add_workload(c, "ml/notebook", kind="StatefulSet", on=pairs, age="12d", annotations=PROTECTED)


@incident(
    story="Google Cloud refuses each machine: the project's quota of CPUs in all regions is used up. Karpenter's provider reports it as want of capacity.",
    cause="Google Cloud refuses the launches of NodePool general because the quota CPUS_ALL_REGIONS (32) is used up; 7 pods are pending for 24 minutes.",
    thread="GoogleCloudPlatform/ai-on-gke#849",
    must=["general", r"CPUS_ALL_REGIONS|quota", n(7), "launch"],
    must_not=[LAUNCHES, ROOM, r"\bEC2\b"],
)
def cpus_of_all_regions(c: Cluster) -> None:
    usual(c)
    waiting(c, "shop/feed", 7, "24m")
    for number in range(5):
        claim = gone_claim(c, "general", number)
        text = "creating instance, googleapi: Error 403: Quota 'CPUS_ALL_REGIONS' exceeded.  Limit: 32.0 globally., quotaExceeded"
        c.event(claim, "InsufficientCapacityError", f"NodeClaim {claim['metadata']['name']} event: {text}", last=f"{1 + 5 * number}m")  # fmt: skip


@incident(
    story="A ring of stores must be spread over 12 nodes (minDomains 12 on the hostname), and NodePool general may have 8. Two of its pods are pending for 12 hours; nothing else needs a node.",
    cause="NodePool general is at its limit of 8 nodes, so 2 pods of store/ring are pending for 12 hours.",
    thread="kubernetes-sigs/karpenter#2809",
    must=["store/ring", "limit", r"\b8\b", n(2), r"12 ?h"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def spread_over_more_nodes_than_allowed(c: Cluster) -> None:
    usual(c, limits={"nodes": "8"})
    pairs = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="3d") for number in range(4)]
    rule = matching("ring", topologyKey=HOST, maxSkew=1, minDomains=12, whenUnsatisfiable="DoNotSchedule")
    text = no_node({"node(s) didn't match pod topology spread constraints": 4, "Insufficient cpu": 6})
    add_workload(c, "store/ring", kind="StatefulSet", on=pairs, pending=2, pending_since="12h", age="2d", cpu="2500m", memory="8Gi", spec={"topologySpreadConstraints": [rule]}, message=text)  # fmt: skip
