"""A small fault in a large cluster, clusters of other providers, and lists without some kinds."""

from __future__ import annotations

from typing import Final

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, fleet, gone_claim, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node, both, conditions
from tests.incidents.objects import condition
from tests.incidents.pods import CPU, MEMORY, SELECTOR, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import aks_pool, gcp_nodeclass, rename, to_aks, to_gcp
from tests.incidents.workloads import crash

OTHER_CLOUD = r"EC2NodeClass|\bEC2\b|\bAWS\b"
NONE_PENDING = r"[1-9]\d* pods?[^\n]{0,12} pending"
OCI: Final = {
    "karpenter.k8s.aws/ec2nodeclass": "oci.oraclecloud.com/ocinodeclass",
    "karpenter.k8s.aws": "oci.oraclecloud.com",
    "EC2NodeClass": "OCINodeClass",
    "m6i.xlarge": "VM.Standard.E5.Flex.4o.16g.1_1b",
    "m6i.large": "VM.Standard.E5.Flex.2o.8g.1_1b",
    "us-east-1a": "US-ASHBURN-AD-1",
    "us-east-1b": "US-ASHBURN-AD-2",
    "us-east-1c": "US-ASHBURN-AD-3",
    "us-east-1": "iad",
    "ebs.csi.aws.com": "blockvolume.csi.oraclecloud.com",
    "ebs-csi-node": "csi-oci-node",
    "eks-pod-identity-agent": "proxymux-client",
    "aws-node": "vcn-native-ip-cni",
    "gp3": "oci-bv",
    "eks.amazonaws.com/nodegroup": "oke.oraclecloud.com/pool.name",
    "eks.amazonaws.com/capacityType": "oke.oraclecloud.com/tenant_agent.version",
    "topology.k8s.aws/zone-id": "oci.oraclecloud.com/fault-domain",
    ".ec2.internal": ".orders.oraclevcn.com",
    "aws:///": "ocid1.instance.oc1.iad.",
}


def to_oci(c: Cluster) -> None:
    """Rename everything to what Oracle's provider calls it, and remove what its status does not have."""
    for manifest in c.objects:
        if manifest["kind"] == "EC2NodeClass":
            manifest["spec"] = {"volumeConfig": {"bootVolumeConfig": {"imageConfig": {"imageType": "OKEImage"}}}}
            manifest["status"] = {"conditions": [condition("Ready", "True", c.at("60d"))]}
        if manifest["kind"] == "NodePool":
            wanted = manifest["spec"]["template"]["spec"]["requirements"]
            manifest["spec"]["template"]["spec"]["requirements"] = [item for item in wanted if "instance-" not in item["key"]]  # fmt: skip
    for pair in c.nodes:
        for manifest in filter(None, (pair.node, pair.claim)):
            labels = manifest["metadata"]["labels"]
            for key in [*labels]:
                if key.startswith("karpenter.k8s.aws/instance"):
                    del labels[key]
    rename(c.objects, OCI)
    for pair in c.nodes:
        pair.zone = rename(pair.zone, OCI)


