"""What stands next to Karpenter: EKS Auto Mode, node groups, other clouds, agents on new nodes, resizes and buffers."""

from __future__ import annotations

from typing import Final

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, fleet, nominated, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, quiet
from tests.incidents.node_objects import CNI_NOT_READY, add_group_node, add_node, both, cordon
from tests.incidents.objects import condition, digest
from tests.incidents.platforms import NONE_PENDING, NOT_AWS
from tests.incidents.pods import add_daemonset, add_pdb, add_pod, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import AUTO_MODE, rename
from tests.incidents.workloads import crash

PDB = r"\bPDB\b|PodDisruptionBudget"
PROXMOX: Final = {
    "karpenter.k8s.aws/ec2nodeclass": "karpenter.proxmox.sinextra.dev/proxmoxnodeclass",
    "karpenter.k8s.aws": "karpenter.proxmox.sinextra.dev",
    "EC2NodeClass": "ProxmoxNodeClass",
    "m6i.xlarge": "4VCPU-16GB",
    "m6i.large": "2VCPU-8GB",
    "us-east-1a": "pve-1",
    "us-east-1b": "pve-2",
    "us-east-1c": "pve-3",
    "us-east-1": "attic",
    "ebs.csi.aws.com": "csi.proxmox.sinextra.dev",
    "ebs-csi-node": "proxmox-csi-plugin-node",
    "eks-pod-identity-agent": "kube-vip",
    "aws-node": "cilium",
    "eks.amazonaws.com/nodegroup": "node.cluster.x-k8s.io/pool",
    "eks.amazonaws.com/capacityType": "node.cluster.x-k8s.io/kind",
    "topology.k8s.aws/zone-id": "topology.csi.proxmox/zone",
    ".ec2.internal": ".home.example",
    "aws:///": "proxmox://attic/",
}


@quiet(
    story="A cluster on its way from its own Karpenter to EKS Auto Mode. Both run: NodePool general belongs to Karpenter in kube-system, NodePool general-purpose and its NodeClass to Auto Mode, whose Karpenter no one sees. All nodes are well used.",
    cause="EKS Auto Mode and Karpenter run in one cluster, each with NodePools of its own.",
    thread="aws/containers-roadmap#2510",
    must_not=[r"does not exist", r"(two|second) install", r"ignores|nothing reconciles", r"launch(es)? no", "stuck"],
)
def fine_auto_mode_and_karpenter(c: Cluster) -> None:
    usual(c, 9)
    before = len(c.objects)
    manifest = add_nodeclass(c, "auto")
    manifest["spec"] = {"role": "AmazonEKSAutoNodeRole", "ephemeralStorage": {"size": "80Gi"}}
    add_pool(c, "general-purpose", nodeclass="auto", families=("c6i", "m6i"), sizes=(), labels={"eks.amazonaws.com/compute-type": "auto"})  # fmt: skip
    for pair in fleet(c, "general-purpose", "shop/front", 6):
        pair.status["nodeInfo"]["osImage"] = "Bottlerocket (EKS Auto, Standard) 2026.11.10 (aws-k8s-1.35-standard)"
    rename(c.objects[before:], AUTO_MODE)


