"""Nodes that Karpenter cannot use or replace for a reason outside Karpenter, and StorageClasses without a driver."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, nominated, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node, both
from tests.incidents.objects import condition
from tests.incidents.pods import PROTECTED, add_claim, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import AUTO_MODE, aks_pool, rename, to_aks

UNBOUND = "pod has unbound immediate PersistentVolumeClaims. preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling."


@incident(
    story="To calm an incident in summer somebody put do-not-disrupt into the template of NodePool web, and Karpenter copies it to every node. A new AMI is out for 12 days; 40 of 66 nodes have drifted, and none is replaced. "
    "No pod has the annotation.",
    cause="The template of NodePool web sets karpenter.sh/do-not-disrupt on all its nodes, so the drift of 40 nodes has waited for 12 days.",
    thread="kubernetes-sigs/karpenter#1323",
    must=["do-not-disrupt", r"\bweb\b", n(40), "drift", r"template|NodePool web|NodePool's", r"12 ?d"],
    must_not=[LAUNCHES, r"pods?[^\n.]{0,30} (have|has|with|carry|carries) (the )?(annotation )?(karpenter.sh/)?do-not-disrupt", r"PDB|PodDisruptionBudget"],
    other=[{"command": ["next"], "must": [["do-not-disrupt|NODE-DND|protected"]]}],
    first=2,
)  # fmt: skip
def template_protects_every_node(c: Cluster) -> None:
    add_nodeclass(c)
    pool = add_pool(c, "web")
    pool["spec"]["template"]["metadata"]["annotations"] = PROTECTED
    big_fleet(c, "web", 40, age="24d", drifted="12d", annotations=PROTECTED, claim_annotations=PROTECTED)
    big_fleet(c, "web", 26, age="8d", part="new", annotations=PROTECTED, claim_annotations=PROTECTED)
    text = "Node is annotated with karpenter.sh/do-not-disrupt"
    for pair in [pair for pair in c.nodes if pair.claim]:
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", text, last="4m", first="59m", count=4, kind="Normal")


@incident(
    story="NodePool legacy was deleted five weeks ago with --cascade=orphan, and its five nodes stayed. Karpenter disrupts no node whose NodePool it cannot find: they neither drift nor consolidate, two are empty, and they never expire.",
    cause="5 nodes belong to NodePool legacy, which does not exist any more, so Karpenter never replaces or consolidates them; 2 of them are empty.",
    thread="aws/karpenter-provider-aws#6462",
    must=["legacy", n(5), r"not exist|no longer exist|does not exist|no such|deleted|not found|is gone|missing", r"never|not (be )?(disrupt|replace|consolidat|remove)|no longer|keeps?|stay"],
    must_not=[LAUNCHES, r"without (their |a )?NodeClaim|no NodeClaim", r"[1-9]\d* pods?[^\n]{0,12} pending"],
)  # fmt: skip
def nodes_of_a_deleted_pool(c: Cluster) -> None:
    usual(c)
    pool = add_pool(c, "legacy", template={"expireAfter": "Never"})
    pairs = [add_node(c, "legacy", "m6i.xlarge", c.zones[number % 3], age="71d") for number in range(5)]
    add_workload(c, "erp/batch", on=pairs[:3], cpu="600m", memory="1Gi", age="36d")
    for pair in pairs:
        node, claim = both(pair)
        claim["metadata"]["ownerReferences"] = []
        for manifest in (node, claim):
            c.event(manifest, "DisruptionBlocked", "NodePool not found (NodePool=legacy)", last="9m", first="58m", count=6, kind="Normal")  # fmt: skip
    c.objects.remove(pool)


@incident(
    story="A large cluster. A security controller taints every new node until its scan is done, and since an update the scan never ends. Karpenter does not expect this taint: it sees that the pods do not fit on the node it launched "
    "and launches the next. Four nodes in a quarter of an hour, all empty, and five pods are pending. The other 60 nodes are full.",
    cause="The taint scan.example/pending, which no startupTaint announces, stays on 4 new nodes of general: 5 pods of shop/promo do not fit there, so Karpenter launches one node after another.",
    thread="aws/karpenter-provider-aws#6355",
    must=["scan.example/pending", "taint", "shop/promo", n(5), n(4)],
    must_not=[ROOM, ICE, LAUNCHES, r"no NodePool tolerat|tolerates? no"],
    other=[{"command": ["pending"], "must": [["promo"], ["scan.example/pending|taint"]]}],
)  # fmt: skip
def taint_of_a_scanner(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"consolidateAfter": "30m"})
    big_fleet(c, "general", 60)
    taint = {"key": "scan.example/pending", "effect": "NoSchedule"}
    fresh = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age=age, taints=[taint]) for number, age in enumerate(("15m", "11m", "6m", "2m"))]  # fmt: skip
    pods = waiting(c, "shop/promo", 5, "16m", no_node({"Insufficient cpu": 62, "node(s) had untolerated taint(s)": 4}), cpu="900m", memory="2Gi")  # fmt: skip
    for pair, age in zip(fresh, ("15m", "11m", "6m", "2m"), strict=True):
        nominated(c, pods, [pair], last=age, count=3)


@incident(
    story="The same cluster two minutes later: Karpenter has just launched the fifth node and nominated it for the five pods. It will get the same taint as the four before.",
    cause="The taint scan.example/pending, which no startupTaint announces, stays on 4 new nodes of general; the fifth is being launched for the same 5 pods of shop/promo.",
    thread="aws/karpenter-provider-aws#6355",
    must=["scan.example/pending", "taint", "shop/promo", n(5), n(4)],
    must_not=[ROOM, ICE, LAUNCHES, r"no NodePool tolerat|tolerates? no"],
    first=1,
)
def next_node_for_pods_that_a_scanner_keeps_off(c: Cluster) -> None:
    taint_of_a_scanner(c)
    pair = add_node(c, "general", "m6i.xlarge", c.zones[0], age="30s", stage="Launched")
    pods = [item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["name"].startswith("promo-")]
    nominated(c, pods, [pair], last="28s")


@incident(
    story="The container runtime of one node stalls under load every few minutes. The node is Ready at the moment, but it was NotReady nine times in the last hour, each time for about a minute.",
    cause="The node ip-10-24-17-99 was NotReady 9 times in the last hour (PLEG is not healthy); at the moment it is Ready.",
    thread="kubernetes/kubernetes#109965",
    must=["ip-10-24-17-99", n(9), r"NotReady|not (been )?ready", r"hour|5\d ?m"],
    must_not=[LAUNCHES, r"(is|has been) not ready (for|since)", r"[1-9]\d* pods?[^\n]{0,12} pending"],
)
def node_flaps(c: Cluster) -> None:
    pairs = usual(c)
    pair = pairs[2]
    assert pair.name.startswith("ip-10-24-17-99")
    ready = next(state for state in pair.status["conditions"] if state["type"] == "Ready")
    ready["lastTransitionTime"] = c.at("4m")
    node = both(pair)[0]
    for reason, last, first in (("NodeNotReady", "5m", "58m"), ("NodeReady", "4m", "57m")):
        text = f"Node {pair.name} status is now: {reason}"
        c.event(node, reason, text, last=last, first=first, count=9, kind="Normal", source="kubelet")
    text = "PLEG is not healthy: pleg was last seen active 3m6.3s ago; threshold is 3m0s"
    c.event(node, "ContainerGCFailed", f"rpc error: code = DeadlineExceeded desc = context deadline exceeded; {text}", last="5m", first="58m", count=9, source="kubelet")  # fmt: skip


@incident(
    story="An AKS cluster with kubenet. The identity of the control plane lost its right to write routes, so the cloud controller creates no route for two new nodes. They keep the taint network-unavailable for 18 minutes and never initialize; "
    "five pods are pending.",
    cause="2 nodes of default have no network for 18 minutes (NetworkUnavailable: no route was created), so they never initialize; 5 pods are pending.",
    thread="Azure/AKS#2681",
    must=[n(2), n(5), r"Network ?Unavailable|network-unavailable|route", r"initiali|1[789] ?m"],
    must_not=[LAUNCHES, ROOM, r"EC2NodeClass|\bEC2\b|\bAWS\b"],
    karpenter_runs=False,
    karpenter_version="1.13.0",
    settings={"CLUSTER_NAME": "orders-aks"},
)
def no_route_for_new_nodes(c: Cluster) -> None:
    aks_pool(c)
    old = [add_node(c, "default", "m6i.xlarge", c.zones[number % 3]) for number in range(4)]
    add_workload(c, "orders/storefront", on=old, count=12)
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    taint = {"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}
    why = ("KnownEphemeralTaintsExist", 'KnownEphemeralTaint "node.kubernetes.io/network-unavailable:NoSchedule" still exists')  # fmt: skip
    fresh = [add_node(c, "default", "m6i.xlarge", zone, age="18m", stage="Registered", uninitialized=why, taints=[taint]) for zone in c.zones[:2]]  # fmt: skip
    for number, pair in enumerate(fresh):
        text = "RouteController failed to create a route"
        pair.status["conditions"].append(condition("NetworkUnavailable", "True", c.at("17m"), "NoRouteCreated", text))
        error = (
            f"Could not create route 7c1e0a4b-{number} 10.244.{9 + number}.0/24 for node {pair.name} after 31.2s: HTTPStatusCode: 403, RawError: "
            '{"error":{"code":"AuthorizationFailed","message":"The client does not have authorization to perform action Microsoft.Network/routeTables/routes/write"}}'
        )
        c.event(
            both(pair)[0], "FailedToCreateRoute", error, last="20s", first="17m", count=34, source="route_controller"
        )
    message = no_node({"Insufficient cpu": 6, "node(s) had untolerated taint {node.kubernetes.io/network-unavailable: }": 2})  # fmt: skip
    nominated(c, waiting(c, "orders/checkout", 5, "19m", message), fresh, last="9s", count=100)
    to_aks(c)


@incident(
    story="The cluster was upgraded past EKS 1.30, and its StorageClass is no longer the default. A chart creates a PersistentVolumeClaim without a class: it gets none and stays Pending, and so does the pod, for 25 minutes.",
    cause="monitoring/vm-0 is pending for 25 minutes: its PersistentVolumeClaim data-vm-0 names no StorageClass, and no StorageClass is the default.",
    thread="2i2c-org/infrastructure#4768",
    must=[r"vm-0|monitoring/vm", r"storage ?class", r"default|names no|no storage class|without a", r"PersistentVolumeClaim|PVC|claim"],
    must_not=[LAUNCHES, ROOM, r'StorageClass "?gp3"? (does not exist|is missing)', ICE],
)  # fmt: skip
def no_default_storage_class(c: Cluster) -> None:
    usual(c)
    c.find("StorageClass", "gp3")["metadata"]["annotations"] = {}
    manifest = add_claim(c, "monitoring", "data-vm-0", "gp3", age="25m")
    del manifest["spec"]["storageClassName"]
    text = "no persistent volumes available for this claim and no storage class is set"
    c.event(manifest, "FailedBinding", text, last="8s", first="25m", count=102, kind="Normal", source="persistentvolume-controller")  # fmt: skip
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-vm-0"}}]
    waiting(c, "monitoring/vm", 1, "25m", f"0/6 nodes are available: {UNBOUND}", kind="StatefulSet", cpu="1", memory="2Gi", spec={"volumes": volumes})  # fmt: skip


@incident(
    story="EKS Auto Mode brings its own driver for EBS, ebs.csi.eks.amazonaws.com. The StorageClass that came with a chart names the usual one, ebs.csi.aws.com, which is not installed. The volume is never created, and the pod is pending for 50 minutes.",
    cause="signoz/clickhouse-0 is pending for 50 minutes: its volume is never created, because the StorageClass gp3 names the driver ebs.csi.aws.com, which is not installed; EKS Auto Mode has ebs.csi.eks.amazonaws.com.",
    thread="SigNoz/charts#621",
    must=["clickhouse", r"ebs\.csi\.aws\.com", r"not (installed|registered|run|running)|no (driver|controller|node)|does not (run|exist)|nothing|missing|eks\.amazonaws\.com", r"volume|StorageClass"],
    must_not=[LAUNCHES, ROOM, ICE, r"karpenter[^\n]{0,60}(down|not running|missing|no (running )?pod)", r"unauthori|crash"],
    karpenter_runs=False,
)  # fmt: skip
def driver_of_another_installation(c: Cluster) -> None:
    chosen = {"eks.amazonaws.com/nodegroup": "system"}
    c.daemonsets = [pair for pair in c.daemonsets if pair[0]["metadata"]["name"] != "ebs-csi-node"]
    c.objects.remove(c.find("DaemonSet", "ebs-csi-node"))
    for manifest, pod in c.daemonsets:
        pod["spec"]["nodeSelector"] = chosen
        manifest["spec"]["template"]["spec"]["nodeSelector"] = chosen
    nodeclass = add_nodeclass(c)
    nodeclass["spec"] = {"role": "AmazonEKSAutoNodeRole", "ephemeralStorage": {"size": "80Gi"}}
    add_pool(c, "general-purpose", families=("m6i",), sizes=(), labels={"eks.amazonaws.com/compute-type": "auto"})
    pairs = [add_node(c, "general-purpose", "m6i.xlarge", c.zones[number % 3]) for number in range(3)]
    add_workload(c, "orders/storefront", on=pairs, count=6)
    for manifest in c.objects:
        if manifest["kind"] == "CSINode":
            manifest["spec"]["drivers"][0]["name"] = "ebs.csi.eks.amazonaws.com"
            manifest["spec"]["drivers"][0]["topologyKeys"] = [
                "eks.amazonaws.com/compute-type",
                "topology.kubernetes.io/zone",
            ]
    claim = add_claim(c, "signoz", "data-clickhouse-0", "gp3", age="50m")
    chosen_node = pairs[0].name
    claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": chosen_node, "volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com"}  # fmt: skip
    text = "Waiting for a volume to be created either by the external provisioner 'ebs.csi.aws.com' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered."
    c.event(claim, "ExternalProvisioning", text, last="9s", first="50m", count=204, kind="Normal", source="persistentvolume-controller")  # fmt: skip
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-clickhouse-0"}}]
    text = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    waiting(c, "signoz/clickhouse", 1, "50m", text, kind="StatefulSet", cpu="500m", memory="2Gi", spec={"volumes": volumes})  # fmt: skip
    rename(c.objects, AUTO_MODE)
