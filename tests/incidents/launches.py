"""EC2 refuses to launch: quotas, permissions, capacity."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import CPU, GPU_POD, GPU_TAINT, MEMORY, fleet, refused, unschedulable
from tests.incidents.incident import ICE, LAUNCHES, incident, n
from tests.incidents.node_objects import add_node
from tests.incidents.pods import add_daemonset, add_volume, add_workload
from tests.incidents.pools import add_nodeclass, add_pool


@incident(
    story="The account's spot quota is used up. Every spot launch of the pool ci fails for 24 minutes, 16 runners wait.",
    cause="EC2 refuses spot launches of pool ci because the account's spot quota is exhausted; 16 pods are pending.",
    thread="aws/karpenter-provider-aws#5789",
    must=[[r"quota|MaxSpotInstanceCountExceeded|max spot instance count"], [r"\bci\b"], [n(16)], ["spot"]],
    must_not=[LAUNCHES, "sold out"],
)
def spot_quota(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(
        c, "ci", families=("m6i", "m7i", "c7i"), capacity=("spot",), disruption={"consolidationPolicy": "WhenEmpty"}
    )
    add_pool(c, "general")
    fleet(c, "general", "orders", "storefront", 3)
    pairs = [add_node(c, "ci", "m6i.xlarge", zone, capacity="spot", age="3h") for zone in c.zones]
    selector = {"nodeSelector": {"karpenter.sh/nodepool": "ci"}}
    pods = add_workload(
        c,
        "Deployment",
        "gitlab",
        "runner",
        on=pairs,
        count=9,
        pending=16,
        pending_since="24m",
        age="2h",
        cpu=CPU,
        memory=MEMORY,
        spec=selector,
        message="0/8 nodes are available: 3 Insufficient cpu, 5 node(s) didn't match Pod's node affinity/selector. "
        "preemption: 0/8 nodes are available: 8 No preemption victims found for incoming pod.",
    )
    error = "MaxSpotInstanceCountExceeded: Max spot instance count exceeded"
    refused(c, "ci", [error], pods[9:], every=2, times=11)


@incident(
    story="A service control policy of the organisation denies ec2:RunInstances for 52 minutes. Karpenter makes NodeClaims "
    "and gives each up after five minutes; seven pods wait.",
    cause="Karpenter is not authorised to launch instances for pool general (a service control policy denies it); 7 pods wait.",
    thread="aws/karpenter-provider-aws#7370",
    must=[
        [r"authori[sz]|permission|denie|not allowed|forbid"],
        [r"service control policy|\bSCP\b"],
        ["general"],
        [n(7), r"\bseven\b"],
    ],
    must_not=[LAUNCHES, r"sold out|no capacity|insufficient capacity"],
)
def scp_deny(c: Cluster) -> None:
    add_nodeclass(c)
    text = "User is not authorized to perform this operation due to a service control policy"
    add_pool(c, "general", registration=("Unauthorized", text, "47m"))
    fleet(c, "general", "orders", "storefront", 4)
    for age in ("3m40s", "3m35s", "3m20s"):
        add_node(c, "general", "m6i.xlarge", c.zones[0], age=age, stage="", launch_error=("Unauthorized", text))
    add_workload(
        c,
        "Deployment",
        "orders",
        "checkout",
        on=[],
        pending=7,
        pending_since="52m",
        cpu=CPU,
        memory=MEMORY,
        message="0/6 nodes are available: 6 Insufficient cpu. preemption: 0/6 nodes are available: "
        "6 No preemption victims found for incoming pod.",
    )


@incident(
    story="search/elastic-2 has its volume in us-east-1c, and EC2 has had no r6i there for 26 minutes. The other zones have "
    "capacity, which does not help this pod.",
    cause="search/elastic-2 needs an r6i node in us-east-1c, where its volume is, and EC2 has no r6i capacity in that zone.",
    thread="aws/karpenter-provider-aws#4165",
    must=[["elastic-2"], [ICE], [r"1c\b"], ["volume|PVC|PersistentVolume|data-elastic-2|disk"]],
    must_not=[LAUNCHES, r"(sold out|capacity) in (all|any|every|no) zone"],
)
def zone_ice_volume(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "search", families=("r6i",), sizes=("xlarge", "2xlarge"))
    zones = [("elastic-0", c.zones[0]), ("elastic-1", c.zones[1]), ("elastic-2", c.zones[2])]
    pairs = [add_node(c, "search", "r6i.2xlarge", zone) for _, zone in zones[:2]]
    volumes = [add_volume(c, "search", f"data-{name}", zone) for name, zone in zones]
    pods = add_workload(
        c, "StatefulSet", "search", "elastic", on=pairs, pending=1, pending_since="26m", cpu="5", memory="40Gi"
    )
    for pod, volume in zip(pods, volumes, strict=True):
        pod["spec"]["volumes"] = [volume]
    error = (
        "InsufficientInstanceCapacity: We currently do not have sufficient {} capacity in the Availability Zone you "
        "requested (us-east-1c). Our system will be working on provisioning additional capacity. You can currently get {} "
        "capacity by not specifying an Availability Zone in your request or choosing us-east-1a, us-east-1b."
    )
    refused(c, "search", [error.format("r6i.2xlarge", "r6i.2xlarge")], pods[2:], every=3, times=9)


@incident(
    story="The GPU jobs of the morning took the account's 64 vCPUs of G instances. Five more pods wait for 38 minutes, and "
    "each launch fails.",
    cause="EC2 refuses launches of pool gpu because the vCPU quota of 64 for G instances is used up; 5 pods are pending.",
    thread="aws/karpenter-provider-aws#3372",
    must=[
        [r"quota|VcpuLimitExceeded|vCPU (capacity|limit)|current vCPU"],
        ["gpu|g5"],
        [n(5), r"\bfive\b"],
        ["finetune|ml/"],
    ],
    must_not=[LAUNCHES, "sold out"],
)
def vcpu_quota(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(
        c,
        "gpu",
        families=("g5",),
        sizes=("xlarge", "2xlarge"),
        disruption={"consolidationPolicy": "WhenEmpty"},
        template={"taints": [GPU_TAINT]},
    )
    add_pool(c, "general")
    fleet(c, "general", "orders", "storefront", 3)
    add_daemonset(
        c,
        "kube-system",
        "nvidia-device-plugin",
        cpu="10m",
        memory="64Mi",
        spec={"nodeSelector": {"karpenter.sh/nodepool": "gpu"}},
    )
    pairs = [
        add_node(c, "gpu", "g5.2xlarge", zone, gpus=1, age="4h", requests={"nvidia.com/gpu": "1"})
        for zone in c.zones[:2] * 4
    ]
    pods = add_workload(
        c,
        "Deployment",
        "ml",
        "finetune",
        on=pairs,
        pending=5,
        pending_since="38m",
        age="3h50m",
        cpu="6",
        memory="20Gi",
        requests={"nvidia.com/gpu": "1"},
        spec=GPU_POD,
        message="0/13 nodes are available: 13 Insufficient nvidia.com/gpu. preemption: 0/13 nodes are available: "
        "13 No preemption victims found for incoming pod.",
    )
    error = (
        "VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 64 allows for the instance "
        "bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to "
        "request an adjustment to this limit."
    )
    refused(c, "gpu", [error], pods[8:], every=3, times=12)
    unschedulable(
        c,
        pods[8:],
        "no instance type met the scheduling requirements or had enough resources or had a required offering",
        minutes=35,
    )
