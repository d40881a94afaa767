"""Incidents of other clouds, operating systems, half-done upgrades, several pools, and very small or large groups."""

from __future__ import annotations

from datetime import datetime

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import fleet, nominated, refused, replaced, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, quiet
from tests.incidents.node_objects import add_group_node, add_node, both
from tests.incidents.objects import Object, digest
from tests.incidents.pods import CPU, MEMORY, SELECTOR, add_pod, add_workload, no_node, waiting
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool, to_beta
from tests.incidents.providers import AUTO_MODE, aks_pool, rename, to_aks
from tests.incidents.workloads import crash, not_ready

DOWN = r"karpenter[^\n]{0,60}(down|not running|missing|no (running )?pod)"
ONLY_LINUX = {"kubernetes.io/os": "linux"}
ADDRESS = "vpc.amazonaws.com/PrivateIPv4Address"


def only_on(c: Cluster, labels: dict[str, str]) -> None:
    """Let all DaemonSets select nodes by labels."""
    for manifest, pod in c.daemonsets:
        pod["spec"]["nodeSelector"] = labels
        manifest["spec"]["template"]["spec"]["nodeSelector"] = labels


def without_second_group_node(c: Cluster) -> None:
    """Leave one node in the node group, as in a test cluster."""
    gone = c.system.pop()
    c.nodes.remove(gone)
    c.objects = [
        manifest
        for manifest in c.objects
        if manifest["metadata"]["name"] != gone.name and manifest.get("spec", {}).get("nodeName") != gone.name
    ]
    for kind in ("Deployment", "ReplicaSet"):
        for manifest in c.objects:
            if manifest["kind"] == kind and manifest["metadata"]["name"].startswith("coredns"):
                manifest["spec"]["replicas"] = 1
                manifest["status"] |= {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}


@incident(
    story="An AKS cluster with node auto provisioning. The control plane runs 1.35.1, and the node image brings kubelet 1.35.2: each new node is drifted (K8sVersionDrift) half a minute after it registered, and "
    "Karpenter replaces it, again and again: 12 nodes in the last hour, with 36 evictions.",
    cause="Karpenter has replaced 12 nodes of default in the last hour because each new node drifts at once (K8sVersionDrift: its Kubernetes version is not the AKSNodeClass's, 1.35.1).",
    thread="Azure/AKS#5899",
    must=[r"\bdefault\b", r"K8sVersionDrift|Kubernetes version", n(12), r"at once|again and again|new(ly launched)? nodes?|within|seconds|minutes old|loop|soon"],
    must_not=[LAUNCHES, r"EC2NodeClass|\bEC2\b|\bAWS\b", DOWN, r"consolidat\w+ (replaced|removed)"],
    karpenter_runs=False,
    karpenter_version="1.13.0",
    settings={"CLUSTER_NAME": "orders-aks"},
)  # fmt: skip
def new_nodes_drift_at_once(c: Cluster) -> None:
    aks_pool(c, disruption={"budgets": [{"nodes": "34%"}]})
    c.find("EC2NodeClass", "default")["status"]["kubernetesVersion"] = "1.35.1"
    for pair in c.system:
        pair.status["nodeInfo"]["kubeletVersion"] = "v1.35.1"
    ages = (("4m", "3m10s"), ("8m", "7m10s"), ("12m", "11m10s"))
    pairs = [
        add_node(c, "default", "m6i.xlarge", c.zones[number], age=age, drifted=drifted, drift_reason="K8sVersionDrift")
        for number, (age, drifted) in enumerate(ages)
    ]
    for pair in pairs:
        pair.status["nodeInfo"]["kubeletVersion"] = "v1.35.2"
    pods = [
        pod
        for pair, (age, _) in zip(pairs, ages, strict=True)
        for pod in add_workload(c, f"orders/storefront-{pair.zone[-1]}", on=[pair], count=3, age=age, cpu=CPU, memory=MEMORY)
    ]  # fmt: skip
    replaced(c, "default", "Drifted", 12, every=4, of=pods)
    to_aks(c)