@incident(
    story="A cluster of 112 nodes in normal traffic: three nodes start, two drain for consolidation, pods come and go. On one node kube-proxy has crashed for six hours, after a kernel module was blocked there by hand: pods on it reach no Service. Everything else is fine.",
    cause="kube-system/kube-proxy crashes on ip-10-24-24-192 for 6 hours (exit code 1, 74 restarts), one node of 112: pods there cannot reach Services.",
    thread="kubernetes/kubernetes#81353",
    must=["kube-proxy", r"crash|restart", r"one node|1 node|1 of|ip-10-24", r"74|exit code 1|6 ?h"],
    must_not=[LAUNCHES, ICE, NONE_PENDING, r"all (of )?its pods"],
)
def kube_proxy_crashes_on_one_of_many(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = big_fleet(c, "general", 110)
    for number in range(3):
        add_node(c, "general", "m6i.xlarge", c.zones[number], age=f"{20 + 6 * number}s", stage="Launched")
    for zone in c.zones[:2]:
        going = add_node(c, "general", "m6i.xlarge", zone, age="4d", deleting="50s")
        conditions(going, condition("DisruptionReason", "True", c.at("55s"), "Underutilized"), condition("Drained", "Unknown", c.at("50s"), "Draining", "Draining"))  # fmt: skip
        add_workload(c, f"feed/last-{zone[-1]}", on=[going], age="3d", cpu="200m", memory="300Mi")
    host = pairs[31]
    host.without = ("kube-proxy",)
    manifest = c.find("DaemonSet", "kube-proxy")
    pods = add_workload(c, "kube-system/kube-proxy-tmp", on=[host], age="6h", cpu="100m", memory="0")
    pod = pods[0]
    for leftover in [item for item in c.objects if item["metadata"]["name"].startswith("kube-proxy-tmp") and item["kind"] != "Pod"]:  # fmt: skip
        c.objects.remove(leftover)
    meta = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "kube-proxy", "uid": manifest["metadata"]["uid"], "controller": True}  # fmt: skip
    pod["metadata"] |= {"name": "kube-proxy-x7k2p", "labels": {"app.kubernetes.io/name": "kube-proxy"}, "ownerReferences": [meta]}  # fmt: skip
    crash(c, pod, code=1, restarts=74, ago="2m")


@incident(
    story="Nine NodePools on 96 nodes. NodePool gpu-b has launched four nodes in the last five hours, none of which joined: NodeRegistrationHealthy is False. Its pods went to gpu-a in the meantime, so none is pending; the next shortage of gpu-a will show it.",
    cause="Nodes of NodePool gpu-b have not registered for 5 hours (NodeRegistrationHealthy is False); no pod is pending.",
    thread="kubernetes-sigs/karpenter#1910",
    must=["gpu-b", r"regist|join", r"\b5 ?h|4h ?5\dm|300 ?m"],
    must_not=[LAUNCHES, ICE, NONE_PENDING],
)
def one_pool_of_nine_never_registers(c: Cluster) -> None:
    add_nodeclass(c)
    for number in range(7):
        add_pool(c, f"team-{number}", labels={"team": f"t{number}"})
        fleet(c, f"team-{number}", f"team-{number}/api", 13, age=f"{3 + number}d")
    for name in ("gpu-a", "gpu-b"):
        failed = ("RegistrationFailed", "Failed to register node", "5h") if name == "gpu-b" else None
        add_pool(c, name, families=("g5",), sizes=("2xlarge",), registration=failed, labels={"pool": name})
    hosts = [add_node(c, "gpu-a", "g5.2xlarge", c.zones[number % 3], gpus=1, age="4h") for number in range(5)]
    add_workload(c, "ml/infer", on=hosts, age="3h50m", cpu="6", memory="20Gi", requests={"nvidia.com/gpu": "1"})


@incident(
    story="A cluster on Google Cloud. The provider was upgraded two days ago and no longer knows the machine type of five old nodes. Karpenter cannot tell their price and consolidates none of them, although each runs one small pod; its events say so.",
    cause="5 nearly empty nodes of default stay, because Karpenter does not know their instance type n2-standard-4 (not found), so it does not consolidate them.",
    thread="cloudpilot-ai/karpenter-provider-gcp#525, kubernetes-sigs/karpenter#1442",
    must=[n(5), r"\bdefault\b", r"n2-standard-4|instance type|machine type", r"not found|unknown|(does not|doesn't|no longer) know"],
    must_not=[OTHER_CLOUD, LAUNCHES, NONE_PENDING, r"do-not-disrupt|\bPDB\b|PodDisruptionBudget", "next: "],
)  # fmt: skip
def instance_type_unknown_to_the_provider(c: Cluster) -> None:
    gcp_nodeclass(c)
    add_pool(c, "default", families=(), sizes=(), disruption={"consolidateAfter": "5m"})
    fleet(c, "default", "orders/storefront", 6)
    old = [add_node(c, "default", "m6i.xlarge", c.zones[number % 3], age="29d") for number in range(5)]
    add_workload(c, "orders/mail", on=old, cpu="150m", memory="200Mi", age="28d")
    for pair in old:
        for manifest in both(pair):
            c.event(manifest, "Unconsolidatable", 'Instance Type "m6i.xlarge" not found', last="6m", first="56m", count=4, kind="Normal")  # fmt: skip
    to_gcp(c)


