"""Pods that are pending because of a default, a typo, a missing piece of hardware or lists that show only a part."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import (  # fmt: skip
    GPU_POD,
    GPU_TAINT,
    NO_TYPE,
    big_fleet,
    fleet,
    nominated,
    refused,
    unschedulable,
    usual,
)
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, quiet
from tests.incidents.node_objects import add_node
from tests.incidents.other_clouds import only_on
from tests.incidents.pods import SELECTOR, add_claim, add_workload, matching, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import AUTO_MODE, rename

ZONE = "topology.kubernetes.io/zone"


@incident(
    story="Distributed training: each of three pods requests a GPU and an EFA interface. NodePool gpu allows g5.xlarge and g5.2xlarge only, which have no EFA. The pods are pending for two hours.",
    cause="3 pods of ml/ddp request vpc.amazonaws.com/efa, which no instance type of NodePool gpu (g5.xlarge, g5.2xlarge) has.",
    thread="aws/karpenter-provider-aws#5068",
    must=["ml/ddp", n(3), r"vpc\.amazonaws\.com/efa", r"\bgpu\b", r"no (allowed |compatible )?(instance )?types?|none"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def no_type_has_efa(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), sizes=("xlarge", "2xlarge"), template={"taints": [GPU_TAINT]})
    pods = waiting(c, "ml/ddp", 3, "2h", kind="Job", age="2h", cpu="3", memory="10Gi", requests={"nvidia.com/gpu": "1", "vpc.amazonaws.com/efa": "1"}, spec=GPU_POD)  # fmt: skip
    unschedulable(c, pods, NO_TYPE, minutes=60)


@incident(
    story="A LimitRange of the namespace lab got the default request of 16 cores by mistake. Four notebooks that request nothing themselves therefore request 16 cores, more than any type of the NodePool has.",
    cause="4 pods of lab/notebook request 16 cores, more than any instance type of NodePool general has; a LimitRange set this request.",
    thread="kubernetes/kubernetes#109091",
    must=["lab/notebook", n(4), r"\bcpu\b|cores", r"\bgeneral\b", r"LimitRange"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def limit_range_sets_too_much(c: Cluster) -> None:
    usual(c)
    default = {"default": {"cpu": "16"}, "defaultRequest": {"cpu": "16"}, "type": "Container"}
    waiting(c, "lab/notebook", 4, "37m", cpu="16", memory="0", annotations={"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container app; cpu limit for container app"})  # fmt: skip
    c.add("LimitRange", "defaults", "lab", age="2h", spec={"limits": [default]})


@incident(
    story="EKS Auto Mode. The tags of the subnets were changed by Terraform an hour ago, so the NodeClass finds none. Seven pods are pending.",
    cause="NodeClass default (EKS Auto Mode) finds no subnets for 55 minutes, so NodePool general-purpose launches nothing; 7 pods are pending.",
    thread="aws/containers-roadmap#2506",
    must=[r"NodeClass default", r"subnet", r"general-purpose", n(7), r"5[3-5] ?m"],
    must_not=[LAUNCHES, ROOM, ICE, r"EC2NodeClass", r"karpenter (is )?(down|not running)"],
    karpenter_runs=False,
)  # fmt: skip
def auto_mode_finds_no_subnets(c: Cluster) -> None:
    only_on(c, {"eks.amazonaws.com/nodegroup": "system"})
    text = "SubnetSelector did not match any Subnets"
    manifest = add_nodeclass(c, broken={"SubnetsReady": ("SubnetsNotFound", text)}, since="55m")
    manifest["spec"] = {"role": "AmazonEKSAutoNodeRole", "ephemeralStorage": {"size": "80Gi"}}
    manifest["status"]["subnets"] = []
    add_pool(c, "general-purpose", families=("m6i",), sizes=(), labels={"eks.amazonaws.com/compute-type": "auto"}, not_ready=("NodeClassNotReady", f"SubnetsReady=False: {text}", "55m"))  # fmt: skip
    fleet(c, "general-purpose", "orders/storefront", 4)
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    waiting(c, "orders/checkout", 7, "52m")
    rename(c.objects, AUTO_MODE)


@incident(
    story="150 nodes. The fourth Kafka broker claims a disk of the class local-ssd, whose PersistentVolumes are made by hand; none is left. Karpenter expects it on a node with room. And the account's vCPU limit refuses NodePool spark, for which 20 pods are pending.",
    cause="bus/kafka-3 is pending for 3 hours: no PersistentVolume of the class local-ssd is left for its claim; EC2 refuses launches of spark because the vCPU limit of 640 is reached, so 20 pods of spark/exec are pending.",
    thread="kubernetes-sigs/sig-storage-local-static-provisioner#290",
    must=["kafka-3", r"persistent ?volumes?", "spark/exec", n(20), r"quota|VcpuLimitExceeded|vCPU"],
    must_not=[LAUNCHES, "sold out"],
    first=4,
)  # fmt: skip
def no_local_volume_left_and_a_vcpu_limit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "spark")
    big_fleet(c, "general", 100)
    big_fleet(c, "spark", 44, part="spark")
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="40d") for zone in (*c.zones, c.zones[0])]
    c.add("StorageClass", "local-ssd", age="200d", provisioner="kubernetes.io/no-provisioner", volumeBindingMode="WaitForFirstConsumer")  # fmt: skip
    add_claim(c, "bus", "data-kafka-3", "local-ssd", age="3h")
    text = no_node({"node(s) didn't find available persistent volumes to bind": 4, "Insufficient cpu": 146})
    pods = add_workload(c, "bus/kafka", kind="StatefulSet", on=pairs[:3], pending=1, pending_since="3h", message=text, age="40d", cpu="4", memory="12Gi")  # fmt: skip
    pods[3]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-kafka-3"}}]
    nominated(c, pods[3:], pairs[3:], last="15s", count=90)
    error = "VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 640 allows for the instance bucket that the specified instance type belongs to."
    executors = waiting(c, "spark/exec", 20, "26m", no_node({SELECTOR: 106, "Insufficient cpu": 44}), kind="Job", age="26m", pool="spark")  # fmt: skip
    refused(c, "spark", [error], executors, every=3, times=8)


@incident(
    story="A values file asks for node.kubernetes.io/instance-type m6i.4xlrage. No such type exists, so no NodePool launches it; three pods are pending for 3 hours.",
    cause="3 pods of etl/cube select the instance type m6i.4xlrage, which does not exist.",
    thread="aws/karpenter-provider-aws#1750",
    must=["etl/cube", n(3), r"m6i\.4xlrage"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def instance_type_with_a_typo(c: Cluster) -> None:
    usual(c, 5, sizes=("xlarge", "2xlarge", "4xlarge"))
    pods = waiting(c, "etl/cube", 3, "3h", spec={"nodeSelector": {"node.kubernetes.io/instance-type": "m6i.4xlrage"}})
    unschedulable(c, pods, "no instance type has the required label", minutes=60)


@quiet(
    story="A spot instance ended at its notice 20 seconds ago, and its Node is gone. Two pods that were just starting there are still bound to it until the garbage collector deletes them; their successors start on another node.",
    cause="pods of a node that is gone are about to be deleted.",
    thread="kubernetes/kubernetes#72129",
    must_not=["stuck", r"does not exist", r"[1-9]\d* pods?[^\n]{0,40}pending"],
)
def fine_pods_of_a_node_gone_for_seconds(c: Cluster) -> None:
    usual(c, 6)
    spec = {"nodeName": "ip-10-24-40-8.ec2.internal"}
    for pod in waiting(c, "shop/api", 2, "50s", scheduled=False, spec=spec, cpu="100m", memory="128Mi"):
        pod["status"]["startTime"] = c.at("48s")
    add_workload(c, "shop/web", on=c.nodes[2:4], age="15s", cpu="20m", memory="64Mi")


@quiet(
    story="Three more replicas must be spread over the zones. Karpenter launched a node in the third zone 50 seconds ago, which is about to join.",
    cause="pods that must be spread wait for a node that joins.",
    thread="kubernetes-sigs/karpenter#1018",
    must_not=["stuck", r"maxSkew", LAUNCHES],
)
def fine_spread_pods_wait_for_a_node(c: Cluster) -> None:
    usual(c, 3)
    pairs = [add_node(c, "general", "m6i.xlarge", zone) for zone in c.zones[:2]]
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[2], age="50s", stage="Launched")
    spread = [matching("web", maxSkew=1, topologyKey=ZONE, whenUnsatisfiable="DoNotSchedule")]
    text = no_node({"Insufficient cpu": 5, "node(s) didn't match pod topology spread constraints": 2})
    pods = add_workload(c, "shop/web", on=pairs, pending=1, pending_since="58s", message=text, cpu="3", memory="10Gi", spec={"topologySpreadConstraints": spread})  # fmt: skip
    nominated(c, pods[2:], [fresh], last="48s")