@incident(
    story="Karpenter with the provider for Proxmox in a small data center. The thin pool of the storage is full: cloning the template fails at every launch for 29 minutes. Four pods are pending.",
    cause="NodePool workers cannot launch for 29 minutes: Proxmox has no free space in the thin pool pve/data (lvcreate error); 4 pods are pending.",
    thread="sergelogvinov/karpenter-provider-proxmox#189",
    must=[r"lvcreate|free space|thin pool", n(4), r"\bworkers\b|media/transcode", r"2[5-9] ?m"],
    must_not=[NOT_AWS, LAUNCHES, ROOM, "quota", ICE],
    karpenter_runs=False,
)  # fmt: skip
def proxmox_storage_is_full(c: Cluster) -> None:
    manifest = add_nodeclass(c)
    manifest["spec"] = {"instanceTemplateRef": {"kind": "ProxmoxTemplate", "name": "talos"}}
    manifest["status"] = {"conditions": [condition("Ready", "True", c.at("60d"))]}
    error = 'creating instance, failed to clone vm template 9000: 500 unable to create VM 1042: lvcreate error: insufficient free space in thin pool "pve/data"'
    add_pool(c, "workers", families=(), sizes=(), registration=("LaunchFailed", error, "25m"))
    fleet(c, "workers", "orders/storefront", 8)
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    for age in ("3m", "1m40s"):
        pair = add_node(c, "workers", "m6i.xlarge", c.zones[1], age=age, stage="", launch_error=("LaunchFailed", error))
        assert pair.claim is not None
        c.event(pair.claim, "LaunchFailed", error, last="20s", first=age, count=4)
    waiting(c, "media/transcode", 4, "29m")
    rename(c.objects, PROXMOX)
    for pair in c.nodes:
        pair.zone = str(rename(pair.zone, PROXMOX))


@incident(
    story="The VPC CNI uses custom networking, and us-east-1c was added to the cluster last week without an ENIConfig for it. The first two nodes there joined 13 minutes ago: aws-node crashes on them and they are not ready. Nodes of the same age in the other zones are fine. Six pods are pending.",
    cause="2 nodes in us-east-1c do not initialize for 13 minutes: their network is not ready (cni plugin not initialized), because aws-node crashes there; in other zones it runs. 6 pods are pending.",
    thread="aws/amazon-vpc-cni-k8s#1921",
    must=[n(2), "us-east-1c", r"initiali|not (been )?ready", r"aws-node|network|\bcni\b", n(6)],
    must_not=[LAUNCHES, ICE, "startup ?taint", ROOM],
)
def eni_config_is_missing_in_a_zone(c: Cluster) -> None:
    usual(c, 9)
    for zone in c.zones[:2]:
        add_workload(c, f"orders/feed-{zone[-1]}", on=[add_node(c, "general", "m6i.xlarge", zone, age="14m")], count=3, age="12m")  # fmt: skip
    agent, spec = next(pair for pair in c.daemonsets if pair[0]["metadata"]["name"] == "aws-node")
    why = ("NodeNotReady", "Node status is NotReady")
    fresh = [add_node(c, "general", "m6i.xlarge", "us-east-1c", age="14m", stage="Registered", uninitialized=why, ready=CNI_NOT_READY, without=("aws-node",)) for _ in range(2)]  # fmt: skip
    for pair in fresh:
        pod = add_pod(c, "kube-system", f"aws-node-{digest(pair.name)[:5]}", node=pair, parent=agent, age="13m", container="aws-node", **spec)  # fmt: skip
        crash(c, pod, code=1, restarts=7, ago="1m")
    nominated(c, waiting(c, "orders/checkout", 6, "15m"), fresh, last="50s", count=60)


@incident(
    story="EKS upgrades the managed node group system: two new nodes joined three hours ago, and one old node is gone. The other is cordoned and cannot be drained, because the PodDisruptionBudget of ops/vault, which has one replica there, allows no eviction; the upgrade will fail. Karpenter and its nodes have nothing to do with it.",
    cause="A node of the node group system has been cordoned for 3 hours: EKS cannot drain it, because the PodDisruptionBudget ops/vault allows no eviction of the only pod of ops/vault on it.",
    thread="aws/containers-roadmap#1209",
    must=[r"ip-10-24-\d+-\d+", r"cordon", r"ops/vault", PDB, r"\b3 ?h"],
    must_not=["drift", NONE_PENDING, LAUNCHES, r"karpenter (cannot|does not) (drain|remove)"],
)  # fmt: skip
def node_group_upgrade_meets_a_budget(c: Cluster) -> None:
    usual(c, 10)
    fresh = [add_group_node(c, "m6i.large", zone, age="3h2m") for zone in c.zones[:2]]
    for pair in fresh:
        pair.status["nodeInfo"] |= {"kubeletVersion": "v1.35.3-eks-40737a8", "osImage": "Amazon Linux 2023.9.20261118"}
    add_workload(c, "ops/runner", on=fresh, age="3h", cpu="1", memory="2Gi")
    add_workload(c, "ops/vault", kind="StatefulSet", on=c.system[:1], age="40d", cpu="200m", memory="500Mi")
    add_pdb(c, "ops", "vault", "vault", healthy=1, desired=1, expected=1, minAvailable=1)
    cordon(c, c.system[0], "3h")