@incident(
    story="Karpenter 1.14 with a CapacityBuffer for shop/checkout, which should keep room for six pods. Its feature gate is off, so Karpenter ignores the buffer: no node is kept for it, and each surge waits for new nodes.",
    cause="CapacityBuffer shop/room keeps no room: the feature gate CapacityBuffer is off, so Karpenter ignores it.",
    thread="cloudpilot-ai/karpenter-provider-gcp#525",
    must=["shop/room|room", r"CapacityBuffer", "gate", r"\boff\b|disabled|not (on|enabled)|ignore"],
    must_not=[LAUNCHES, ICE, NONE_PENDING],
    karpenter_version="1.14.0",
    settings={"FEATURE_GATES": "NodeRepair=false,SpotToSpotConsolidation=false"},
)
def buffer_without_the_gate(c: Cluster) -> None:
    usual(c, 5)
    container = {"name": "app", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": CPU, "memory": MEMORY}}}  # fmt: skip
    c.add("PodTemplate", "room", "shop", template={"metadata": {}, "spec": {"containers": [container]}})
    spec = {"podTemplateRef": {"name": "room"}, "replicas": 6, "provisioningStrategy": "buffer.x-k8s.io/active-capacity"}  # fmt: skip
    c.add("CapacityBuffer", "room", "shop", age="9d", spec=spec)


@incident(
    story="Karpenter was killed while it disrupted four nodes. Since its restart it did not untaint them: the taint karpenter.sh/disrupted stays on four nodes that nobody deletes. They run their pods, take no others, and six pods that only fit there are pending. The engineer has lists of nodes, pods and NodePools.",
    cause="The taint karpenter.sh/disrupted is left on 4 nodes that are not being deleted, so they take no pods: 6 pods of etl/load are pending.",
    thread="kubernetes-sigs/karpenter#1421, aws/karpenter-provider-aws#9238",
    must=["karpenter.sh/disrupted", n(4), "etl/load", n(6)],
    must_not=[r"(are|is) being (deleted|removed|drained)", ROOM, ICE],
    listed=("Node", "Pod", "NodePool"),
)
def disruption_taint_is_left(c: Cluster) -> None:
    usual(c, 5)
    add_pool(c, "jobs", labels={"team": "etl"})
    taint = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    hosts = [add_node(c, "jobs", "m6i.2xlarge", c.zones[number % 3], age="5d", taints=[taint]) for number in range(4)]
    spec = {"nodeSelector": {"team": "etl"}}
    add_workload(c, "etl/index", on=hosts, age="4d", cpu="1", memory="3Gi", spec=spec)
    text = no_node({"node(s) had untolerated taint {karpenter.sh/disrupted: }": 4, SELECTOR: 7})
    waiting(c, "etl/load", 6, "42m", text, spec=spec)


@incident(
    story="An AKS cluster with node auto provisioning. The subnet that AKSNodeClass default names was deleted with an old network: SubnetsReady is False for 47 minutes, and five pods are pending.",
    cause="AKSNodeClass default is not ready for 47 minutes, because its subnet does not exist (SubnetNotFound), so NodePool default launches nothing; 5 pods of orders/checkout are pending.",
    thread="Azure/karpenter-provider-azure#734",
    must=["AKSNodeClass", r"subnet", n(5), "orders/checkout", r"4[67] ?m"],
    must_not=[LAUNCHES, ROOM, OTHER_CLOUD, ICE, "quota"],
    karpenter_runs=False,
    karpenter_version="1.13.0",
    settings={"CLUSTER_NAME": "orders-aks"},
)
def aks_subnet_is_gone(c: Cluster) -> None:
    aks_pool(c, not_ready=("UnhealthyDependents", "SubnetsReady=False", "47m"))
    manifest = c.find("EC2NodeClass", "default")
    manifest["spec"]["vnetSubnetID"] = "/subscriptions/0f3c/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v1/subnets/nodes"  # fmt: skip
    kept = [item for item in manifest["status"]["conditions"] if item["type"] != "Ready"]
    kept += [condition("SubnetsReady", "False", c.at("47m"), "SubnetNotFound", "Subnet does not exist"), condition("Ready", "False", c.at("47m"), "UnhealthyDependents", "SubnetsReady=False")]  # fmt: skip
    manifest["status"]["conditions"] = kept
    fleet(c, "default", "orders/storefront", 4)
    waiting(c, "orders/checkout", 5, "44m")
    to_aks(c)


@incident(
    story="A cluster on Oracle Cloud. The preemptible pool spot has weight 100; Oracle is out of host capacity for its shape. The provider reports an ordinary launch error instead of a shortage, so Karpenter tries the same NodeClaims again and again for 36 minutes and never turns to NodePool steady: seven pods are pending.",
    cause="Oracle Cloud has no host capacity for NodePool spot for 36 minutes (Out of host capacity), so 7 pods of etl/nightly are pending; Karpenter tries the same 2 NodeClaims again and does not turn to NodePool steady.",
    thread="oracle/karpenter-provider-oci#33",
    must=["out of host capacity|host capacity|no capacity|want of capacity|short of capacity", r"\bspot\b", n(7), "etl/nightly", r"3[4-6] ?m"],
    must_not=[ROOM, OTHER_CLOUD, r"will (be )?launch"],
    karpenter_version="1.9.2",
)  # fmt: skip
def oracle_is_out_of_host_capacity(c: Cluster) -> None:
    add_nodeclass(c)
    text = "failed to launch instance: Error returned by Compute Service. Http Status Code: 500. Error Code: InternalError. Message: Out of host capacity."
    add_pool(c, "spot", capacity=("spot",), weight=100, registration=("LaunchFailed", text, "31m"))
    add_pool(c, "steady", weight=10)
    fleet(c, "steady", "orders/storefront", 4)
    for age in ("3m10s", "2m40s"):
        pair = add_node(c, "spot", "m6i.xlarge", c.zones[1], age=age, capacity="spot", stage="", launch_error=("LaunchInstanceFailed", text))  # fmt: skip
        assert pair.claim is not None
        c.event(pair.claim, "LaunchInstanceFailed", text, last="15s", first="2m30s", count=9)
    for number in range(6):
        c.event(gone_claim(c, "spot", number), "LaunchInstanceFailed", text, last=f"{7 + 5 * number}m", count=9)
    waiting(c, "etl/nightly", 7, "36m")
    to_oci(c)


@incident(
    story="A reader with few rights lists nodes and NodeClaims. Six NodeClaims were launched three hours ago and never became nodes. Karpenter deletes a NodeClaim that does not register within 15 minutes; that these are still there means that it does not run, or cannot.",
    cause="6 NodeClaims of general have been launched and not registered for 3 hours; Karpenter deletes such NodeClaims after 15 minutes, so it may not be running.",
    thread="aws/karpenter-provider-aws#7320",
    must=[
        n(6),
        r"regist|join",
        r"\b3 ?h|2h5\dm|180 ?m",
        r"15 ?m|karpenter (may|might|seems|does)|not run|should have (given|deleted|removed)",
    ],
    must_not=[LAUNCHES, ICE, r"give[ns]? (it |them )?up (in|at) [1-9]"],
    listed=("Node", "NodeClaim"),
)
def claims_older_than_their_liveness(c: Cluster) -> None:
    usual(c, 5)
    for number in range(6):
        add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age=f"3h{number}m", stage="Launched")
