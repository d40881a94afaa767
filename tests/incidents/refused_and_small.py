"""Launches that are refused for reasons other than capacity, nodes that are smaller than planned, and waits that end soon."""

from __future__ import annotations

from tests.incidents.cluster import Cluster, NodePair
from tests.incidents.fleets import fleet, nominated, refused, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, quiet
from tests.incidents.node_objects import add_node
from tests.incidents.pods import SELECTOR, add_daemonset, add_queued, add_workload, matching, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import aks_pool, to_aks

RACK = "topology.example/rack"


@incident(
    story="EC2NodeClass ha selects a spread placement group, so that no two of its nodes share a rack. EC2 allows seven instances of such a group in a zone, all three zones are full, and the quorum grows: each launch fails for 34 "
    "minutes with the code of missing capacity, which it is not. Two pods are pending.",
    cause="EC2 refuses launches of NodePool ha for 34 minutes because its spread placement group has seven instances in each zone, the most that EC2 allows; 2 pods of db/quorum are pending.",
    thread="aws/karpenter-provider-aws#3324",
    must=[r"placement group", r"\bha\b", n(2), r"db/quorum", r"3[1-4] ?m"],
    must_not=[LAUNCHES, ROOM, r"insufficient capacity|sold out|out of capacity|EC2 has no", "quota"],
)
def placement_group_is_full(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "ha", spec={"placementGroupSelector": {"name": "quorum-spread"}})
    taint = {"key": "dedicated", "value": "ha", "effect": "NoSchedule"}
    add_pool(c, "ha", families=("m6i",), sizes=("xlarge",), nodeclass="ha", template={"taints": [taint]}, labels={"team": "ha"})  # fmt: skip
    spec = {"tolerations": [taint | {"operator": "Equal"}], "nodeSelector": {"team": "ha"}}
    pairs = [add_node(c, "ha", "m6i.xlarge", zone, age="30d") for zone in c.zones * 7]
    text = no_node({SELECTOR: 6, "Insufficient cpu": 21})
    pods = add_workload(c, "db/quorum", kind="StatefulSet", on=pairs, pending=2, pending_since="34m", age="29d", cpu="3", memory="10Gi", spec=spec, message=text)  # fmt: skip
    error = "InsufficientInstanceCapacity: You've reached the limit of instances in this spread placement group. A spread placement group can have up to seven instances per Availability Zone."
    refused(c, "ha", [error], pods[21:], every=3, times=11)


@incident(
    story="The VPC CNI uses custom networking, so a node has an interface less for pods, and the kubelets of NodePool cells take 15 pods instead of the 58 that Karpenter plans for an m6i.xlarge (RESERVED_ENIS is 0). Each new node takes eleven cells, "
    "Karpenter counted on 50; nodes are nearly idle and full, and nine cells are pending for six minutes while the next node is due.",
    cause="Nodes of cells take 15 pods instead of the 58 that Karpenter plans, so they are full while nearly idle; 9 pods of shop/cell are pending.",
    thread="aws/karpenter-provider-aws#2273",
    must=[r"\bcells\b", r"\b15\b", r"\b58\b", r"pods?\b", n(4) + "|ip-"],
    must_not=[ICE, r"limit of nodes", "removable"],
)
def fewer_pods_per_node_than_planned(c: Cluster) -> None:
    usual(c)
    add_pool(c, "cells", families=("m6i",), sizes=("xlarge",), labels={"team": "cells"})
    pairs: list[NodePair] = []
    for age in ("5h", "3h", "50m", "5m40s"):
        pair = add_node(c, "cells", "m6i.xlarge", c.zones[len(pairs) % 3], age=age, requests={"cpu": "690m", "memory": "3320Mi", "pods": "54"})  # fmt: skip
        for place in ("capacity", "allocatable"):
            pair.status[place]["pods"] = "15"
        pairs.append(pair)
    spec = {"nodeSelector": {"team": "cells"}}
    text = no_node({SELECTOR: 6, "Too many pods": 4})
    waiting_pods = add_workload(c, "shop/cell", on=pairs, count=44, pending=9, pending_since="6m", age="4h", cpu="10m", memory="64Mi", spec=spec, message=text)[44:]  # fmt: skip
    nominated(c, waiting_pods, [pairs[-1]], last="5m30s", count=2)