@incident(
    story="The DBA raised the CPU of the three pods of db/pg in place from 2 to 6 cores. Their nodes are full, so the kubelet defers the resize: for three hours the database has run with the old 2 cores. The pods run, so neither kube-scheduler nor Karpenter does anything.",
    cause="3 pods of db/pg wait for an in-place resize for 3 hours (PodResizePending, Deferred): their nodes have too little CPU, and Karpenter launches no nodes for pods that run.",
    thread="kubernetes-sigs/karpenter#3037",
    must=["db/pg", n(3), r"resiz|in.place|Deferred", r"\b3 ?h"],
    must_not=[NONE_PENDING, LAUNCHES, ROOM, "OOM"],
)  # fmt: skip
def resize_is_deferred(c: Cluster) -> None:
    usual(c, 7)
    add_pool(c, "data", labels={"team": "data"}, disruption={"consolidationPolicy": "WhenEmpty"})
    hosts = [add_node(c, "data", "m6i.2xlarge", zone, age="30d") for zone in c.zones]
    chosen = {"nodeSelector": {"team": "data"}}
    add_workload(c, "db/proxy", on=hosts, age="29d", cpu="4500m", memory="8Gi", spec=chosen)
    for pod in add_workload(c, "db/pg", kind="StatefulSet", on=hosts, age="29d", cpu="6", memory="12Gi", spec=chosen):
        old = {"cpu": "2", "memory": "12Gi"}
        text = "Node didn't have enough resource: cpu, requested: 6000, used: 4690, capacity: 7910"
        pod["metadata"]["generation"] = 2
        pod["status"]["conditions"].append(condition("PodReadyToStartContainers", "True", c.at("29d")))
        pod["status"]["conditions"].append(condition("PodResizePending", "True", c.at("3h"), "Deferred", text))
        pod["status"]["containerStatuses"][0] |= {"allocatedResources": old, "resources": {"requests": old}}
        c.event(pod, "ResizeDeferred", f"Pod resize Deferred: {text}", last="59m", first="3h", count=3, source="kubelet")  # fmt: skip


@incident(
    story="The platform team renamed the PodTemplate of its CapacityBuffer four hours ago. Karpenter cannot resolve it any more: the headroom of five pods for the sale at noon does not exist. Nothing is pending yet.",
    cause="CapacityBuffer ops/headroom has held nothing for 4 hours: its PodTemplate headroom-large does not exist (ReadyForProvisioning is False).",
    thread="kubernetes-sigs/karpenter#3028",
    must=[r"headroom", r"CapacityBuffer|buffer", r"template|not ready|ReadyForProvisioning"],
    must_not=[LAUNCHES, NONE_PENDING, "stuck"],
    settings={"FEATURE_GATES": "CapacityBuffer=true"},
)  # fmt: skip
def buffer_without_its_template(c: Cluster) -> None:
    usual(c, 11)
    text = 'PodTemplate "headroom-large" not found'
    states = [condition("ReadyForProvisioning", "False", c.at("4h"), "PodTemplateNotFound", text)]
    spec = {"podTemplateRef": {"name": "headroom-large"}, "replicas": 5, "provisioningStrategy": "buffer.x-k8s.io/active-capacity"}  # fmt: skip
    c.add("CapacityBuffer", "headroom", "ops", age="30d", spec=spec, status={"conditions": states})


