"""Launches that the cloud refuses, and nodes that are launched in vain."""

from __future__ import annotations

from typing import Any

from tests.incidents.cluster import ZONE_IDS, Cluster
from tests.incidents.fleets import GPU_POD, GPU_TAINT, fleet, gone_claim, nominated, refused, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_group_node, add_node
from tests.incidents.objects import Object, condition, node_resources
from tests.incidents.pods import add_daemonset, add_volume, add_workload, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import AKS, rename


def m7i(reserved: int | None) -> list[Object]:
    """Return m7i.2xlarge as an instance type, with a capacity reservation in us-east-1b if its free slots are given."""
    capacity, allocatable = node_resources("m7i.2xlarge")
    zones = {"us-east-1a": 0.4032, "us-east-1b": 0.4032, "us-east-1c": 0.4032}

    def wants(**values: str) -> list[Object]:
        names = {"zone": "topology.kubernetes.io/zone", "kind": "karpenter.sh/capacity-type"}
        names |= {"zone_id": "topology.k8s.aws/zone-id", "reservation": "karpenter.k8s.aws/capacity-reservation-id"}
        return [{"key": names[key], "operator": "In", "values": [value]} for key, value in values.items()]

    offerings: list[dict[str, Any]] = [
        {"requirements": wants(kind="on-demand", zone=zone, zone_id=ZONE_IDS[zone]), "price": price, "available": True}
        for zone, price in zones.items()
    ]
    kinds = ["on-demand"]
    if reserved is not None:
        kinds.append("reserved")
        place = wants(kind="reserved", zone="us-east-1b", zone_id="use1-az6", reservation="cr-0b51f7d2c94e8a360")
        offerings.append({"requirements": place, "price": 0.0, "available": True, "reservationCapacity": reserved})
    labels = {
        "node.kubernetes.io/instance-type": ["m7i.2xlarge"],
        "kubernetes.io/arch": ["amd64"],
        "kubernetes.io/os": ["linux"],
        "karpenter.k8s.aws/instance-category": ["m"],
        "karpenter.k8s.aws/instance-family": ["m7i"],
        "karpenter.k8s.aws/instance-size": ["2xlarge"],
        "topology.kubernetes.io/zone": [*zones],
        "karpenter.sh/capacity-type": kinds,
    }
    memory = int(capacity["memory"][:-2]) - int(allocatable["memory"][:-2])
    return [
        {
            "name": "m7i.2xlarge",
            "requirements": [{"key": key, "operator": "In", "values": values} for key, values in labels.items()],
            "capacity": capacity,
            "overhead": {"kubeReserved": {"cpu": "90m", "memory": f"{memory}Ki"}},
            "offerings": offerings,
        }
    ]


