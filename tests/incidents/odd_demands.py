"""Pods that nothing can be launched for, by a demand or a setting that looks right at first; and launches that a cloud refuses."""

from __future__ import annotations

from typing import Any

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import NO_TYPE, fleet, nominated, refused, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node, both
from tests.incidents.objects import uid
from tests.incidents.pods import SELECTOR, add_daemonset, add_volume, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import aks_pool, to_aks

WILL = r"\b(would|will) (be )?launch"


@incident(
    story="NodePool reports was meant to allow machines of up to 64 GiB: its requirement is karpenter.k8s.aws/instance-memory Lt 65. The label counts MiB, so no instance type is left. Five pods that select the pool are pending for 38 minutes.",
    cause="The requirement karpenter.k8s.aws/instance-memory Lt 65 of NodePool reports leaves no instance type (the label is in MiB); 5 pods of bi/report are pending for 38 minutes.",
    thread="karpenter.sh/docs: scheduling, well-known labels",
    must=[r"\breports\b", "instance-memory", n(5) + r"|bi/report", r"3[78] ?m", r"no instance types?|leaves? (no|none)|matches no|excludes? all"],
    must_not=[LAUNCHES, ROOM, ICE, r"too (big|large)|more than any"],
)  # fmt: skip
def memory_in_mebibytes(c: Cluster) -> None:
    usual(c)
    memory = {"key": "karpenter.k8s.aws/instance-memory", "operator": "Lt", "values": ["65"]}
    add_pool(c, "reports", families=("m6i", "m7i", "r6i"), sizes=(), requirements=[memory])
    pods = waiting(c, "bi/report", 5, "38m", cpu="1", memory="4Gi", pool="reports")
    unschedulable(c, pods, NO_TYPE, minutes=38)