@quiet(
    story="NodePool ml may use its capacity reservation of four g5.2xlarge and, beyond that, on-demand. All four are in use, and two more pods got on-demand nodes 25 minutes ago, as intended.",
    cause="a NodePool uses on-demand once its reservation is full.",
    thread="aws/karpenter-provider-aws#3042",
    must_not=["moved", r"unused|never used", r"reserv\w+ (is|are) full", "stuck", LAUNCHES],
)
def fine_on_demand_after_the_reservation(c: Cluster) -> None:
    usual(c, 8)
    block = {
        "id": "cr-0b71c2d9e8f34a055", "instanceType": "g5.2xlarge", "availabilityZone": "us-east-1b", "instanceMatchCriteria": "targeted", "ownerID": "111122223333",
        "reservationType": "default", "interruptible": False, "state": "active",
    }  # fmt: skip
    add_nodeclass(c, "ml", spec={"capacityReservationSelectorTerms": [{"id": block["id"]}]}, status={"capacityReservations": [block]})  # fmt: skip
    add_pool(c, "ml", nodeclass="ml", families=("g5",), sizes=("2xlarge",), capacity=("reserved", "on-demand"), labels={"team": "ml"})  # fmt: skip
    reserved = [add_node(c, "ml", "g5.2xlarge", "us-east-1b", capacity="reserved", age="5d", gpus=1) for _ in range(4)]
    for pair in reserved:
        for manifest in both(pair):
            manifest["metadata"]["labels"] |= {"karpenter.k8s.aws/capacity-reservation-id": block["id"], "karpenter.k8s.aws/capacity-reservation-type": "default"}  # fmt: skip
    more = [add_node(c, "ml", "g5.2xlarge", zone, age="25m", gpus=1) for zone in c.zones[1:]]
    add_daemonset(c, "kube-system", "nvidia-device-plugin", cpu="50m", memory="64Mi", spec={"nodeSelector": {"team": "ml"}})  # fmt: skip
    for hosts, age in ((reserved, "4d"), (more, "24m")):
        add_workload(c, f"ml/train-{age}", on=hosts, age=age, cpu="6", memory="24Gi", requests={"nvidia.com/gpu": "1"}, spec={"nodeSelector": {"team": "ml"}})  # fmt: skip


