"""Pods that ask for what no node offers, or for a volume that is not made."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import ZONE, fleet, nominated, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, order_of
from tests.incidents.node_objects import add_node
from tests.incidents.pods import SELECTOR, add_claim, add_volume, add_workload, matching, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool

LINUX = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}


@incident(
    story="A team moved its old IIS application to the cluster. Its pods select Windows, and both pools launch Linux only; four pods are pending for 33 minutes.",
    cause="4 pods of legacy/invoice-iis select kubernetes.io/os windows, and every NodePool launches linux only.",
    thread="aws/karpenter-provider-aws#5404",
    must=["invoice-iis", "windows", r"kubernetes\.io/os|operating system|\bOS\b", n(4)],
    must_not=[LAUNCHES, ROOM, ICE],
    karpenter_version="1.14.1",
)
def windows_without_a_pool(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", requirements=[LINUX])
    add_pool(c, "spot", capacity=("spot",), requirements=[LINUX], weight=20)
    fleet(c, "general", "orders/storefront", 3)
    fleet(c, "spot", "orders/thumbnails", 4, capacity="spot", age="30h")
    pods = waiting(c, "legacy/invoice-iis", 4, "33m", spec={"nodeSelector": {"kubernetes.io/os": "windows"}})
    error = "incompatible requirements, key kubernetes.io/os, kubernetes.io/os In [windows] not in kubernetes.io/os In [linux]"
    unschedulable(c, pods, f"{error}; {error}", minutes=33)


@incident(
    story="The containers of the map tiler request half a core. Its new init container, which unpacks the tiles, requests 24 cores, and the pools have "
    "nodes of up to 8. Three pods are pending for 41 minutes, and nobody looks at init containers.",
    cause="3 pods of geo/tiler are too big for every NodePool: their init container unpack requests 24 cores.",
    thread="kubernetes-sigs/karpenter#479",
    must=["tiler", r"\b24\b|24000m", n(3), r"init ?container|unpack"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def init_container_too_big(c: Cluster) -> None:
    usual(c)
    first = {
        "name": "unpack",
        "image": "registry.example/unpack",
        "resources": {"requests": {"cpu": "24", "memory": "8Gi"}},
    }
    pods = waiting(c, "geo/tiler", 3, "41m", cpu="500m", memory="1Gi", spec={"initContainers": [first]})
    error = 'no instance type has enough resources, resources={"cpu":"24190m","memory":"8408Mi","pods":"5"}'
    unschedulable(c, pods, error, minutes=41)


@incident(
    story="The vault agents use security groups for pods: each requests a branch network interface. Their pool launches t3 instances, which have none.",
    cause="5 pods of vault/agent request vpc.amazonaws.com/pod-eni, which no instance type of NodePool burst has.",
    thread="aws/karpenter-provider-aws#2217",
    must=["pod-eni", r"\bburst\b", n(5), "vault/agent"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def no_branch_interfaces(c: Cluster) -> None:
    usual(c)
    add_pool(c, "burst", families=("t3",))
    eni = {"vpc.amazonaws.com/pod-eni": "1"}
    pods = waiting(c, "vault/agent", 5, "72m", cpu="500m", memory="1Gi", pool="burst", requests=eni)
    error = (
        "no instance type has enough resources, requirements=karpenter.sh/nodepool In [burst], resources="
        '{"cpu":"690m","memory":"1240Mi","pods":"5","vpc.amazonaws.com/pod-eni":"1"}'
    )
    unschedulable(c, pods, error, minutes=60)


@incident(
    story="The role of the EBS driver lost its right to use the key of the encrypted volumes. The third replica of the ledger was added 38 minutes ago: Karpenter "
    "launched a node for it, kube-scheduler chose that node, and the volume is never made.",
    cause="The volume of billing/ledger-2 cannot be created: the EBS driver is not authorized (UnauthorizedOperation) for 38 minutes.",
    thread="kubernetes-sigs/aws-ebs-csi-driver#1342",
    must=["ledger-2", r"volume|PVC|PersistentVolumeClaim", r"authori[sz]|Unauthorized|permission", r"3[78] ?m"],
    must_not=[LAUNCHES, ICE, r"no (new )?node (was |is )?launched", "but none was launched"],
)
def volume_is_never_made(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="20d") for zone in c.zones[:2]]
    fresh = add_node(c, "general", "m6i.2xlarge", c.zones[2], age="36m")
    volumes = [add_volume(c, "billing", f"data-ledger-{number}", c.zones[number]) for number in range(2)]
    manifest = add_claim(c, "billing", "data-ledger-2", "gp3", age="38m")
    manifest["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": fresh.name}
    text = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    pods = add_workload(c, "billing/ledger", kind="StatefulSet", message=text, on=pairs, pending=1, pending_since="38m", age="19d", cpu="5", memory="20Gi")  # fmt: skip
    last = {"name": "data", "persistentVolumeClaim": {"claimName": "data-ledger-2"}}
    for pod, volume in zip(pods, [*volumes, last], strict=True):
        pod["spec"]["volumes"] = [volume]
    text = (
        'failed to provision volume with StorageClass "gp3": rpc error: code = Internal desc = Could not create volume "pvc-8c1f": could not '
        "create volume in EC2: operation error EC2: CreateVolume, api error UnauthorizedOperation: You are not authorized to perform this operation."
    )
    source = "ebs.csi.aws.com_ebs-csi-controller-65968876bc-fsqtw"
    c.event(manifest, "ProvisioningFailed", text, last="50s", first="35m", count=14, source=source)
    nominated(c, pods[2:], [fresh], last="20s", count=80)


@incident(
    story="The fourth replica of the key-value store was restarted two hours ago. Its volume is in us-east-1a, where two of its peers are; us-east-1c has none, so the "
    "zone spread (maxSkew 1) allows it there only. No node satisfies both.",
    cause="store/kv-3 is pending for 2 hours: its volume is in us-east-1a, and its zone spread allows no further pod there.",
    thread="kubernetes-sigs/karpenter#1239",
    must=["kv-3", r"spread|skew", r"1a\b|volume|PVC", r"\b2 ?h|1[12]\d ?m"],
    must_not=[LAUNCHES, ICE],
)
def volume_and_spread_exclude_each_other(c: Cluster) -> None:
    usual(c, 6)
    zones = [c.zones[number] for number in (0, 0, 1, 0)]
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="20d") for zone in zones[:3]]
    spread = matching("kv", maxSkew=1, topologyKey=ZONE, whenUnsatisfiable="DoNotSchedule")
    pods = add_workload(c, "store/kv", kind="StatefulSet", message=no_node({"Insufficient cpu": 8, "node(s) didn't match pod topology spread constraints": 3}), on=pairs, pending=1, pending_since="2h", age="19d", cpu="3", memory="10Gi", spec={"topologySpreadConstraints": [spread]})  # fmt: skip
    for number, (pod, zone) in enumerate(zip(pods, zones, strict=True)):
        pod["spec"]["volumes"] = [add_volume(c, "store", f"data-kv-{number}", zone)]
    error = (
        f"unsatisfiable topology constraint for topology spread, key={ZONE} (counts = us-east-1a: 2, us-east-1b: 1, us-east-1c: 0, podDomains = {ZONE} "
        f"Exists, nodeDomains = {ZONE} In [us-east-1a])"
    )
    unschedulable(c, pods[3:], error, minutes=120)


@incident(
    story="Someone wrote a static NodePool for the ingress after reading the documentation, but the alpha gate StaticCapacity is off. Karpenter ignores the "
    "pool without a word: it has none of its four nodes, and the four ingress pods are pending for 52 minutes.",
    cause="Static NodePool ingress launches none of its 4 replicas because the feature gate StaticCapacity is off; 4 pods are pending.",
    thread="kubernetes-sigs/karpenter#2703",
    must=[r"static|replicas", r"StaticCapacity|gate", r"\bingress\b", n(4)],
    must_not=[LAUNCHES, ROOM, ICE, r"limit"],
)
def static_pool_without_the_gate(c: Cluster) -> None:
    usual(c)
    add_pool(c, "ingress", replicas=4)
    pods = waiting(c, "edge/envoy", 4, "52m", cpu="2", memory="4Gi", pool="ingress")
    text = "incompatible requirements, key karpenter.sh/nodepool, karpenter.sh/nodepool In [ingress] not in karpenter.sh/nodepool In [general]"
    unschedulable(c, pods, text, minutes=52)


@incident(
    story="A queue of the crawler was filled by mistake, and its autoscaler asked for 300 pods. They took what was left of the limit of the only pool; 230 are "
    "pending, and six checkout pods of a release are pending with them. Who only reads the checkout pods looks in the wrong place.",
    cause="NodePool general is at its limit of 120 cores, used up by bots/crawler: 230 of its pods and 6 of shop/checkout are pending.",
    thread="JiRaska/open-bank-oss#3352",
    must=["limit", r"\bgeneral\b", "crawler", n(236) + "|" + n(230), "checkout"],
    must_not=[LAUNCHES, ROOM, ICE],
    other=[order_of("limit", "checkout")],
)
def runaway_at_the_limit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", sizes=("xlarge",), limits={"cpu": "120"})
    fleet(c, "general", "orders/storefront", 7)
    pairs = fleet(c, "general", "bots/indexer", 23, age="40m", each=0)
    pods = add_workload(c, "bots/crawler", on=pairs, count=69, pending=230, pending_since="31m", age="38m")
    pods = [*pods[69:], *waiting(c, "shop/checkout", 6, "12m")]
    unschedulable(
        c, pods[::20], "all available instance types exceed limits for nodepool (NodePool=general)", minutes=30
    )


@incident(
    story="A recorder pinned itself to the node with its files by the label kubernetes.io/hostname. That node was consolidated three hours ago, and no node "
    "of that name ever comes again.",
    cause="2 pods of qa/recorder select the node ip-10-24-99-12.ec2.internal by kubernetes.io/hostname, and that node no longer exists.",
    thread="aws/karpenter-provider-aws#1200",
    must=[
        "recorder",
        "hostname",
        r"ip-10-24-99-12",
        n(2),
        r"no longer|not exist|no (such )?node|\bgone\b|no NodePool|cannot|never",
    ],
    must_not=[LAUNCHES, ROOM, ICE],
)
def pinned_to_a_gone_node(c: Cluster) -> None:
    usual(c, 5)
    spec = {"nodeSelector": {"kubernetes.io/hostname": "ip-10-24-99-12.ec2.internal"}}
    pods = waiting(c, "qa/recorder", 2, "3h", no_node({SELECTOR: 7}), cpu="500m", memory="1Gi", spec=spec)
    error = 'incompatible requirements, label "kubernetes.io/hostname" does not have known values'
    unschedulable(c, pods, error, minutes=60)


@incident(
    story="A pod affinity to the zone of an old cluster was copied: the pods require us-east-1f, where no subnet and no NodePool is. Four pods are pending for 70 minutes.",
    cause="4 pods of geo/router require the zone us-east-1f, in which no NodePool launches nodes.",
    thread="aws/karpenter-provider-aws#3211",
    must=["geo/router", r"us-east-1f", "zone", n(4)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def zone_of_no_subnet(c: Cluster) -> None:
    usual(c)
    add_pool(c, "batch", capacity=("spot",), zones=c.zones[:2])
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["us-east-1f"]}]}
    spec = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    }
    pods = waiting(c, "geo/router", 4, "70m", no_node({SELECTOR: 6}), spec=spec)
    unschedulable(c, pods, "no instance type has the required offering", minutes=60)


@incident(
    story="The build pods request the device smarter-devices/fuse, which a DaemonSet offers on the old nodes. Karpenter knows no instance type with it and launches nothing.",
    cause="6 pods of ci/image request smarter-devices/fuse, which no instance type of NodePool general has.",
    thread="kubernetes-sigs/karpenter#751",
    must=["smarter-devices/fuse", n(6), r"\bgeneral\b", "ci/image"],
    must_not=[LAUNCHES, ROOM, ICE],
    karpenter_version="1.14.1",
)
def device_that_karpenter_does_not_know(c: Cluster) -> None:
    usual(c, 6)
    pods = waiting(c, "ci/image", 6, "35m", cpu="500m", memory="1Gi", requests={"smarter-devices/fuse": "1"})
    unschedulable(c, pods, "no instance type has enough resources", minutes=35)


@incident(
    story="The database pods request 4Gi of huge pages. Instances have none before the user data reserves them, so Karpenter launches no node for two replicas.",
    cause="2 pods of db/oracle request hugepages-2Mi, which no instance type of the NodePools has.",
    thread="aws/karpenter-provider-aws#3315",
    must=["hugepages-2Mi", n(2), "oracle"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def huge_pages(c: Cluster) -> None:
    usual(c)
    pods = waiting(
        c, "db/oracle", 2, "26m", kind="StatefulSet", cpu="1", memory="4Gi", requests={"hugepages-2Mi": "4Gi"}
    )
    unschedulable(c, pods, "no instance type has enough resources", minutes=26)