@incident(
    story="NodePool spill allows i4i only, for its large local disks. Its EC2NodeClass has no instanceStorePolicy, so Karpenter counts the root volume of 100Gi and not the disks. Three pods that request 400Gi of ephemeral storage are pending for 52 minutes.",
    cause="3 pods of data/sort request 400Gi of ephemeral storage, and Karpenter counts only the root volume of 100Gi: EC2NodeClass spill has no instanceStorePolicy (RAID0), so the local disks of its i4i types do not count.",
    thread="aws/karpenter-provider-aws#7543",
    must=["data/sort", n(3), "ephemeral", r"\bspill\b", r"instanceStorePolicy|RAID0|instance store|local (disk|NVMe)"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def instance_store_is_not_counted(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "spill")
    add_pool(c, "spill", nodeclass="spill", families=("i4i",), sizes=("xlarge", "2xlarge"))
    pods = waiting(c, "data/sort", 3, "52m", cpu="2", memory="8Gi", pool="spill", requests={"ephemeral-storage": "400Gi"})  # fmt: skip
    unschedulable(c, pods, "no instance type has enough resources", minutes=50)


@incident(
    story="NodePool tiles is limited to us-east-1c, and its EC2NodeClass has dedicated tenancy. EC2 does not offer its type there with that tenancy and answers Unsupported to each launch, for 31 minutes; Karpenter files it under capacity. Four pods are pending.",
    cause="EC2 refuses the launches of NodePool tiles for 31 minutes as not supported in us-east-1c (Unsupported); this is no shortage of capacity. 4 pods of geo/tiles are pending.",
    thread="aws/karpenter-provider-aws#2177",
    must=[r"\btiles\b", r"not supported|unsupported|does not (support|offer)|not offered", n(4), "us-east-1c|zone", r"3[01] ?m|2[89] ?m"],
    must_not=[WILL, ROOM, r"sold out|out of capacity|want of capacity|lack of capacity|has no .{0,30}capacity|\bICE\b"],
)  # fmt: skip
def type_is_not_supported_in_the_zone(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "tiles")
    add_pool(c, "tiles", nodeclass="tiles", families=("c7i",), sizes=("4xlarge",), zones=("us-east-1c",))
    pods = waiting(c, "geo/tiles", 4, "31m", cpu="6", memory="10Gi", pool="tiles")
    error = "Unsupported: Your requested instance type (c7i.4xlarge) is not supported in your requested Availability Zone (us-east-1c). Please retry your request by not specifying an Availability Zone or choosing us-east-1a, us-east-1b."
    refused(c, "tiles", [error], pods, every=3, times=10)


@incident(
    story="The database was moved from EKS Auto Mode to self-managed Karpenter. Its PersistentVolume still demands nodes with the label eks.amazonaws.com/compute-type auto, which only Auto Mode's nodes have. db/pg-0 is pending for 3 hours.",
    cause="db/pg-0 is pending for 3 hours: its volume demands nodes with eks.amazonaws.com/compute-type auto (EKS Auto Mode), and no NodePool or node has that label.",
    thread="awslabs/eks-auto-mode-ebs-migration-tool#55",
    must=["db/pg", r"eks\.amazonaws\.com/compute-type", r"volume", r"\b(3 ?h|2h59|180 ?m|179 ?m)"],
    must_not=[LAUNCHES, ROOM, ICE, r"in us-east-1b, where no"],
)  # fmt: skip
def volume_of_auto_mode(c: Cluster) -> None:
    usual(c)
    volume = add_volume(c, "db", "data-pg-0", "us-east-1b")
    spec = c.find("PersistentVolume", f"pvc-{uid('db', 'data-pg-0')}")["spec"]
    terms = spec["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"]
    terms.append({"key": "eks.amazonaws.com/compute-type", "operator": "In", "values": ["auto"]})
    text = no_node({"node(s) didn't match PersistentVolume's node affinity": 6})
    pods = waiting(c, "db/pg", 1, "3h", text, kind="StatefulSet", cpu="1", memory="4Gi", spec={"volumes": [volume]})
    error = 'incompatible requirements, label "eks.amazonaws.com/compute-type" does not have known values'
    unschedulable(c, pods, error, minutes=180)


@incident(
    story="Istio now injects its proxy as a native sidecar (an init container that keeps running) with 2 cores into pay/ledger. With the 6 cores of the application the pod needs 8, and the largest type of NodePool general has 8 and leaves less. Three pods are pending for 44 minutes; by its containers alone each would fit.",
    cause="3 pods of pay/ledger need 8 cores each, 6 for the container app and 2 for the sidecar istio-proxy, which is more than the largest instance type of NodePool general leaves.",
    thread="kubernetes-sigs/karpenter#479",
    must=["pay/ledger", n(3), r"sidecar|istio-proxy|init container", r"(?<![\d.])8(?! ?G)(\.\d+)? ?(cores?|cpus?|m\b|vCPU)?|8000m", r"4[34] ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def sidecar_makes_pods_too_big(c: Cluster) -> None:
    usual(c)
    sidecar = {
        "name": "istio-proxy",
        "image": "registry.example/istio/proxyv2:1.27",
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "2", "memory": "1Gi"}},
    }
    pods = waiting(c, "pay/ledger", 3, "44m", cpu="6", memory="6Gi", spec={"initContainers": [sidecar]})
    unschedulable(c, pods, "no instance type has enough resources", minutes=44)


@incident(
    story="The pods of shop/index need a local NVMe disk and say so: a required node affinity karpenter.k8s.aws/instance-local-nvme Gt 100. NodePool general allows m6i, m7i and c6i, which have none. Three pods are pending for 26 minutes.",
    cause="3 pods of shop/index require karpenter.k8s.aws/instance-local-nvme above 100, and no instance type of NodePool general has a local NVMe disk.",
    thread="aws/karpenter-provider-aws#7543",
    must=["shop/index", n(3), "instance-local-nvme", r"2[56] ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def local_disk_on_types_without(c: Cluster) -> None:
    usual(c)
    terms = [{"matchExpressions": [{"key": "karpenter.k8s.aws/instance-local-nvme", "operator": "Gt", "values": ["100"]}]}]  # fmt: skip
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}  # fmt: skip
    pods = waiting(c, "shop/index", 3, "26m", no_node({SELECTOR: 6}), cpu="2", memory="6Gi", spec=spec)
    unschedulable(c, pods, NO_TYPE, minutes=26)


@incident(
    story="During an incident somebody set the CPU limit of NodePool web to 0 to stop it, and forgot. Two days later its last nodes expired, and six pods that select it are pending for 2 hours.",
    cause="NodePool web can launch nothing: its limit is 0 CPUs; 6 pods of shop/web are pending for 2 hours.",
    thread="karpenter.sh/docs: nodepools, spec.limits",
    must=[r"\bweb\b", "limit", n(6), r"limit[^\n\"]{0,30}\b(0|zero)\b", r"\b(2 ?h|1h59|120 ?m|119 ?m)"],
    must_not=[LAUNCHES, ROOM, ICE, r"used up"],
)  # fmt: skip
def limit_of_zero(c: Cluster) -> None:
    usual(c)
    add_pool(c, "web", limits={"cpu": "0"}, labels={"team": "shop"})
    pods = waiting(c, "shop/web", 6, "2h", pool="web")
    unschedulable(c, pods, 'all available instance types exceed limits for nodepool: "web"', minutes=120)


@incident(
    story="The placeholder pods of ops/headroom should be preempted by real work. Their PriorityClass was left out at the last change, so they have the priority of everything else and stay. NodePool general is at its limit of 24 cores, half of it held by placeholders, and five pods of shop/checkout are pending for 25 minutes.",
    cause="NodePool general is at its limit of 24 cores, so 5 pods of shop/checkout are pending; 6 placeholder pods of ops/headroom hold 12 cores and are not preempted, because their priority is not lower.",
    thread="aws/karpenter-provider-aws#3240",
    must=[r"\bgeneral\b", "limit", n(5), "shop/checkout", r"ops/headroom|placeholder"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def placeholders_are_not_preempted(c: Cluster) -> None:
    pairs = usual(c, 3, sizes=("xlarge",), limits={"cpu": "24"})
    more = [add_node(c, "general", "m6i.xlarge", zone, age="5d") for zone in c.zones]
    assert pairs
    add_workload(c, "ops/headroom", on=more, count=6, cpu="1800m", memory="4Gi", age="30h", image="registry.k8s.io/pause:3.10", container="pause")  # fmt: skip
    pods = waiting(c, "shop/checkout", 5, "25m")
    unschedulable(c, pods, 'all available instance types exceed limits for nodepool: "general"', minutes=25)


@incident(
    story="Node Feature Discovery labels each node a few seconds after it joins, and the DaemonSet obs/profiler selects that label and requests 1.2 cores. Karpenter cannot know the label before, so it plans new nodes without that pod. ml/rank-0 (3.1 cores) never fits on the xlarge nodes that Karpenter launches for it: three in 19 minutes.",
    cause="ml/rank-0 does not fit on the nodes that Karpenter launches for it, 3 in 19 minutes: the DaemonSet obs/profiler takes 1.2 cores there, which Karpenter does not expect, because it selects a label that nodes get only after they join.",
    thread="kubernetes-sigs/karpenter#1185",
    must=["ml/rank", n(3), r"profiler", r"fit|too (small|little)|room"],
    must_not=[LAUNCHES, ROOM, ICE, r"limit"],
)  # fmt: skip
def daemonset_comes_with_a_late_label(c: Cluster) -> None:
    usual(c)
    label = {"feature.node.kubernetes.io/cpu-model.vendor_id": "Intel"}
    add_daemonset(c, "obs", "profiler", cpu="1200m", memory="512Mi", critical=True, spec={"nodeSelector": label})
    add_pool(c, "rank", families=("m6i",), sizes=("xlarge",), labels={"team": "rank"}, disruption={"consolidateAfter": "30m"})  # fmt: skip
    text = no_node({SELECTOR: 6, "Insufficient cpu": 3})
    pods = waiting(c, "ml/rank", 1, "19m", text, kind="StatefulSet", cpu="3100m", memory="4Gi", spec={"nodeSelector": {"team": "rank"}})  # fmt: skip
    for age in ("18m", "12m", "5m"):
        pair = add_node(c, "rank", "m6i.xlarge", c.zones[0], age=age, requests={"cpu": "3290m", "memory": "4216Mi", "pods": "5"})  # fmt: skip
        both(pair)[0]["metadata"]["labels"] |= label
        nominated(c, pods, [pair], last=age, count=3)


def _azure(c: Cluster, error: str, pods: list[tuple[str, int, str]]) -> None:
    """Make an AKS cluster whose launches fail with an error, and pods that wait."""
    aks_pool(c, registration=("CreateInstanceFailed", error, "27m"))
    fleet(c, "default", "orders/storefront", 4)
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    for age in ("3m10s", "2m40s"):
        add_node(c, "default", "m6i.xlarge", c.zones[0], age=age, stage="", launch_error=("CreateInstanceFailed", error))  # fmt: skip
    for name, count, since in pods:
        waiting(c, name, count, since)
    to_aks(c)


AZURE: Any = {"karpenter_runs": False, "karpenter_version": "1.13.0", "settings": {"CLUSTER_NAME": "orders-aks"}}


@incident(
    story="AKS with node autoprovisioning. A new Azure Policy of the subscription allows only B-series machines, and Karpenter asks for D-series: every machine is disallowed, for 32 minutes. Five pods are pending.",
    cause="An Azure Policy disallows the machines of NodePool default (RequestDisallowedByPolicy: the selected virtual machine size is not allowed) for 32 minutes; 5 pods are pending.",
    thread="Azure/karpenter-provider-azure#794",
    must=[r"policy", r"size|disallow|not allowed", n(5), r"\bdefault\b|launch|machine", r"3[12] ?m|27 ?m"],
    must_not=[r"EC2NodeClass|\bEC2\b|\bAWS\b", WILL, ROOM, ICE, "quota"],
    **AZURE,
)  # fmt: skip
def azure_policy_forbids_the_size(c: Cluster) -> None:
    error = "creating instance failed, Resource 'aks-default-x7k2m' was disallowed by policy. Reasons: 'The selected virtual machine size is not allowed.'. See error details for policy resource IDs. RESPONSE 403: 403 Forbidden ERROR CODE: RequestDisallowedByPolicy"
    _azure(c, error, [("orders/checkout", 5, "32m")])


@incident(
    story="AKS with node autoprovisioning in a virtual network of another resource group. The cluster's identity may not join the subnet there: every network interface is refused, for 41 minutes. Seven pods are pending.",
    cause="Azure refuses the network interfaces of NodePool default's machines: the identity may not join the subnet (LinkedAuthorizationFailed), for 41 minutes; 7 pods are pending.",
    thread="Azure/karpenter-provider-azure#944",
    must=[r"authori[sz]|permission|LinkedAuthorizationFailed|may not", r"subnet", n(7), r"\bdefault\b|launch|machine"],
    must_not=[r"EC2NodeClass|\bEC2\b|\bAWS\b", WILL, ROOM, ICE, "quota", r"no (free )?address"],
    **AZURE,
)  # fmt: skip
def azure_identity_may_not_join_the_subnet(c: Cluster) -> None:
    error = "creating instance failed, RESPONSE 403: 403 Forbidden ERROR CODE: LinkedAuthorizationFailed: The client '9e0e4ddb' with object id '9e0e4ddb' has permission to perform action 'Microsoft.Network/networkInterfaces/write' on scope '/subscriptions/0f3c/resourceGroups/mc_orders/providers/Microsoft.Network/networkInterfaces/aks-default-4df7f'; however, it does not have permission to perform action(s) 'Microsoft.Network/virtualNetworks/subnets/join/action' on the linked scope(s) '/subscriptions/0f3c/resourceGroups/network/providers/Microsoft.Network/virtualNetworks/hub/subnets/aks' (respectively) or the linked scope(s) are invalid."
    _azure(c, error, [("orders/checkout", 7, "41m")])