@incident(
    story="An AKS cluster whose Karpenter is 1.6. A team moved to requests at the level of the pod (spec.resources). That Karpenter does not count them: it takes the full nodes for empty and nominates four new pods to them for 40 minutes; "
    "kube-scheduler, which counts them, finds no room. No node is launched.",
    cause="4 pods of orders/checkout are pending for 40 minutes: they request resources for the whole pod (spec.resources), which Karpenter 1.6 does not count, so it nominates them to full nodes.",
    thread="Azure/AKS#5499, kubernetes-sigs/karpenter#2325",
    must=["orders/checkout", n(4), r"pod.level|whole pod|spec\.resources", r"1\.6|this version|older|upgrade|nominat"],
    must_not=[LAUNCHES, ROOM, r"EC2NodeClass|\bEC2\b|\bAWS\b", DOWN],
    karpenter_runs=False,
    karpenter_version="1.6.4",
    settings={"CLUSTER_NAME": "orders-aks"},
)  # fmt: skip
def requests_of_the_whole_pod(c: Cluster) -> None:
    aks_pool(c)
    pairs = [add_node(c, "default", "m6i.xlarge", zone) for zone in c.zones]
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    whole = {"resources": {"requests": {"cpu": CPU, "memory": MEMORY}}}
    add_workload(c, "orders/storefront", on=pairs, count=9, cpu="0", memory="0", spec=whole)
    text = no_node({"Insufficient cpu": 5})
    pods = waiting(c, "orders/checkout", 4, "40m", text, cpu="0", memory="0", spec=whole)
    for number, pod in enumerate(pods):
        pair = pairs[number % 3]
        text = f"Pod should schedule on: nodeclaim/{pair.claim_name}, node/{pair.name}"
        c.event(pod, "Nominated", text, last="12s", first="40m", count=230, kind="Normal")
    to_aks(c)


