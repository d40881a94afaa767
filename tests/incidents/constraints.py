"""Pending pods: each of their constraints can be satisfied, or could once, but no node satisfies all of them."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import GPU_POD, GPU_TAINT, NO_TYPE, ZONE, fleet, nominated, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node, both
from tests.incidents.pods import SELECTOR, add_volume, add_workload, no_node, required, waiting
from tests.incidents.pools import add_nodeclass, add_pool

NOT_THERE = r"no (such )?NodePool|there is no|not exist|missing|not found|unknown|which no|\bgone\b"


@incident(
    story="The NodePool workers was renamed to general last night: a new one was made, and the old one deleted with its nodes. One Deployment still selects karpenter.sh/nodepool: workers; its four "
    "pods are pending for nine hours. The reader has kubectl's lists, without events.",
    cause="4 pods of crm/worker select the NodePool workers by karpenter.sh/nodepool, and no NodePool has that name.",
    thread="aws/karpenter-provider-aws#5406",
    must=["crm/worker", r"\bworkers\b", r"karpenter\.sh/nodepool|NodePool", n(4), NOT_THERE],
    must_not=[LAUNCHES, ROOM, ICE],
    listed=("Node", "NodeClaim", "NodePool", "EC2NodeClass", "Pod", "DaemonSet"),
)
def selects_a_renamed_pool(c: Cluster) -> None:
    usual(c, 5)
    waiting(c, "crm/worker", 4, "9h", pool="workers")


@incident(
    story="The manifest of a job that runs once a quarter still has the node selector of Karpenter's alpha API, karpenter.sh/provisioner-name: default. No node has that label any more, and Karpenter "
    "ignores pods with it without an event. Three pods are pending for 75 minutes.",
    cause="3 pods of etl/quarter select karpenter.sh/provisioner-name, a label of Karpenter's alpha API, which no NodePool has.",
    thread="aws/karpenter-provider-aws#5645",
    must=["etl/quarter", r"karpenter\.sh/provisioner-name", n(3), NOT_THERE + "|not allowed|restricted|ignore|alpha"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def label_of_the_alpha_api(c: Cluster) -> None:
    usual(c)
    selector = {"nodeSelector": {"karpenter.sh/provisioner-name": "default"}}
    waiting(c, "etl/quarter", 3, "75m", kind="Job", age="75m", spec=selector)


@incident(
    story="A database was restored from a snapshot, and its new volume was made in us-east-1c. The StatefulSet still selects zone us-east-1a, as the old volume was there. The pod is pending for 26 hours, "
    "longer than events are kept.",
    cause="reporting/clickhouse-0 selects zone us-east-1a, and its volume is in us-east-1c, so it fits no node.",
    thread="aws/karpenter-provider-aws#5599",
    must=["clickhouse", "us-east-1a", "us-east-1c", r"volume|PVC|PersistentVolume"],
    must_not=[LAUNCHES, ROOM, ICE, r"no NodePool (may )?launch(es)? (nodes )?(there|in us-east)"],
)
def volume_and_selector_in_two_zones(c: Cluster) -> None:
    usual(c)
    spec = {"nodeSelector": {ZONE: "us-east-1a"}, "volumes": [add_volume(c, "reporting", "data-clickhouse-0", "us-east-1c", age="27h")]}  # fmt: skip
    text = no_node({SELECTOR: 4, "node(s) had volume node affinity conflict": 2})
    waiting(c, "reporting/clickhouse", 1, "26h", text, kind="StatefulSet", spec=spec)
    c.objects = [manifest for manifest in c.objects if manifest["kind"] != "Event"]


@incident(
    story="NodePool spot launches spot in us-east-1a and us-east-1b, NodePool steady on-demand in us-east-1c. A queue broker has its volume in us-east-1c, and a new chart makes it select spot. "
    "Neither pool has both; the pod is pending for 49 minutes.",
    cause="queue/broker-0 selects spot and has its volume in us-east-1c; only NodePool steady launches there, and it has no spot.",
    thread="aws/karpenter-provider-aws#4407",
    must=["broker", r"\bspot\b", r"us-east-1c|\b1c\b", r"volume|PVC|PersistentVolume"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def spot_and_volume_of_another_pool(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",), zones=c.zones[:2])
    add_pool(c, "steady", zones=c.zones[2:])
    fleet(c, "spot", "orders/thumbnails", 3, zones=c.zones[:2], capacity="spot", age="2d")
    fleet(c, "steady", "orders/storefront", 3, zones=c.zones[2:])
    spec = {
        "nodeSelector": {"karpenter.sh/capacity-type": "spot"},
        "volumes": [add_volume(c, "queue", "data-broker-0", "us-east-1c")],
    }
    text = no_node({SELECTOR: 5, "node(s) had volume node affinity conflict": 3})
    pods = waiting(c, "queue/broker", 1, "49m", text, kind="StatefulSet", spec=spec)
    error = (
        f'incompatible with nodepool "steady", daemonset overhead={{"cpu":"190m","memory":"120Mi","pods":"4"}}, incompatible requirements, key karpenter.sh/capacity-type, '
        f'karpenter.sh/capacity-type In [spot] not in karpenter.sh/capacity-type In [on-demand]; incompatible with nodepool "spot", daemonset overhead={{"cpu":"190m","memory":"120Mi",'
        f'"pods":"4"}}, incompatible requirements, key {ZONE}, {ZONE} In [us-east-1c] not in {ZONE} In [us-east-1a us-east-1b]'
    )
    unschedulable(c, pods, error, minutes=49)


@incident(
    story="A team moved to Graviton by changing the architecture in its node selector to arm64, and left the instance family m6i, which is Intel. The NodePool allows both, but no instance has both. Six pods are "
    "pending for 32 minutes.",
    cause="6 pods of video/preview select arm64 and the instance family m6i, which is amd64, so no instance type fits.",
    thread="aws/karpenter-provider-aws#7535",
    must=["video/preview", "arm64", "m6i", n(6)],
    must_not=[LAUNCHES, ROOM, ICE, r"volume|limit"],
)
def arm64_with_an_intel_family(c: Cluster) -> None:
    usual(c, arch=("amd64", "arm64"), families=("m6i", "m7g"))
    host = add_node(c, "general", "m7g.xlarge", c.zones[1], age="4d")
    add_workload(c, "video/index", on=[host], count=3, age="3d", spec={"nodeSelector": {"kubernetes.io/arch": "arm64"}})
    selector = {"kubernetes.io/arch": "arm64", "karpenter.k8s.aws/instance-family": "m6i"}
    pods = waiting(c, "video/preview", 6, "32m", spec={"nodeSelector": selector})
    unschedulable(c, pods, "no instance type met all requirements", minutes=32)


@incident(
    story="Builds need 60Gi of scratch space, so a team set the volume /dev/xvda to 200Gi. On Bottlerocket that is the volume of the operating system; pods live on /dev/xvdb, which has 20Gi. "
    "Four builds are pending for 21 minutes.",
    cause="4 pods of ci/bazel request 60Gi of ephemeral storage, and the data volume (/dev/xvdb) of NodePool builds has 20Gi; /dev/xvda is only the system's on Bottlerocket.",
    thread="aws/karpenter-provider-aws#1563",
    must=["ci/bazel", r"ephemeral|storage|disk", r"xvdb|data volume|\b20 ?Gi|1[5-9][.\d]* ?Gi", n(4)],
    must_not=[LAUNCHES, ROOM, ICE, r"200 ?Gi (is|of) (too|not)"],
)
def volume_of_the_operating_system(c: Cluster) -> None:
    usual(c)
    disks = [
        {"deviceName": name, "ebs": {"volumeSize": size, "volumeType": "gp3", "encrypted": True}}
        for name, size in (("/dev/xvda", "200Gi"), ("/dev/xvdb", "20Gi"))
    ]
    terms = [{"alias": "bottlerocket@v1.53.0"}]
    manifest = add_nodeclass(c, "builds", spec={"amiSelectorTerms": terms, "blockDeviceMappings": disks})
    for ami in manifest["status"]["amis"]:
        arch = ami["requirements"][0]["values"][0].replace("amd64", "x86_64").replace("arm64", "aarch64")
        ami["name"] = f"bottlerocket-aws-k8s-1.35-{arch}-v1.53.0-7c19aa2f"
    add_pool(c, "builds", nodeclass="builds", labels={"team": "ci"})
    pods = waiting(
        c, "ci/bazel", 4, "21m", kind="Job", age="21m", cpu="2", memory="4Gi", requests={"ephemeral-storage": "60Gi"},
        spec={"nodeSelector": {"team": "ci"}},
    )  # fmt: skip
    unschedulable(c, pods, "no instance type has enough resources", minutes=21)


@incident(
    story="The platform team found NodeOverlays in the documentation and made one that adds smarter-devices/fuse to all instance types. The alpha gate NodeOverlay is off, so Karpenter does not read it. Seven "
    "image builds are pending for 43 minutes.",
    cause="NodeOverlay fuse has no effect because the feature gate NodeOverlay is off, so no instance type has smarter-devices/fuse; 7 pods of ci/kaniko are pending.",
    thread="kubernetes-sigs/karpenter#1305",
    must=[r"NodeOverlay", r"gate", r"smarter-devices/fuse", n(7)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def overlay_without_the_gate(c: Cluster) -> None:
    usual(c)
    everything = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
    c.add("NodeOverlay", "fuse", age="2h", spec={"requirements": [everything], "capacity": {"smarter-devices/fuse": "20"}})  # fmt: skip
    pods = waiting(c, "ci/kaniko", 7, "43m", cpu="500m", memory="1Gi", requests={"smarter-devices/fuse": "1"})
    unschedulable(c, pods, "no instance type has enough resources", minutes=43)


@incident(
    story="A gateway must run in the zone of its matching engine (required podAffinity by zone). The engine runs in us-east-1c; the gateway's own NodePool edge launches in us-east-1a and us-east-1b only. "
    "Three pods are pending for 66 minutes.",
    cause="3 pods of trading/gateway must be in the zone of trading/matcher (us-east-1c), and NodePool edge, the only one they may use, does not launch there.",
    thread="kubernetes-sigs/karpenter#2809",
    must=["trading/gateway", r"affinit", r"matcher", r"us-east-1c|\b1c\b", n(3)],
    must_not=[LAUNCHES, ROOM, ICE, r"has no such pod|no pod (with|matches)"],
)
def affinity_to_a_zone_without_the_pool(c: Cluster) -> None:
    usual(c)
    add_pool(c, "edge", zones=c.zones[:2], labels={"network": "edge"})
    hosts = [add_node(c, "edge", "m6i.xlarge", zone, age="11d") for zone in c.zones[:2]]
    add_workload(c, "trading/feed", on=hosts, count=6, age="10d", spec={"nodeSelector": {"network": "edge"}})
    engine = add_node(c, "general", "m6i.2xlarge", c.zones[2], age="3d")
    add_workload(c, "trading/matcher", on=[engine], age="2d", cpu="6", memory="24Gi")
    spec = {"nodeSelector": {"network": "edge"}, **required("podAffinity", "matcher", ZONE)}
    text = no_node({SELECTOR: 7, "node(s) didn't match pod affinity rules": 2})
    pods = waiting(c, "trading/gateway", 3, "66m", text, spec=spec)
    error = (
        f'incompatible with nodepool "edge", daemonset overhead={{"cpu":"190m","memory":"120Mi","pods":"4"}}, unsatisfiable topology constraint for pod affinity, key={ZONE} (counts = '
        f"us-east-1a: 0, us-east-1b: 0, us-east-1c: 1, podDomains = {ZONE} Exists, nodeDomains = {ZONE} In [us-east-1a us-east-1b])"
    )
    unschedulable(c, pods, error, minutes=66)


@incident(
    story="A model grew, and its pods ask for two GPUs now. The NodePool allows g5.xlarge and g5.2xlarge, which have one each. Two pods are pending for 3 hours.",
    cause="2 pods of ml/llm request 2 GPUs each, and the instance types of NodePool gpu (g5.xlarge and g5.2xlarge) have one.",
    thread="aws/karpenter-provider-aws#8064",
    must=["ml/llm", r"nvidia\.com/gpu|GPU", r"\bgpu\b", n(2), r"more than|no (compatible |allowed )?(instance )?type|too (big|many|large)|only 1|at most 1|have (only )?(1|one)|has (only )?(1|one)"],
    must_not=[LAUNCHES, ROOM, ICE, r"quota|vCPU limit", r"device plugin"],
)  # fmt: skip
def two_gpus_on_types_with_one(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), sizes=("xlarge", "2xlarge"), template={"taints": [GPU_TAINT]})
    host = add_node(c, "gpu", "g5.2xlarge", c.zones[0], gpus=1, age="20h")
    add_workload(c, "ml/embed", on=[host], age="19h", cpu="3", memory="12Gi", requests={"nvidia.com/gpu": "1"}, spec=GPU_POD)  # fmt: skip
    text = no_node({SELECTOR: 6, "Insufficient nvidia.com/gpu": 1})
    pods = waiting(c, "ml/llm", 2, "3h", text, cpu="2", memory="8Gi", requests={"nvidia.com/gpu": "2"}, spec=GPU_POD)
    unschedulable(c, pods, NO_TYPE, minutes=180)


@incident(
    story="The AMI of pool cache reserves huge pages in its user data, so its nodes have less memory than Karpenter computes. A cache pod of 12Gi should fit an m6i.xlarge; each new node is too small, "
    "and Karpenter launches the next one. Three nodes in 17 minutes, all empty.",
    cause="session/redis-0 does not fit on the nodes that Karpenter launches for it: they have 11.2Gi of allocatable memory instead of the 14Gi it expected; 3 were launched in 17 minutes.",
    thread="kubernetes-sigs/karpenter#1185",
    must=["session/redis|redis-0", "memory", r"allocatable|less|smaller|too small|does not fit|do not fit|expected", n(3), r"\bcache\b"],
    must_not=[ROOM, ICE, r"too (big|large) for (every|any|all|each)", r"limit"],
)  # fmt: skip
def new_nodes_are_too_small(c: Cluster) -> None:
    usual(c)
    data = "[settings.kernel.sysctl]\n'vm.nr_hugepages' = '1400'\n"
    add_nodeclass(c, "cache", spec={"userData": data})
    add_pool(c, "cache", nodeclass="cache", families=("m6i",), sizes=("xlarge",), labels={"team": "cache"}, disruption={"consolidateAfter": "30m"})  # fmt: skip
    pods = waiting(c, "session/redis", 1, "17m", no_node({SELECTOR: 6, "Insufficient memory": 3}), kind="StatefulSet", cpu="1", memory="12Gi", spec={"nodeSelector": {"team": "cache"}})  # fmt: skip
    wants = {"cpu": "1190m", "memory": "12408Mi", "pods": "5"}
    for age in ("16m", "11m", "5m"):
        pair = add_node(c, "cache", "m6i.xlarge", c.zones[0], age=age, requests=wants)
        both(pair)[0]["status"]["allocatable"] |= {"memory": "11744051Ki", "hugepages-2Mi": "2800Mi"}
        both(pair)[0]["status"]["capacity"]["hugepages-2Mi"] = "2800Mi"
        nominated(c, pods, [pair], last=age, count=3)


@incident(
    story="The reservation of two r7i.2xlarge is in us-east-1b. NodePool reserved, which may only use reserved capacity, is limited to us-east-1a and us-east-1c, where the company's other nodes are. Three pods are "
    "pending for 55 minutes.",
    cause="The capacity reservation of NodePool reserved is in us-east-1b, and its NodePool launches in us-east-1a and us-east-1c only; 3 pods are pending.",
    thread="kubernetes-sigs/karpenter#1760",
    must=[r"\breserved\b", "reservation", r"zone|us-east-1b", n(3), "hpc/solver"],
    must_not=[LAUNCHES, ROOM, r"reservations? (is|are) full|full reservation", r"selects no"],
)
def reservation_in_another_zone(c: Cluster) -> None:
    usual(c)
    reservation = {
        "id": "cr-0f3a1c5d7e9b2846a", "instanceType": "r7i.2xlarge", "availabilityZone": "us-east-1b", "instanceMatchCriteria": "targeted",
        "ownerID": "111122223333", "reservationType": "default", "interruptible": False, "state": "active",
    }  # fmt: skip
    terms = {"capacityReservationSelectorTerms": [{"id": reservation["id"]}]}
    add_nodeclass(c, "reserved", spec=terms, status={"capacityReservations": [reservation]})
    add_pool(c, "reserved", families=("r7i",), sizes=("2xlarge",), capacity=("reserved",), zones=("us-east-1a", "us-east-1c"), nodeclass="reserved")  # fmt: skip
    pods = waiting(c, "hpc/solver", 3, "55m", cpu="6", memory="40Gi", pool="reserved")
    unschedulable(c, pods, "no instance type has the required offering", minutes=55)


@incident(
    story="NodePool gpu was given weight 100 so that GPU pods prefer it, and it has no taint. Since yesterday all new nodes come from it, also for ordinary pods: five g5.xlarge run services that need no GPU.",
    cause="NodePool gpu has the highest weight (100) and no taint, so ordinary pods get its GPU nodes: 5 nodes run no pod that uses a GPU.",
    thread="aws/karpenter-provider-aws#7535",
    must=[r"\bgpu\b", r"weight|first|before|heav", r"taint|GPU|accelerator", n(5)],
    must_not=[LAUNCHES, r"pods? pending", r"do-not-disrupt", "device plugin"],
)
def gpu_pool_takes_ordinary_pods(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), sizes=("xlarge",), weight=100)
    hosts = [add_node(c, "gpu", "g5.xlarge", c.zones[number % 3], age=f"{22 - 3 * number}h", gpus=1) for number in range(5)]  # fmt: skip
    add_workload(c, "orders/catalog", on=hosts, count=15, age="7h")


@incident(
    story="A Deployment was pinned to the instance family m5 two years ago. The only NodePool was moved to generations above 5 last week; the running nodes stayed until they expired. Three pods are pending for 5 hours.",
    cause="3 pods of erp/ledger select the instance family m5, and NodePool general only allows instance generations above 5.",
    thread="aws/karpenter-provider-aws#8535",
    must=["erp/ledger", r"\bm5\b", r"instance-generation|generation|\bgeneral\b", n(3)],
    must_not=[LAUNCHES, ROOM, ICE, r"limit"],
)
def family_of_an_old_generation(c: Cluster) -> None:
    generation = {"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["5"]}
    category = {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]}
    usual(c, families=(), requirements=[category, generation])
    pods = waiting(c, "erp/ledger", 3, "5h", spec={"nodeSelector": {"karpenter.k8s.aws/instance-family": "m5"}})
    unschedulable(c, pods, "no instance type met all requirements", minutes=300)


@incident(
    story="The tag of the subnet in us-east-1b was lost in a Terraform change four hours ago. The EC2NodeClass still finds two subnets and is ready, and the nodes in us-east-1b still run. When one of them was replaced, the database pod with its "
    "volume there found no node; it is pending for 47 minutes.",
    cause="db/pg-1 needs us-east-1b, where its volume is, and EC2NodeClass default has no subnet there any more.",
    thread="aws/karpenter-provider-aws#4407",
    must=["pg-1|db/pg", r"us-east-1b|\b1b\b", r"volume|PVC|PersistentVolume", r"subnet|no (compatible |allowed )?(instance )?type|no zone|no offering|not? launch|available"],
    must_not=[ROOM, ICE, r"\b(would|will) (be )?launch", r"NodePools? [^\n]{0,30}not (been )?ready"],
)  # fmt: skip
def no_subnet_in_the_zone_of_the_volume(c: Cluster) -> None:
    usual(c, 6)
    subnets = c.find("EC2NodeClass", "default")["status"]["subnets"]
    subnets[:] = [subnet for subnet in subnets if subnet["zone"] != "us-east-1b"]
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="12d") for zone in (c.zones[0], c.zones[2])]
    running = add_workload(c, "db/pg", kind="StatefulSet", on=hosts, pending=1, pending_since="47m", age="11d", cpu="6", memory="24Gi")  # fmt: skip
    for pod, name, zone in zip(running, ("pg-0", "pg-2", "pg-1"), (c.zones[0], c.zones[2], c.zones[1]), strict=True):
        pod["metadata"]["name"] = name
        pod["spec"]["volumes"] = [add_volume(c, "db", f"data-{name}", zone)]
    c.objects = [
        manifest
        for manifest in c.objects
        if not (manifest["kind"] == "Event" and manifest["involvedObject"]["name"] == "pg-2")
    ]
    unschedulable(c, running[2:], "no instance type has the required offering", minutes=45)


@incident(
    story="Someone wrote the memory limit of a new NodePool as 1000, meaning gigabytes. Without a unit that is 1000 bytes, so the NodePool can never launch a node. Four pods are pending for 95 minutes.",
    cause="NodePool analytics can never launch: its memory limit is 1000 bytes (the unit is missing); 4 pods are pending.",
    thread="kubernetes-sigs/karpenter#1747",
    must=[r"\banalytics\b", r"limit", r"memory", n(4), r"\b1,?000"],
    must_not=[LAUNCHES, ROOM, ICE, r"1,?000 ?(Gi|Mi)"],
)
def memory_limit_without_a_unit(c: Cluster) -> None:
    usual(c)
    add_pool(c, "analytics", limits={"memory": "1000"}, labels={"team": "analytics"})
    pods = waiting(c, "bi/trino", 4, "95m", cpu="2", memory="8Gi", spec={"nodeSelector": {"team": "analytics"}})
    unschedulable(c, pods, "all available instance types exceed limits for nodepool (NodePool=analytics)", minutes=95)


@incident(
    story="The pods select team: Data, and the NodePool's label is team: data. Five pods are pending for 19 minutes; there are no events, as the reader has a list of pods and nodes only.",
    cause='5 pods of data/ingest select team "Data", and NodePool data has team "data".',
    thread="aws/karpenter-provider-aws#7535",
    must=["data/ingest", r"\bteam\b", r"\bData\b", n(5)],
    must_not=[LAUNCHES, ROOM, ICE],
    listed=("Node", "NodeClaim", "NodePool", "EC2NodeClass", "Pod", "DaemonSet", "Deployment", "ReplicaSet"),
)
def label_value_in_capitals(c: Cluster) -> None:
    usual(c)
    add_pool(c, "data", labels={"team": "data"}, families=("r6i",))
    host = add_node(c, "data", "r6i.xlarge", c.zones[0], age="3d")
    add_workload(c, "data/kafka", kind="StatefulSet", on=[host], age="2d", cpu="3", memory="20Gi", spec={"nodeSelector": {"team": "data"}})  # fmt: skip
    waiting(c, "data/ingest", 5, "19m", spec={"nodeSelector": {"team": "Data"}})


@incident(
    story="A NodePool was limited to one availability zone by its zone ID, with a typing error: use1-az9 does not exist. Its pods are pending for 2 hours.",
    cause="NodePool latency requires the zone ID use1-az9, in which nothing is offered, so it launches nothing; 3 pods are pending.",
    thread="aws/karpenter-provider-aws#3211",
    must=[r"\blatency\b", r"zone", r"use1-az9", n(3)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def zone_id_that_does_not_exist(c: Cluster) -> None:
    usual(c)
    zone = {"key": "topology.k8s.aws/zone-id", "operator": "In", "values": ["use1-az9"]}
    add_pool(c, "latency", requirements=[zone], labels={"tier": "latency"})
    pods = waiting(c, "trading/quotes", 3, "2h", spec={"nodeSelector": {"tier": "latency"}})
    unschedulable(c, pods, 'incompatible requirements, label "tier" does not have known values', minutes=120)


@incident(
    story="A Terraform change removed the only NodePool half an hour ago, and its nodes were drained. What was left over runs on the managed node group; seven pods are pending, and Karpenter reports nothing.",
    cause="There is no NodePool, so Karpenter launches nothing; 7 pods are pending.",
    thread="aws/karpenter-provider-aws#7436",
    must=[r"no NodePool|no NodePools|NodePool[^\n]{0,20}(missing|gone|deleted)", n(7), "orders/checkout"],
    must_not=[LAUNCHES, ROOM, ICE, r"karpenter is not running"],
)
def no_nodepool_is_left(c: Cluster) -> None:
    add_nodeclass(c)
    waiting(c, "orders/checkout", 7, "28m")


@incident(
    story="The PersistentVolume of a database was deleted by hand, so its claim is Lost. The pod is pending for 3 hours, since its node was replaced.",
    cause="erp/oracle-0 is pending for 3 hours: its PersistentVolumeClaim data-oracle-0 is Lost, because its volume no longer exists.",
    thread="kubernetes/kubernetes#89910",
    must=[
        "oracle",
        r"data-oracle-0|PVC|PersistentVolumeClaim|volume",
        r"lost|not exist|non-existent|missing|not found|gone|deleted",
    ],
    must_not=[LAUNCHES, ROOM, ICE],
)
def volume_claim_is_lost(c: Cluster) -> None:
    usual(c)
    volume = add_volume(c, "erp", "data-oracle-0", c.zones[1])
    c.objects = [manifest for manifest in c.objects if manifest["kind"] != "PersistentVolume"]
    c.find("PersistentVolumeClaim", "data-oracle-0")["status"]["phase"] = "Lost"
    text = no_node({'persistentvolumeclaim "data-oracle-0" bound to non-existent persistentvolume ""': 6})
    waiting(c, "erp/oracle", 1, "3h", text, kind="StatefulSet", cpu="1", memory="2Gi", spec={"volumes": [volume]})