@incident(
    story="NodePool spark is dedicated by a taint and has the startup taint of the FSx driver. The driver's DaemonSet tolerates its own taint only, not dedicated=spark: it does not run there, so nothing removes the startup taint. Two nodes "
    "have not initialized for 22 minutes, and five pods are pending.",
    cause="2 nodes of spark never initialize: the startup taint fsx.csi.aws.com/agent-not-ready stays, because DaemonSet fsx-csi-node, which would remove it, does not tolerate dedicated=spark; 5 pods are pending.",
    thread="kubernetes-sigs/karpenter#1479",
    must=[r"fsx\.csi\.aws\.com/agent-not-ready", n(2), n(5), r"fsx-csi-node", r"dedicated|tolerat"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def agent_does_not_tolerate_the_pool(c: Cluster) -> None:
    usual(c)
    dedicated = {"key": "dedicated", "value": "spark", "effect": "NoSchedule"}
    startup = {"key": "fsx.csi.aws.com/agent-not-ready", "effect": "NoExecute"}
    add_pool(c, "spark", template={"taints": [dedicated], "startupTaints": [startup]}, labels={"team": "spark"})
    result = [{"key": "fsx.csi.aws.com/agent-not-ready", "operator": "Exists"}]
    add_daemonset(c, "kube-system", "fsx-csi-node", cpu="20m", memory="64Mi", spec={"tolerations": result})
    why = ("StartupTaintsExist", 'StartupTaint "fsx.csi.aws.com/agent-not-ready:NoExecute" still exists')
    pairs = [add_node(c, "spark", "m6i.xlarge", zone, age="22m", stage="Registered", uninitialized=why, taints=[startup]) for zone in c.zones[:2]]  # fmt: skip
    spec = {"tolerations": [dedicated | {"operator": "Equal"}], "nodeSelector": {"team": "spark"}}
    text = no_node({SELECTOR: 6, "node(s) had untolerated taint {fsx.csi.aws.com/agent-not-ready: }": 2})
    nominated(c, waiting(c, "etl/executor", 5, "23m", text, spec=spec), pairs, last="15s", count=130)


@incident(
    story="A chart from a data centre spreads its pods over racks. The nodes of this cluster have no label topology.example/rack, and no NodePool sets it: with DoNotSchedule no node takes the pods. Three are pending for 64 minutes.",
    cause="3 pods of store/ring are pending for 64 minutes: they must be spread over the label topology.example/rack, which no NodePool or node has.",
    thread="kubernetes/kubernetes#95808",
    must=[
        "store/ring",
        r"topology\.example/rack",
        "spread",
        n(3),
        r"\bno (label|node|NodePool|domain|value)|\bhas no|\bhave no|none",
    ],
    must_not=[LAUNCHES, ROOM, ICE],
)
def spread_over_a_label_that_no_node_has(c: Cluster) -> None:
    usual(c)
    spread = matching("ring", maxSkew=1, topologyKey=RACK, whenUnsatisfiable="DoNotSchedule")
    text = no_node({"node(s) didn't match pod topology spread constraints (missing required label)": 6})
    pods = waiting(c, "store/ring", 3, "64m", text, kind="StatefulSet", cpu="500m", memory="1Gi", spec={"topologySpreadConstraints": [spread]})  # fmt: skip
    error = f"unsatisfiable topology constraint for topology spread, key={RACK} (counts = , podDomains = {RACK} Exists, nodeDomains = {RACK} Exists)"
    unschedulable(c, pods, error, minutes=60)


@incident(
    story="AKS with node autoprovisioning. Azure has no spot machines of the size in the zone and reports that the request is too restrictive (OverconstrainedZonalAllocationRequest). Karpenter tries again for 29 minutes; six pods are pending.",
    cause="Azure cannot allocate spot machines Standard_D4s_v5 in eastus-1 for NodePool default (OverconstrainedZonalAllocationFailure) for 29 minutes; 6 pods are pending.",
    thread="Azure/karpenter-provider-azure#761",
    must=[r"allocat", r"\bspot\b", r"eastus-1|zone", n(6), r"2[89] ?m"],
    must_not=[r"EC2NodeClass|\bEC2\b|\bAWS\b", r"\b(would|will) (be )?launch", ROOM, "quota"],
    karpenter_runs=False,
    karpenter_version="1.13.0",
    settings={"CLUSTER_NAME": "orders-aks"},
)
def azure_cannot_allocate_spot(c: Cluster) -> None:
    error = "unable to allocate resources in the selected zone (eastus-1) with spot capacity type and Standard_D4s_v5 VM size. (will try a different zone, capacity type or VM size to fulfill your request)"
    aks_pool(c, capacity=("spot",), registration=("OverconstrainedZonalAllocationFailure", error, "24m"))
    fleet(c, "default", "orders/storefront", 4, capacity="spot")
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    for age in ("2m40s", "2m20s"):
        add_node(c, "default", "m6i.xlarge", c.zones[0], age=age, stage="", capacity="spot", launch_error=("OverconstrainedZonalAllocationFailure", error))  # fmt: skip
    waiting(c, "orders/checkout", 6, "29m")
    to_aks(c)


@incident(
    story="A new AWS account in a new region: EC2 verifies it and refuses instances until then. Karpenter reports AccountPendingVerification for 18 minutes; four pods are pending.",
    cause="EC2 refuses launches of NodePool general for 18 minutes because AWS is still verifying the account for this region; 4 pods are pending.",
    thread="openshift/installer#829",
    must=[r"verif", r"\bgeneral\b|launch", n(4), r"1[78] ?m"],
    must_not=[r"\b(would|will) (be )?launch", ROOM, ICE, "quota"],
)
def account_is_being_verified(c: Cluster) -> None:
    usual(c)
    text = "An instance launch was requested but the request for launching resources in this region is still being verified"
    for age in ("3m10s", "3m"):
        add_node(c, "general", "m6i.xlarge", c.zones[0], age=age, stage="", launch_error=("AccountPendingVerification", text))  # fmt: skip
    waiting(c, "orders/checkout", 4, "18m")


@quiet(
    story="A StatefulSet of four model servers waits in a Kueue queue for three hours: other workloads use its quota, and its turn comes when they end. Kueue says so in an event.",
    cause="a workload waits for quota that others use.",
    thread="kubernetes-sigs/kueue#9048",
    must_not=[r"does not admit|not admitted", "stuck", LAUNCHES, ROOM, "unschedulable"],
)
def fine_quota_is_in_use(c: Cluster) -> None:
    usual(c)
    add_queued(
        c,
        4,
        "3h",
        "1",
        "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a10g, 4 more needed",
    )


@quiet(
    story="Two urgent pods were created eight minutes ago and released by their gate a minute ago. kube-scheduler preempted a batch pod, which has three minutes of grace and ends in two at the latest; then they start.",
    cause="a preempted pod uses its three minutes of grace.",
    thread="kubernetes-sigs/kube-scheduler-simulator#271",
    must_not=["stuck", LAUNCHES, "unschedulable", r"lower priority"],
)
def fine_victim_ends_in_two_minutes(c: Cluster) -> None:
    usual(c)
    c.add("PriorityClass", "urgent", age="90d", value=100000, globalDefault=False)
    host = add_node(c, "general", "m6i.xlarge", c.zones[0], age="6d")
    victims = add_workload(c, "batch/resize", on=[host], count=1, age="3h", cpu="3", memory="9Gi", spec={"terminationGracePeriodSeconds": 180}, deleting="-2m")  # fmt: skip
    text = "0/7 nodes are available: 7 Insufficient cpu. preemption: not eligible due to a terminating pod on the nominated node."
    pods = waiting(c, "pay/settle", 2, "8m", text, cpu="1500m", memory="4Gi", spec={"priorityClassName": "urgent", "priority": 100000})  # fmt: skip
    for pod in pods:
        pod["status"]["nominatedNodeName"] = host.name
    text = f"Preempted by pod {pods[0]['metadata']['uid']} on node {host.name}"
    c.event(victims[0], "Preempted", text, last="60s", kind="Normal", source="default-scheduler")