@incident(
    story="The first Windows NodePool of an EKS cluster. Two Windows nodes joined 23 minutes ago. Windows pods request vpc.amazonaws.com/PrivateIPv4Address, which the VPC resource controller of EKS gives to Windows nodes only if "
    "enable-windows-ipam is true in the ConfigMap amazon-vpc-cni; it is not. The nodes never initialize, and four pods are pending for 25 minutes.",
    cause="2 Windows nodes of NodePool windows never initialize because they offer no vpc.amazonaws.com/PrivateIPv4Address, so 4 pods of legacy/invoice-iis are pending for 25 minutes: Windows addresses are not enabled (enable-windows-ipam in the ConfigMap amazon-vpc-cni).",
    thread="aws/containers-roadmap#240",
    must=[r"\bwindows\b", "PrivateIPv4Address", n(2), n(4), r"IPAM|amazon-vpc-cni|resource controller"],
    must_not=[LAUNCHES, ROOM, ICE, r"device plugin"],
)  # fmt: skip
def windows_addresses_are_not_offered(c: Cluster) -> None:
    only_on(c, ONLY_LINUX)
    usual(c)
    manifest = add_nodeclass(c, "windows", spec={"amiSelectorTerms": [{"alias": "windows2022@latest"}]})
    for ami in manifest["status"]["amis"]:
        ami["requirements"] = [{"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}, {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]  # fmt: skip
    add_pool(c, "windows", nodeclass="windows", requirements=[{"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}])  # fmt: skip
    why = ("ResourceNotRegistered", f'Resource "{ADDRESS}" was requested but not registered')
    needs = {"cpu": "2", "memory": "4Gi", ADDRESS: "2", "pods": "2"}
    fresh = [add_node(c, "windows", "m6i.2xlarge", zone, age="24m", stage="Registered", uninitialized=why, requests=needs) for zone in c.zones[:2]]  # fmt: skip
    windows = {"kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.20348"}
    for pair in fresh:
        node, claim = both(pair)
        node["metadata"]["labels"] |= windows
        claim["metadata"]["labels"] |= windows
        node["status"]["nodeInfo"] |= {"operatingSystem": "windows", "osImage": "Windows Server 2022 Datacenter"}
        for key in ("capacity", "allocatable"):
            claim["status"][key] |= {ADDRESS: "14"}
    text = no_node({f"Insufficient {ADDRESS}": 2, SELECTOR: 6})
    spec = {"nodeSelector": {"kubernetes.io/os": "windows"}}
    pods = waiting(c, "legacy/invoice-iis", 4, "25m", text, cpu="1", memory="2Gi", requests={ADDRESS: "1"}, spec=spec)
    nominated(c, pods, fresh, last="20s", count=140)


@incident(
    story="The cluster was upgraded to the v1 API months ago without the conversion webhook. Three NodeClaims of before have no group and kind in their nodeClassRef; Karpenter ignores NodeClaims that do not refer to a NodeClass of its own kind. "
    "Their Nodes were deleted four days ago, and they have been terminating since; their instances run on.",
    cause="3 NodeClaims of general have been terminating for 4 days: their nodeClassRef has no group and kind (they were created by the v1beta1 API), so Karpenter ignores them and never removes their finalizer; their instances may run on.",
    thread="aws/karpenter-provider-aws#6981, Azure/gpu-provisioner#280",
    must=[n(3), r"nodeClassRef|group|v1beta1", r"terminat|delet", r"\b4 ?d|\b9\dh"],
    must_not=[r"do-not-disrupt|PodDisruptionBudget|\bPDB\b", LAUNCHES, r"draining"],
)  # fmt: skip
def nodeclaims_of_the_old_api(c: Cluster) -> None:
    usual(c)
    for zone in c.zones:
        pair = add_node(c, "general", "m6i.xlarge", zone, age="190d", deleting="4d")
        node, claim = both(pair)
        claim["spec"]["nodeClassRef"] = {"name": "default"}
        c.objects.remove(node)
        c.objects.remove(c.find("CSINode", node["metadata"]["name"]))
        pair.node = None


@incident(
    story="Karpenter was upgraded to 1.15 with Helm, which does not upgrade CustomResourceDefinitions: the cluster still serves v1beta1 only. Both pods of Karpenter crash at the start for 41 minutes (no matches for kind NodePool in version karpenter.sh/v1), "
    "and six pods are pending.",
    cause="Karpenter has crashed for 41 minutes (2 of 2 pods): the cluster serves its API as v1beta1 only, because the CustomResourceDefinitions were not upgraded with it; 6 pods are pending.",
    thread="aws/karpenter-provider-aws#7276, Panfactum/stack#210",
    must=["karpenter", r"crash", n(6), r"v1beta1", r"CRD|CustomResourceDefinition"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def definitions_older_than_karpenter(c: Cluster) -> None:
    usual(c)
    for manifest in c.objects:
        if manifest["kind"] == "Pod" and manifest["metadata"]["name"].startswith("karpenter-"):
            crash(c, manifest, code=2, restarts=13, ago="2m")
        if manifest["metadata"]["name"].startswith("karpenter") and manifest["kind"] in ("Deployment", "ReplicaSet"):
            manifest["status"] |= {"readyReplicas": 0, "availableReplicas": 0}
    lease = c.find("Lease", "karpenter-leader-election")["spec"]
    lease |= {"renewTime": c.at("41m")}
    waiting(c, "orders/checkout", 6, "38m", cpu=CPU, memory=MEMORY)
    to_beta(c)


@incident(
    story="A cluster moves from the Cluster Autoscaler to EKS Auto Mode. Somebody scaled the Cluster Autoscaler to 0 while it removed two nodes of a node group six hours ago: its taint ToBeDeletedByClusterAutoscaler is still on them. "
    "Four pods that must run in that node group are pending for five hours.",
    cause="4 pods of erp/ledger are pending for 5 hours: 2 nodes of their node group still have the taint ToBeDeletedByClusterAutoscaler for 6 hours, and cluster-autoscaler is scaled to 0, so nothing removes it.",
    thread="deckhouse/deckhouse#736",
    must=["erp/ledger", n(4), n(2), "ToBeDeletedByClusterAutoscaler", r"cluster-autoscaler|cluster autoscaler"],
    must_not=[LAUNCHES, ROOM, ICE, DOWN],
    karpenter_runs=False,
)  # fmt: skip
def taint_of_a_stopped_autoscaler(c: Cluster) -> None:
    only_on(c, {"eks.amazonaws.com/nodegroup": "system"})
    nodeclass = add_nodeclass(c)
    nodeclass["spec"] = {"role": "AmazonEKSAutoNodeRole", "ephemeralStorage": {"size": "80Gi"}}
    add_pool(c, "general-purpose", families=("m6i",), sizes=(), labels={"eks.amazonaws.com/compute-type": "auto"})
    fleet(c, "general-purpose", "orders/storefront", 4)
    image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0"
    add_workload(c, "kube-system/cluster-autoscaler", count=0, replicas=0, cpu="100m", memory="300Mi", image=image)
    add_workload(c, "erp/books", on=c.system, cpu="1", memory="3Gi", age="40d")
    since = str(int(datetime.fromisoformat(c.at("6h")).timestamp()))
    for zone in c.zones[:2]:
        left = add_group_node(c, "m6i.large", zone)
        assert left.node is not None
        left.node["spec"]["taints"] = [
            {"key": "ToBeDeletedByClusterAutoscaler", "value": since, "effect": "NoSchedule"}
        ]
    text = no_node({f"node(s) had untolerated taint {{ToBeDeletedByClusterAutoscaler: {since}}}": 2, "Insufficient cpu": 2, SELECTOR: 4})  # fmt: skip
    spec = {"nodeSelector": {"eks.amazonaws.com/nodegroup": "system"}}
    waiting(c, "erp/ledger", 4, "5h", text, cpu="1", memory="3Gi", spec=spec)
    rename(c.objects, AUTO_MODE)


@incident(
    story="300 pods of a batch start at once. The first pool is spot (weight 100), and the account's spot quota is used up; the second pool, on-demand, is at its limit of 64 CPUs. The pods are pending for 38 minutes.",
    cause="300 pods of batch/render are pending for 38 minutes: the account's spot quota is used up (MaxSpotInstanceCountExceeded), so NodePool spot launches nothing, and NodePool steady is at its limit of 64 CPUs.",
    thread="aws/karpenter-provider-aws#8885, aws/karpenter-provider-aws#5789",
    must=["batch/render", n(300), r"spot (instance )?quota|quota[^\n]{0,40}spot|MaxSpotInstanceCountExceeded", r"\bsteady\b", r"limit"],
    must_not=[LAUNCHES, ROOM],
)  # fmt: skip
def spot_quota_and_a_limit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",), weight=100)
    add_pool(c, "steady", limits={"cpu": "64"}, weight=10)
    fleet(c, "spot", "orders/storefront", 12, capacity="spot")
    fleet(c, "steady", "orders/catalog", 16)
    pods = waiting(c, "batch/render", 300, "38m", no_node({"Insufficient cpu": 30}), kind="Job", age="38m", cpu="1", memory="2Gi")  # fmt: skip
    refused(c, "spot", ["MaxSpotInstanceCountExceeded: Max spot instance count exceeded"], pods, every=3, times=12)
    unschedulable(c, pods, 'all available instance types exceed limits for nodepool: "steady"', minutes=36)


@incident(
    story="A test cluster with one node of its own and one of Karpenter's. The chart asks for two pods of Karpenter, which may share no node and may not run on Karpenter's nodes, so the second is pending for 41 days; the first works. "
    "The fault of today: the three pods of shop/web cannot pull their image for 25 minutes, because the registry's token has expired.",
    cause="3 pods of shop/web cannot pull their image for 25 minutes (401 Unauthorized). Besides, the second pod of Karpenter has had no node for 41 days: only one node is not Karpenter's.",
    thread="Smana/cloud-native-ref#2046",
    must=["shop/web", r"image|pull", r"401|unauthorized|denied|credential|log ?in", r"karpenter", r"standby|second|1 of 2|one pod|1 pod|spare"],
    must_not=[r"karpenter (itself )?(is|has been) (down|stopped)|0 of 2|0/2|no leader", LAUNCHES, ROOM],
    karpenter_runs=False,
    other=[{"command": ["verdict"], "must": [[r"shop/web.*karpenter"]]}],
)  # fmt: skip
def one_node_for_two_karpenters(c: Cluster) -> None:
    without_second_group_node(c)
    text = "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match pod anti-affinity rules. preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    add_karpenter(c, on=c.system, pending=1, pending_since="41d", message=text)
    c.find("Deployment", "karpenter")["spec"]["replicas"] = 2
    add_nodeclass(c)
    add_pool(c, "general")
    pair = add_node(c, "general", "m6i.xlarge", c.zones[0])
    add_workload(c, "shop/db", kind="StatefulSet", on=[pair], count=1, cpu="500m", memory="2Gi")
    image = "ghcr.io/shop/web:2026.11.3"
    for pod in add_workload(c, "shop/web", on=[pair], count=3, age="25m", image=image, waiting="ImagePullBackOff"):
        text = f'Failed to pull image "{image}": failed to resolve reference "{image}": failed to authorize: failed to fetch oauth token: unexpected status from GET request to https://ghcr.io/token: 401 Unauthorized'
        c.event(pod, "Failed", text, last="3m", first="25m", count=9, source="kubelet")
        c.event(pod, "Failed", "Error: ImagePullBackOff", last="14s", first="25m", count=104, source="kubelet")
        not_ready(pod)["state"] = {"waiting": {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}"'}}  # fmt: skip


@quiet(
    story="The move from the Cluster Autoscaler to Karpenter is done. Its Deployment is kept with 0 replicas for a way back, its lease and the annotations of its pods are left over, and a pod of its node group finished long ago.",
    cause="the Cluster Autoscaler is scaled to 0 after the move to Karpenter.",
    thread="kubernetes/k8s.io#7081",
    must_not=[r"cluster-autoscaler", r"ClusterAutoscaler", "0 replicas"],
)
def fine_autoscaler_is_scaled_to_zero(c: Cluster) -> None:
    usual(c)
    image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0"
    add_workload(c, "kube-system/cluster-autoscaler", count=0, replicas=0, cpu="100m", memory="300Mi", image=image)
    holder = {"holderIdentity": "cluster-autoscaler-6f7c9d-x2x2x", "leaseDurationSeconds": 15, "renewTime": c.at("19d"), "leaseTransitions": 9}  # fmt: skip
    c.add("Lease", "cluster-autoscaler", "kube-system", age="300d", spec=holder)
    for pair in c.system:
        assert pair.node is not None
        pair.node["metadata"]["annotations"] = {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
        pair.node["spec"]["taints"] = [{"key": "DeletionCandidateOfClusterAutoscaler", "value": "1762000000", "effect": "PreferNoSchedule"}]  # fmt: skip


@quiet(
    story="A CapacityBuffer keeps room for three pods, so one node of general is empty and stays, although it has cost money for an hour. That is its purpose.",
    cause="an empty node stays, because a CapacityBuffer reserves it.",
    thread="kubernetes-sigs/karpenter#2898",
    must_not=[r"\bempty\b[^\n]{0,80}(stays|not removed|blocked)", "stuck", r"wast"],
    settings={"FEATURE_GATES": "CapacityBuffer=true"},
)
def fine_buffer_keeps_a_node(c: Cluster) -> None:
    usual(c)
    add_node(c, "general", "m6i.xlarge", c.zones[1], age="70m")
    container = {"name": "app", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": CPU, "memory": MEMORY}}}  # fmt: skip
    c.add("PodTemplate", "room", "orders", template={"metadata": {}, "spec": {"containers": [container]}})
    ready = {"type": "ReadyForProvisioning", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": c.at("70m")}  # fmt: skip
    c.add(
        "CapacityBuffer",
        "room",
        "orders",
        age="70m",
        spec={"podTemplateRef": {"name": "room"}, "replicas": 3, "provisioningStrategy": "buffer.x-k8s.io/active-capacity"},
        status={"podTemplateRef": {"name": "room"}, "replicas": 3, "conditions": [ready]},
    )  # fmt: skip


@quiet(
    story="Karpenter was upgraded 40 seconds ago, and its new release computes the hash of NodePools in another way: the NodePool has the new hash version, its NodeClaims still the old. Karpenter compares only hashes of the same version and brings the annotations up to date.",
    cause="hashes of two versions differ after an upgrade of Karpenter, which is no drift.",
    thread="kubernetes-sigs/karpenter#957",
    must_not=[r"drift", r"hash", DOWN],
    karpenter_runs=False,
)
def fine_hash_of_the_last_release(c: Cluster) -> None:
    add_karpenter(c, on=c.system)
    usual(c, 6)
    lease = c.find("Lease", "karpenter-leader-election")["spec"]
    lease["acquireTime"] = c.at("28s")
    for manifest in c.objects:
        if manifest["kind"] == "NodeClaim":
            manifest["metadata"]["annotations"] |= {"karpenter.sh/nodepool-hash": digest("old")[:18], "karpenter.sh/nodepool-hash-version": "v2"}  # fmt: skip
        if manifest["kind"] == "Pod" and manifest["metadata"]["name"].startswith("karpenter-"):
            manifest["metadata"]["creationTimestamp"] = c.at("40s")
            manifest["status"]["startTime"] = c.at("40s")
            manifest["status"]["containerStatuses"][0]["state"] = {"running": {"startedAt": c.at("38s")}}
            for item in manifest["status"]["conditions"]:
                item["lastTransitionTime"] = c.at("30s")


@quiet(
    story="300 pods of a nightly Job started 75 seconds ago. Karpenter launched 43 nodes for them 55 seconds ago, 12 of which have registered; all pods are nominated.",
    cause="300 pods wait for the 43 nodes that are being launched for them.",
    thread="aws/karpenter-provider-aws#6459",
    must_not=["stuck", r"never", r"cannot", LAUNCHES],
)
def fine_three_hundred_pods_start(c: Cluster) -> None:
    usual(c)
    fresh = [
        add_node(c, "general", "m6i.2xlarge", c.zones[number % 3], age="55s", stage="Registered" if number < 12 else "Launched")
        for number in range(43)
    ]  # fmt: skip
    pods: list[Object] = waiting(c, "batch/nightly", 300, "75s", no_node({"Insufficient cpu": 6}), kind="Job", age="75s", cpu="1", memory="2Gi")  # fmt: skip
    nominated(c, pods, fresh, last="50s")
    add_pod(c, "batch", "prepare-x2fzq", node=c.nodes[-44], age="3m", phase="Succeeded")