@incident(
    story="46 nodes. The drift to a new image has replaced 12 nodes when a database team calls: five pods of search/es, which moved to new nodes, have not started for 35 minutes. ebs-csi-node crashes on the new image, so the driver is not registered there. Since five of nine Elasticsearch pods are down, their PodDisruptionBudget stops the drift of the rest, which is luck. Two prototypes crash as ever.",
    cause="12 pods of the DaemonSet kube-system/ebs-csi-node crash, all on nodes with the new image; so 5 pods of search/es have not started for 35 minutes (ebs.csi.aws.com is not registered there).",
    thread="kubernetes-sigs/aws-ebs-csi-driver#1972, aws/karpenter-provider-aws#9238",
    must=["ebs-csi-node", r"crash", n(12), "search/es", n(5), r"not (been )?(started|registered)|new|image|release|Linux"],
    must_not=[LAUNCHES, NONE_PENDING, ICE, r"image[^\n]{0,60}cannot be pulled"],
)  # fmt: skip
def csi_driver_crashes_on_the_new_image(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    old = big_fleet(c, "general", 32, age="21d", drifted="4h")
    fresh = big_fleet(c, "general", 12, age="3h20m", part="new")
    driver, spec = next(pair for pair in c.daemonsets if pair[0]["metadata"]["name"] == "ebs-csi-node")
    for pair in old:
        pair.status["nodeInfo"]["osImage"] = "Amazon Linux 2023.8.20260818"
    for number, pair in enumerate(fresh):
        pair.without = ("ebs-csi-node",)
        pod = add_pod(c, "kube-system", f"ebs-csi-node-{digest(pair.name)[:5]}", node=pair, parent=driver, age="3h18m", **spec)  # fmt: skip
        crash(c, pod, code=255, restarts=41, ago=f"{50 + 15 * number}s")
        c.find("CSINode", pair.name)["spec"]["drivers"] = []
    add_workload(c, "search/es", kind="StatefulSet", on=old[:4], replicas=9, age="20d", cpu="90m", memory="200Mi")
    owner = c.find("StatefulSet", "es")
    owner["status"] |= {"replicas": 9, "readyReplicas": 4, "availableReplicas": 4}
    for number in range(5):
        pod = add_pod(c, "search", f"es-{number + 4}", node=fresh[number], parent=owner, age="35m", cpu="90m", memory="200Mi", labels=owner["metadata"]["labels"], waiting="ContainerCreating")  # fmt: skip
        text = f'MountVolume.MountDevice failed for volume "pvc-{digest(number)[:8]}" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name ebs.csi.aws.com not found in the list of registered CSI drivers'
        c.event(pod, "FailedMount", text, last="40s", first="34m", count=24, source="kubelet")
    add_pdb(c, "search", "es", "es", healthy=4, desired=8, expected=9, maxUnavailable=1)
    for pod in add_workload(c, "lab/prototype", on=old[:2], age="7d", cpu="10m", memory="20Mi"):
        crash(c, pod, code=2, restarts=1900, ago="4m")


@incident(
    story="NodePool arm was added an hour ago. Its startup taint sensor.example/not-ready is removed by the DaemonSet secops/sensor once it runs, and the sensor has no build for arm64: three nodes are ready and never initialize, and seven pods are pending for 28 minutes.",
    cause="3 nodes of arm do not initialize for 27 minutes: the startup taint sensor.example/not-ready stays, because the image of the DaemonSet secops/sensor has no build for arm64; 7 pods are pending.",
    thread="aws/karpenter-provider-aws#5293",
    must=[n(3), r"sensor\.example/not-ready|secops/sensor", r"image|arm64|platform", r"initiali", n(7)],
    must_not=[LAUNCHES, ROOM, ICE, "exec format"],
)  # fmt: skip
def sensor_has_no_build_for_arm64(c: Cluster) -> None:
    usual(c, 8)
    taint = {"key": "sensor.example/not-ready", "effect": "NoSchedule"}
    add_pool(c, "arm", families=("m7g",), arch=("arm64",), labels={"team": "api"}, template={"startupTaints": [taint]})
    add_daemonset(c, "secops", "sensor", cpu="50m", memory="100Mi")
    manifest, spec = c.daemonsets[-1]
    why = ("StartupTaintsExist", 'StartupTaint "sensor.example/not-ready:NoSchedule" still exists')
    image = "registry.example/secops/sensor:7.1"
    fresh = [add_node(c, "arm", "m7g.xlarge", zone, age="28m", stage="Registered", uninitialized=why, taints=[taint], without=["sensor"]) for zone in c.zones]  # fmt: skip
    for pair in fresh:
        pod = add_pod(c, "secops", f"sensor-{digest(pair.name)[:5]}", node=pair, parent=manifest, age="27m", image=image, waiting="ImagePullBackOff", **spec)  # fmt: skip
        text = f'Failed to pull image "{image}": rpc error: code = NotFound desc = failed to pull and unpack image "{image}": no match for platform in manifest: not found'
        c.event(pod, "Failed", text, last="2m", first="27m", count=9, source="kubelet")
        c.event(pod, "Failed", "Error: ImagePullBackOff", last="10s", first="27m", count=110, source="kubelet")
    text = no_node({"Insufficient cpu": 8, "node(s) had untolerated taint {sensor.example/not-ready: }": 3, "node(s) didn't match Pod's node affinity/selector": 2})  # fmt: skip
    pods = waiting(c, "api/catalog", 7, "28m", text, spec={"nodeSelector": {"kubernetes.io/arch": "arm64"}})
    nominated(c, pods, fresh, last="40s", count=12)