@incident(
    story="The account's spot quota is used up. Every spot launch of the pool ci fails for 24 minutes, 16 runners wait.",
    cause="EC2 refuses spot launches of pool ci because the account's spot quota is exhausted; 16 pods are pending.",
    thread="aws/karpenter-provider-aws#5789",
    must=[r"quota|MaxSpotInstanceCountExceeded|max spot instance count", r"\bci\b", n(16), "spot"],
    must_not=[LAUNCHES, "sold out"],
)
def spot_quota(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(
        c, "ci", families=("m6i", "m7i", "c7i"), capacity=("spot",), disruption={"consolidationPolicy": "WhenEmpty"}
    )
    add_pool(c, "general")
    fleet(c, "general", "orders/storefront", 3)
    pairs = [add_node(c, "ci", "m6i.xlarge", zone, capacity="spot", age="3h") for zone in c.zones]
    selector = {"nodeSelector": {"karpenter.sh/nodepool": "ci"}}
    pods = add_workload(c, "gitlab/runner", on=pairs, count=9, pending=16, pending_since="24m", age="2h", spec=selector)
    error = "MaxSpotInstanceCountExceeded: Max spot instance count exceeded"
    refused(c, "ci", [error], pods[9:], every=2, times=11)


@incident(
    story="A service control policy of the organisation denies ec2:RunInstances for 52 minutes. Karpenter makes NodeClaims "
    "and gives each up after five minutes; seven pods wait.",
    cause="Karpenter is not authorised to launch instances for pool general (a service control policy denies it); 7 pods wait.",
    thread="aws/karpenter-provider-aws#7370",
    must=[r"authori[sz]|permission|denie|not allowed|forbid", r"service control policy|\bSCP\b", "general", n(7)],
    must_not=[LAUNCHES, r"sold out|no capacity|insufficient capacity"],
)
def scp_deny(c: Cluster) -> None:
    add_nodeclass(c)
    text = "User is not authorized to perform this operation due to a service control policy"
    add_pool(c, "general", registration=("Unauthorized", text, "47m"))
    fleet(c, "general", "orders/storefront", 4)
    for age in ("3m40s", "3m35s", "3m20s"):
        add_node(c, "general", "m6i.xlarge", c.zones[0], age=age, stage="", launch_error=("Unauthorized", text))
    waiting(c, "orders/checkout", 7, "52m")


@incident(
    story="search/elastic-2 has its volume in us-east-1c, and EC2 has had no r6i there for 26 minutes. The other zones have "
    "capacity, which does not help this pod.",
    cause="search/elastic-2 needs an r6i node in us-east-1c, where its volume is, and EC2 has no r6i capacity in that zone.",
    thread="aws/karpenter-provider-aws#4165",
    must=["elastic-2", ICE, r"1c\b", "volume|PVC|PersistentVolume|data-elastic-2|disk"],
    must_not=[LAUNCHES, r"(sold out|capacity) in (all|any|every|no) zone"],
)
def zone_ice_volume(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "search", families=("r6i",), sizes=("xlarge", "2xlarge"))
    zones = [("elastic-0", c.zones[0]), ("elastic-1", c.zones[1]), ("elastic-2", c.zones[2])]
    pairs = [add_node(c, "search", "r6i.2xlarge", zone) for _, zone in zones[:2]]
    volumes = [add_volume(c, "search", f"data-{name}", zone) for name, zone in zones]
    pods = add_workload(
        c, "search/elastic", kind="StatefulSet", on=pairs, pending=1, pending_since="26m", cpu="5", memory="40Gi"
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
    must=[r"quota|VcpuLimitExceeded|vCPU (capacity|limit)|current vCPU", "gpu|g5", n(5), "finetune|ml/"],
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
    fleet(c, "general", "orders/storefront", 3)
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
        "ml/finetune",
        message="0/13 nodes are available: 13 Insufficient nvidia.com/gpu. preemption: 0/13 nodes are available: "
        "13 No preemption victims found for incoming pod.",
        on=pairs,
        pending=5,
        pending_since="38m",
        age="3h50m",
        cpu="6",
        memory="20Gi",
        requests={"nvidia.com/gpu": "1"},
        spec=GPU_POD,
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


@incident(
    story="Karpenter 1.14. EC2 has had no spot g5 in any zone for half an hour, with the wording of a fleet that found no offer at all. Five "
    "pods are pending and may use spot GPUs only. Events are of events.k8s.io/v1: one for each NodeClaim, a series for the pods.",
    cause="EC2 has no spot capacity for pool gpu-spot (UnfulfillableCapacity for 31 minutes); 5 pods are pending.",
    thread="aws/karpenter-provider-aws#1233",
    must=[ICE + "|" + r"unfulfill|fulfil\w* capacity", "gpu-spot", n(5), r"embed"],
    must_not=[LAUNCHES, r"quota|vCPU limit"],
    karpenter_version="1.14.1",
)
def unfulfillable_spot(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    taints = {"taints": [GPU_TAINT]}
    add_pool(c, "gpu-spot", families=("g5",), capacity=("spot",), template=taints, labels={"tier": "gpu-spot"})
    fleet(c, "general", "orders/storefront", 4)
    pods = waiting(c, "ml/embed", 5, "31m", cpu="3", memory="12Gi", pool="gpu-spot", spec={"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]})  # fmt: skip
    error = (
        "creating instance, insufficient capacity, with fleet error(s), UnfulfillableCapacity: Unable to fulfill capacity due to "
        "your request configuration. Please adjust your request and try again."
    )
    for number in range(6):
        claim = gone_claim(c, "gpu-spot", number)
        age, note = f"{2 + 5 * number}m", f"NodeClaim {claim['metadata']['name']} event: {error}"
        c.series_event(
            claim, "InsufficientCapacityError", note, last=age, first=age, count=1, kind="Warning",
            controller="karpenter",
        )  # fmt: skip
    note = (
        "Failed to schedule pod, no instance type met the scheduling requirements or had a required offering; did not tolerate "
        "taint"
    )
    for pod in pods:
        c.series_event(
            pod, "FailedScheduling", note, last="1m", first="30m", count=7, kind="Warning", controller="karpenter"
        )


@incident(
    story="A new AWS account has never run spot. The pool batch is spot only, EC2 refuses each launch because the service-linked role for spot "
    "is missing and Karpenter may not create it. Nine pods wait for 38 minutes.",
    cause="Spot launches of pool batch fail because the account lacks the service-linked role for EC2 Spot; 9 pods are pending.",
    thread="aws/karpenter-provider-aws#3413",
    must=["spot", r"service-? ?linked|ServiceLinkedRole", "batch", n(9)],
    must_not=[LAUNCHES, r"(EC2|AWS) has no|sold out|out of capacity"],
)
def spot_role_missing(c: Cluster) -> None:
    usual(c)
    add_pool(c, "batch", capacity=("spot",))
    pods = waiting(c, "etl/loader", 9, "38m", pool="batch")
    error = (
        "AuthFailure.ServiceLinkedRoleCreationNotPermitted: The provided credentials do not have permission to create the "
        "service-linked role for EC2 Spot Instances."
    )
    refused(c, "batch", [error], pods, every=3, times=12)


@incident(
    story="The new NodeClass selects subnets of one VPC and a security group of another. EC2 refuses every launch of pool edge for "
    "34 minutes; Karpenter gives each NodeClaim up after five minutes, and six pods wait.",
    cause="Launches of pool edge fail because the security groups and subnets of its NodeClass are in different VPCs; 6 pods are pending.",
    thread="aws/karpenter-provider-aws#3007",
    must=["security ?group", "VPC|subnet", "edge", n(6)],
    must_not=[LAUNCHES, "sold out|insufficient capacity"],
    other=[
        {
            "command": ["explain", "node", "ip-10-24-16-65"],
            "must": [["disruption of all nodes  blocked until NodeClaim edge-.* has a provider ID"]],
        }
    ],
)
def groups_of_another_vpc(c: Cluster) -> None:
    add_nodeclass(c)
    add_nodeclass(c, "edge", spec={"securityGroupSelectorTerms": [{"tags": {"Name": "legacy-edge"}}]})
    text = "Security groups and subnets must be in the same VPC."
    add_pool(c, "general")
    add_pool(c, "edge", nodeclass="edge", registration=("SecurityGroupSubnetVPCMismatch", text, "29m"))
    fleet(c, "general", "orders/storefront", 3)
    add_node(
        c,
        "edge",
        "m6i.xlarge",
        c.zones[0],
        age="2m10s",
        stage="",
        launch_error=("SecurityGroupSubnetVPCMismatch", text),
    )
    waiting(c, "edge/proxy", 6, "34m", cpu="500m", memory="1Gi", pool="edge")


@incident(
    story="A load test elsewhere in the account uses up the request rate of EC2. Each call of Karpenter to CreateFleet is refused for nine minutes; three "
    "NodeClaims have no instance, and fourteen pods are pending.",
    cause="EC2 throttles Karpenter's launches (RequestLimitExceeded) for 9 minutes; 14 pods are pending.",
    thread="aws/karpenter-provider-aws#9175",
    must=[r"RequestLimitExceeded|throttl|request (rate )?limit", r"launch", n(14)],
    must_not=[r"\b(would|will) (be )?launch", ICE, r"NodePool[^\n]{0,40}\blimit\b"],
)
def launches_are_throttled(c: Cluster) -> None:
    usual(c, 9)
    text = (
        "creating instance, creating fleet request, operation error EC2: CreateFleet, exceeded maximum number of attempts, 3, https response error "
        "StatusCode: 503, api error RequestLimitExceeded: Request limit exceeded."
    )
    for number in range(3):
        pair = add_node(
            c, "general", "m6i.2xlarge", c.zones[number], age="4m30s", stage="", launch_error=("LaunchFailed", text)
        )
        assert pair.claim is not None
        c.event(pair.claim, "LaunchFailed", text, last="20s", first="4m20s", count=9)
    waiting(c, "orders/checkout", 14, "9m")


@incident(
    story="An AKS cluster with node autoprovisioning. The subscription's quota of cores in the region is used up, Azure refuses each new machine for 33 "
    "minutes, and six pods are pending.",
    cause="Azure refuses machines for NodePool default: the subscription's core quota in the region is reached; 6 pods are pending.",
    thread="Azure/karpenter-provider-azure#192",
    must=[r"quota|capacity limit for your subscription|regional (capacity )?limit", "default", n(6)],
    must_not=[r"EC2NodeClass|\bEC2\b|\bAWS\b", r"\b(would|will) (be )?launch", ROOM],
    other=[{"command": ["forward", "--horizon", "1h"], "must": [["launch"]], "mustNot": [r"\$0\.00"]}],
    karpenter_runs=False,
    settings={"CLUSTER_NAME": "orders-aks"},
    karpenter_version="1.13.0",
)
def azure_core_quota(c: Cluster) -> None:
    nodeclass = add_nodeclass(c)
    nodeclass["spec"] = {"imageFamily": "Ubuntu2204", "osDiskSizeGB": 128}
    ready = [condition(item, "True", c.at("60d")) for item in ("ImagesReady", "KubernetesVersionReady", "Ready")]
    nodeclass["status"] = {"kubernetesVersion": "1.35.2", "conditions": ready}
    family = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["D"]}
    add_pool(c, "default", families=(), sizes=(), requirements=[family])
    fleet(c, "default", "orders/storefront", 5)
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    pods = waiting(c, "orders/checkout", 6, "33m")
    text = (
        "creating instance, insufficient capacity, The regional capacity limit for your subscription has been reached. To scale beyond this limit, "
        "please review the quota increase process here: https://learn.microsoft.com/en-us/azure/quotas/regional-quota-requests"
    )
    for number in range(10):
        claim = gone_claim(c, "default", number)
        name = claim["metadata"]["name"]
        c.event(claim, "InsufficientCapacityError", f"NodeClaim {name} event: {text}", last=f"{1 + 3 * number}m")
        if not number:
            for pod in pods:
                message = f"NodeClaim {name} nominated for this pod failed to launch: {text}"
                c.event(pod, "InsufficientCapacityError", message, last="1m", count=10)
    keep = ("instance-family", "instance-cpu", "instance-memory")
    for pair in c.nodes:
        for manifest in filter(None, (pair.node, pair.claim)):
            labels = manifest["metadata"]["labels"]
            for key in [*labels]:
                if key.startswith("karpenter.k8s.aws/instance") and not key.endswith(keep):
                    del labels[key]
            if pair.claim is not None:
                labels["karpenter.k8s.aws/instance-family"] = "D"
    rename(c.objects, AKS)
    for pair in c.nodes:
        pair.zone = rename(pair.zone, AKS)


@incident(
    story="Two things together: EC2 has had no spot capacity for the pool spot for 26 minutes, and the pool on-demand, meant as its fallback, is at its "
    "limit of 16 cores. Ten pods are pending.",
    cause="EC2 has no spot capacity for NodePool spot, and its fallback on-demand is at its limit of 16 cores; 10 pods are pending.",
    thread="aws/karpenter-provider-aws#5789",
    must=[ICE, "spot", "limit", r"on-demand\b", n(10)],
    must_not=[LAUNCHES, ROOM],
    karpenter_version="1.14.1",
)
def no_spot_and_fallback_at_its_limit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",), families=("m6i",), sizes=("xlarge",), weight=50)
    add_pool(c, "on-demand", families=("m6i",), sizes=("xlarge",), weight=10, limits={"cpu": "16"})
    fleet(c, "on-demand", "orders/storefront", 4)
    fleet(c, "spot", "orders/thumbnails", 5, capacity="spot", age="4d")
    pods = waiting(c, "orders/checkout", 10, "26m")
    errors = [
        f"UnfulfillableCapacity: Unable to fulfill capacity due to your request configuration (m6i.xlarge, spot, {zone})" for zone in c.zones
    ]  # fmt: skip
    refused(c, "spot", errors, pods, every=2, times=12)
    error = (
        "no instance type met the scheduling requirements or had a required offering; all available instance types exceed limits for nodepool "
        "(NodePool=on-demand)"
    )
    unschedulable(c, pods, error, minutes=26)


@incident(
    story="Pool reserved may use a capacity reservation only, and ranks before the on-demand pool. The reservation is full, so "
    "six pods wait for 72 minutes; Karpenter 1.15 neither tries the other pool nor writes an event.",
    cause="The capacity reservation of pool reserved is full, and Karpenter waits for it instead of using pool general: "
    "6 pods are pending.",
    thread="zalando-incubator/kubernetes-on-aws#11623",
    must=[
        "reserv",
        r"\bfull\b|no (free )?(room|slot|capacity)|exhausted|used up|\b0 (free|left|slots)|none (is )?(left|free)|\btaken\b",
        n(6),
        "quotes|orders/",
    ],
    must_not=[LAUNCHES, ROOM],
    instance_types=m7i(0),
)
def reservation_full(c: Cluster) -> None:
    reservation = {
        "id": "cr-0b51f7d2c94e8a360",
        "instanceType": "m7i.2xlarge",
        "availabilityZone": "us-east-1b",
        "instanceMatchCriteria": "targeted",
        "ownerID": "111122223333",
        "reservationType": "default",
        "interruptible": False,
        "state": "active",
    }
    add_nodeclass(c)
    add_nodeclass(
        c,
        "reserved",
        spec={"capacityReservationSelectorTerms": [{"id": reservation["id"]}]},
        status={"capacityReservations": [reservation]},
    )
    add_pool(
        c, "reserved", families=("m7i",), sizes=("2xlarge",), capacity=("reserved",), weight=50, nodeclass="reserved"
    )
    add_pool(c, "general", families=("m7i",), sizes=("2xlarge",), weight=10)
    pairs = [add_node(c, "reserved", "m7i.2xlarge", "us-east-1b", capacity="reserved", age="20d") for _ in range(4)]
    for pair in pairs:
        for manifest in (pair.node, pair.claim):
            assert manifest is not None
            manifest["metadata"]["labels"]["karpenter.k8s.aws/capacity-reservation-id"] = reservation["id"]
            manifest["metadata"]["labels"]["karpenter.k8s.aws/capacity-reservation-type"] = "default"
    add_workload(c, "orders/quotes", on=pairs, count=8, pending=6, pending_since="72m", cpu="3500m", memory="12Gi")


@incident(
    story="AWS shifted traffic away from us-east-1b 19 minutes ago, and Karpenter launches nothing there while the zonal shift lasts. "
    "cache-1 has its volume in that zone and waits.",
    cause="A zonal shift keeps Karpenter from launching in us-east-1b, and cache/redis-1 has its volume there.",
    thread="aws/karpenter-provider-aws#4165",
    must=[r"zonal ?shift|shifted", r"1b\b", "redis-1", "volume|PVC|PersistentVolume|disk|zone"],
    must_not=[LAUNCHES, ROOM],
)
def zonal_shift(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    fleet(c, "general", "orders/storefront", 4, zones=[c.zones[0], c.zones[2]])
    volumes = [add_volume(c, "cache", f"data-redis-{number}", zone) for number, zone in enumerate(c.zones[:2])]
    host = add_node(c, "general", "m6i.xlarge", c.zones[0])
    pods = add_workload(
        c,
        "cache/redis",
        kind="StatefulSet",
        message="0/7 nodes are available: 2 Insufficient cpu, 5 node(s) had volume node affinity conflict. preemption: 0/7 nodes "
        "are available: 2 No preemption victims found for incoming pod, 5 Preemption is not helpful for scheduling.",
        on=[host],
        pending=1,
        pending_since="17m",
        cpu="3",
        memory="10Gi",
    )
    for pod, volume in zip(pods, volumes, strict=True):
        pod["spec"]["volumes"] = [volume]
    text = "Zonal shift detected: offerings in zone us-east-1b (use1-az6) are unavailable for this NodePool"
    c.event(c.find("NodePool", "general"), "ZonalShiftActive", text, last="1m", first="19m", count=9)
    error = "no instance type met the scheduling requirements or had enough resources or had a required offering"
    unschedulable(c, pods[1:], error, minutes=17)


@incident(
    story="The static pool gateway should have five nodes and has three: EC2 has had no m7i.2xlarge in us-east-1b for 40 minutes. No pod is pending, so "
    "nobody notices that the spare capacity is missing.",
    cause="Static NodePool gateway has 3 of its 5 replicas: EC2 has no capacity of m7i.2xlarge in us-east-1b for 40 minutes.",
    thread="kaito-project/kaito#2295",
    must=["gateway", r"3 of (its )?5|3/5|[^\n]*\b3\b[^\n]*\b5\b|2 (nodes|replicas)[^\n]*(missing|short|lack)", ICE],
    must_not=[r"[1-9]\d* pods? (is|are) pending"],
    settings={"FEATURE_GATES": "StaticCapacity=true"},
)
def static_pool_is_short(c: Cluster) -> None:
    usual(c)
    add_pool(
        c, "gateway", families=("m7i",), sizes=("2xlarge",), zones=("us-east-1b",), replicas=5, limits={"nodes": "6"}
    )
    pairs = [add_node(c, "gateway", "m7i.2xlarge", "us-east-1b", age="5d") for _ in range(3)]
    add_workload(c, "edge/gateway", on=pairs, cpu="4", memory="12Gi", pool="gateway")
    error = (
        "InsufficientInstanceCapacity: We currently do not have sufficient m7i.2xlarge capacity in the Availability Zone you requested "
        "(us-east-1b). Our system will be working on provisioning additional capacity."
    )
    refused(c, "gateway", [error], [], every=2, times=20)


@incident(
    story="Disks of the pool secure are encrypted with a KMS key whose policy does not admit Karpenter's role. EC2 accepts each launch and "
    "ends the instance half a minute later; six NodeClaims came and went in 27 minutes, none became a node.",
    cause="Instances of pool secure end within a minute of their launch, before they become nodes; 5 pods are pending for 27 minutes.",
    thread="aws/karpenter-provider-aws#1407",
    must=[
        "secure",
        r"instances?.{0,60}(terminat|end|stop|die|gone|vanish)|terminat\w+.{0,60}instance",
        r"never|before|not (register|join|become)|without|soon|within",
        n(5),
    ],
    must_not=[r"spot (interrupt|node)", ICE],
)
def instances_end_at_once(c: Cluster) -> None:
    usual(c)
    key = "arn:aws:kms:us-east-1:111122223333:key/0d2f3c41-5a7b-4c1e-9a51-6f0e8d7c2b19"
    disk = {"volumeSize": "100Gi", "volumeType": "gp3", "encrypted": True, "kmsKeyID": key}
    add_nodeclass(c, "secure", spec={"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": disk}]})
    add_pool(c, "secure", nodeclass="secure")
    fresh = add_node(c, "secure", "m6i.xlarge", c.zones[0], age="25s", stage="Launched")
    pods = waiting(c, "vault/signer", 5, "27m", pool="secure")
    nominated(c, pods, [fresh], last="20s", count=7)
    for number in range(6):
        claim, age = gone_claim(c, "secure", number), f"{1 + 4 * number}m"
        c.event(claim, "InstanceTerminating", "Instance is terminating", last=age)
        c.event(claim, "TerminatingOnInterruption", "Interruption triggered termination for the NodeClaim", last=age)


@incident(
    story="The Cluster Autoscaler was never switched off after the move to Karpenter. For every pending pod it grows the node group while Karpenter "
    "launches a node, and one of them is removed again as empty: eight nodes in the last hour.",
    cause="cluster-autoscaler and Karpenter both add nodes for the same pending pods, so 8 nodes were launched and removed empty in the last hour.",
    thread="aws/karpenter-provider-aws#2543",
    must=[r"cluster.?autoscaler", r"karpenter", r"both|same pods?|also|as well|twice|doubl|next to"],
    must_not=[r"karpenter (itself )?(is|has been) (down|stopped)"],
)
def two_autoscalers(c: Cluster) -> None:
    usual(c)
    image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0"
    add_workload(
        c, "kube-system/cluster-autoscaler", on=c.system[:1], cpu="100m", memory="300Mi", image=image, age="200d"
    )
    grown = [add_group_node(c, "m6i.large", zone, age="9m") for zone in c.zones[:2]]
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[2], age="40s", stage="Launched")
    pods = waiting(c, "orders/checkout", 3, "70s")
    nominated(c, pods, [fresh], last="45s")
    for pod in pods:
        text = "pod triggered scale-up: [{eks-system-9ac1f2 4->5 (max: 10)}]"
        c.event(pod, "TriggeredScaleUp", text, last="50s", kind="Normal", source="cluster-autoscaler")
    for number in range(8):
        for item in (gone_claim(c, "general", number),):
            c.event(
                item, "DisruptionTerminating", "Disrupting NodeClaim: Empty", last=f"{4 + 7 * number}m", kind="Normal"
            )
    for pair in grown[:1]:
        assert pair.node is not None
        text = "marked the node as toBeDeleted/unschedulable"
        c.event(pair.node, "ScaleDown", text, last="11m", kind="Normal", source="cluster-autoscaler")
