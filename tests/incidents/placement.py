"""Pods that no node takes because of a rule of the pods, of their volumes or of a NodePool."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import fleet, no_node, nominated, unschedulable, usual, waiting
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node
from tests.incidents.objects import Object
from tests.incidents.pods import add_namespace, add_volume, add_workload
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.third_look import SELECTOR, of_pool

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def matching(app: str, **more: str | int) -> Object:
    """Return a pod affinity term or a topology spread constraint over the pods of an application."""
    return {"labelSelector": {"matchLabels": {"app.kubernetes.io/name": app}}, **more}


def required(kind: str, app: str, key: str) -> Object:
    """Return a pod spec with a required podAffinity or podAntiAffinity."""
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [matching(app, topologyKey=key)]}}}


@incident(
    story="Build pods now request 60Gi of ephemeral storage for their caches. The EC2NodeClass of the pool builds gives each node a root volume of "
    "20Gi, so five pods are pending for 48 minutes.",
    cause="5 pods of ci/build request 60Gi of ephemeral storage, and nodes of builds have a root volume of 20Gi.",
    thread="aws/karpenter-provider-aws#2797",
    must=[
        [r"ephemeral|disk|root volume"],
        [r"60 ?Gi|20 ?Gi|root volume|blockDevice"],
        [r"\bbuilds\b"],
        [n(5), r"\bfive\b"],
    ],
    must_not=[LAUNCHES, ROOM, ICE],
)
def root_volume_too_small(c: Cluster) -> None:
    usual(c, 3)
    disk = {"volumeSize": "20Gi", "volumeType": "gp3", "encrypted": True}
    add_nodeclass(c, "builds", spec={"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": disk}]})
    add_pool(c, "builds", nodeclass="builds")
    pods = waiting(
        c, "ci/build", 5, "48m", no_node({SELECTOR: 5}), cpu="2", memory="4Gi", spec=of_pool("builds"),
        requests={"ephemeral-storage": "60Gi"},
    )  # fmt: skip
    error = (
        "no instance type has enough resources, requirements=karpenter.sh/nodepool In [builds], kubernetes.io/arch In [amd64], resources="
        '{"cpu":"2190m","ephemeral-storage":"60Gi","memory":"4216Mi","pods":"5"}'
    )
    unschedulable(c, pods, error, minutes=48)


@incident(
    story="The cluster was moved to a region in which only two zones are used. The spread of search/elastic still demands three domains, so the third "
    "of its pods is pending for two hours: with fewer domains than minDomains each zone takes one pod.",
    cause="search/elastic-2 is pending for 2 hours: its zone spread demands minDomains 3, and the NodePools have 2 zones.",
    thread="kubernetes-sigs/karpenter#2257",
    must=[
        ["elastic"],
        [r"minDomains|(3|three) (zones|domains)"],
        ["zone"],
        [r"\b2 zones|two zones|1a[^\n]*1b|only 2|has 2"],
    ],
    must_not=[LAUNCHES, ROOM, ICE],
    zones=("us-east-1a", "us-east-1b"),
    karpenter_version="1.14.1",
)
def fewer_zones_than_min_domains(c: Cluster) -> None:
    usual(c, 4)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="20d") for zone in c.zones]
    spread = matching("elastic", maxSkew=1, minDomains=3, topologyKey=ZONE, whenUnsatisfiable="DoNotSchedule")
    pods = add_workload(
        c, "StatefulSet", "search", "elastic", on=pairs, pending=1, pending_since="2h", age="19d", cpu="2", memory="8Gi",
        spec={"topologySpreadConstraints": [spread]},
        message=no_node({"Insufficient cpu": 6, "node(s) didn't match pod topology spread constraints": 2}),
    )  # fmt: skip
    error = (
        f"unsatisfiable topology constraint for topology spread, key={ZONE} (counts = us-east-1a: 1, us-east-1b: 1, podDomains = {ZONE} "
        f"Exists, nodeDomains = {ZONE} In [us-east-1a us-east-1b], minDomains = 3)"
    )
    unschedulable(c, pods[2:], error, minutes=120)


@incident(
    story="Each Kafka broker must be alone on its node, and the pool brokers may have five nodes. A sixth broker was added three hours ago; the nodes "
    "are half empty, but none may take it.",
    cause="events/kafka-5 needs a node without another kafka pod (anti-affinity), and NodePool brokers is at its limit of 5 nodes.",
    thread="kubernetes-sigs/karpenter#2657",
    must=[["kafka"], ["limit"], ["brokers"], [n(5)], [r"anti-? ?affinity|one (pod )?per node|node of its own"]],
    must_not=[LAUNCHES, ROOM, ICE],
    karpenter_version="1.13.0",
)
def one_pod_per_node_at_the_node_limit(c: Cluster) -> None:
    usual(c, 18)
    add_pool(c, "brokers", limits={"nodes": "5"})
    pairs = [add_node(c, "brokers", "m6i.2xlarge", c.zones[number % 3], age="20d") for number in range(5)]
    spec = {**of_pool("brokers"), **required("podAntiAffinity", "kafka", HOST)}
    pods = add_workload(
        c, "StatefulSet", "events", "kafka", on=pairs, pending=1, pending_since="3h", age="19d", cpu="3", memory="12Gi", spec=spec,
        message=no_node({SELECTOR: 20, "node(s) didn't match pod anti-affinity rules": 5}),
    )  # fmt: skip
    unschedulable(c, pods[5:], "node limits have been exhausted for nodepool (NodePool=brokers)", minutes=180)


@incident(
    story="A team built its image for Graviton and selects arm64. The pool arm would take the pods but has the taint arch=arm64, which they do not "
    "tolerate; the pool x86 launches amd64 only. Seven pods wait for 52 minutes.",
    cause="7 pods of media/thumbs select arm64 and do not tolerate the taint arch=arm64 of NodePool arm, the only one with arm64.",
    thread="aws/karpenter-provider-aws#5169",
    must=[["thumbs"], [r"taint|tolerat"], ["arch=arm64|arm64"], [n(7), r"\bseven\b"]],
    must_not=[LAUNCHES, ROOM, ICE],
)
def taint_of_the_arm_pool(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "x86")
    add_pool(
        c, "arm", families=("m7g",), arch=("arm64",), template={"taints": [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}]}
    )  # fmt: skip
    fleet(c, "x86", "orders", "storefront", 6)
    spec = {"nodeSelector": {"kubernetes.io/arch": "arm64"}}
    pods = waiting(c, "media/thumbs", 7, "52m", no_node({SELECTOR: 8}), spec=spec)
    error = (
        "did not tolerate taint (taint=arch=arm64:NoSchedule); incompatible requirements, key kubernetes.io/arch, kubernetes.io/arch In "
        "[arm64] not in kubernetes.io/arch In [amd64]"
    )
    unschedulable(c, pods, error, minutes=52)


@incident(
    story="A pool for simulations wants more than 64 vCPUs, and its template was copied from a pool of small nodes: the sizes xlarge and 2xlarge are "
    "still required. No instance type is left, so four pods are pending for 26 minutes.",
    cause="The requirements of NodePool simulate leave no instance type (more than 64 vCPUs, and sizes xlarge and 2xlarge); 4 pods are pending.",
    thread="aws/karpenter-provider-aws#8535",
    must=[["simulate"], [r"instance-?(cpu|size)|requirements?"], [r"instance types?"], [n(4), r"\bfour\b"]],
    must_not=[LAUNCHES, ROOM, ICE],
)
def requirements_leave_no_type(c: Cluster) -> None:
    usual(c)
    add_pool(
        c, "simulate", requirements=[{"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["64"]}]
    )
    pods = waiting(c, "fluid/solver", 4, "26m", no_node({SELECTOR: 6}), spec=of_pool("simulate"))
    text = "NodePool requirements filtered out all compatible available instance types"
    c.event(c.find("NodePool", "simulate"), "NoCompatibleInstanceTypes", text, last="30s", first="26m", count=25)
    error = "incompatible requirements, key karpenter.sh/nodepool, karpenter.sh/nodepool In [simulate] not in karpenter.sh/nodepool In [general]"
    unschedulable(c, pods, error, minutes=26)


@incident(
    story="The taint that Cilium removes from a ready node was written under taints of the new pool web instead of startupTaints. No pod tolerates it, "
    "so Karpenter launches nothing for the nine pods of the pool.",
    cause="9 pods of shop/web do not tolerate the taint node.cilium.io/agent-not-ready of NodePool web, which belongs under startupTaints.",
    thread="aws/karpenter-provider-aws#5293",
    must=[["agent-not-ready"], [r"taint|tolerat"], [r"\bweb\b"], [n(9), r"\bnine\b"]],
    must_not=[LAUNCHES, ROOM, ICE, r"Cilium (is|does) not"],
)
def startup_taint_among_the_taints(c: Cluster) -> None:
    usual(c)
    taint = {"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoExecute"}
    add_pool(c, "web", template={"taints": [taint]}, weight=10)
    pods = waiting(c, "shop/web", 9, "17m", no_node({SELECTOR: 6}), spec=of_pool("web"))
    unschedulable(c, pods, "did not tolerate taint (taint=node.cilium.io/agent-not-ready=true:NoExecute)", minutes=17)


@incident(
    story="Someone reserved 12Gi for the system in the EC2NodeClass dense, meant for larger nodes. Its pool launches nodes with 16Gi, of which less than "
    "3Gi are left; five pods that request 6Gi each are pending for an hour.",
    cause="EC2NodeClass dense reserves 12Gi of memory for the system, so no instance type of NodePool dense has the 6Gi that each of 5 pods requests.",
    thread="kubernetes-sigs/karpenter#1536",
    must=[[r"\bdense\b"], ["memory"], [r"reserv|kubelet"], [n(5), r"\bfive\b"]],
    must_not=[LAUNCHES, ROOM, ICE],
)
def kubelet_reserves_too_much(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "dense", spec={"kubelet": {"systemReserved": {"cpu": "200m", "memory": "12Gi"}}})
    add_pool(c, "dense", nodeclass="dense", families=("m6i", "m7i"), sizes=("xlarge",))
    pods = waiting(c, "bi/olap", 5, "61m", no_node({SELECTOR: 6}), cpu="1", memory="6Gi", spec=of_pool("dense"))
    error = (
        "no instance type has enough resources, requirements=karpenter.sh/nodepool In [dense], kubernetes.io/arch In [amd64], resources="
        '{"cpu":"1190m","memory":"6264Mi","pods":"5"}'
    )
    unschedulable(c, pods, error, minutes=60)


@incident(
    story="Render workers must share a node with the licence proxy, which was moved to another namespace on Friday. No pod of their own namespace has "
    "the label any more, so three workers are pending for 38 minutes.",
    cause="3 pods of render/worker require a node with a pod license-proxy (podAffinity), and namespace render has no such pod.",
    thread="aws/karpenter-provider-aws#7999",
    must=[
        ["render/worker"],
        [r"(?<!anti-)(?<!anti)\baffinity|podAffinity"],
        ["license-proxy"],
        [n(3), r"\bthree\b"],
        [r"\bno (such |matching |running )?pod|none|does not exist|not exist|nothing"],
    ],
    must_not=[LAUNCHES, ROOM, ICE, r"anti-? ?affinity"],
)
def affinity_to_a_pod_that_moved(c: Cluster) -> None:
    usual(c, 5)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="3d")
    add_workload(c, "Deployment", "licensing", "license-proxy", on=[host], age="3d", cpu="200m", memory="256Mi")
    spec = required("podAffinity", "license-proxy", HOST)
    pods = waiting(
        c, "render/worker", 3, "38m", no_node({"node(s) didn't match pod affinity rules": 8}), cpu="1", memory="2Gi", spec=spec
    )  # fmt: skip
    error = f"unsatisfiable topology constraint for pod affinity, key={HOST} (counts = , podDomains = {HOST} Exists, nodeDomains = {HOST} Exists)"
    unschedulable(c, pods, error, minutes=38)


@incident(
    story="The volume claim of a broken replica was deleted and its pod right after. A finalizer of the backup operator, which is not installed any more, "
    "keeps the claim, so the new pod is pending for 36 minutes.",
    cause="data/postgres-1 is pending for 36 minutes: its PersistentVolumeClaim data-postgres-1 is being deleted.",
    thread="kubernetes/kubernetes#89910",
    must=[
        ["postgres-1"],
        [r"PersistentVolumeClaim|PVC|volume"],
        [r"being deleted|terminating|deletion"],
        [r"3[56] ?m"],
    ],
    must_not=[LAUNCHES, ROOM, ICE],
)
def volume_claim_is_being_deleted(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="20d") for zone in c.zones[:2]]
    volumes = [add_volume(c, "data", f"data-postgres-{number}", zone) for number, zone in enumerate(c.zones[:2])]
    meta = c.find("PersistentVolumeClaim", "data-postgres-1")["metadata"]
    meta |= {"deletionTimestamp": c.at("37m"), "finalizers": ["backup.example.com/retain"]}
    pods = add_workload(
        c, "StatefulSet", "data", "postgres", on=pairs[:1], pending=1, pending_since="36m", age="19d", cpu="2", memory="8Gi",
        message='0/8 nodes are available: persistentvolumeclaim "data-postgres-1" is being deleted. preemption: 0/8 nodes are available: '
        "8 Preemption is not helpful for scheduling.",
    )  # fmt: skip
    for pod, volume in zip(pods, volumes, strict=True):
        pod["spec"]["volumes"] = [volume]


@incident(
    story="Volcano was scaled to zero for an upgrade last night and forgotten. Six training pods name it as their scheduler; no scheduler looks at them, "
    "so they have no condition and no event, and Karpenter ignores them.",
    cause="6 pods of ml/train are pending for 34 minutes: their scheduler, volcano, does not run (0 replicas).",
    thread="volcano-sh/volcano#2986",
    must=[[r"ml/train"], ["volcano"], ["scheduler"], [n(6), r"\bsix\b"], [r"3[34] ?m"]],
    must_not=[LAUNCHES, ROOM, ICE],
)
def scheduler_scaled_to_zero(c: Cluster) -> None:
    usual(c)
    add_namespace(c, "volcano-system")
    add_workload(c, "Deployment", "volcano-system", "volcano-scheduler", count=0, replicas=0, age="90d")
    waiting(c, "ml/train", 6, "34m", "", spec={"schedulerName": "volcano"}, scheduled=False)


@incident(
    story="Two faults: a Deployment with a ReadWriteOncePod volume was updated with a rolling update, so its new pod waits for the old one and the old "
    "one for the new. And a budget of 0 has blocked the drift of the pool web since Thursday.",
    cause="wiki/outline is pending for 27 minutes: another pod uses its ReadWriteOncePod volume; a budget of 0 nodes blocks the drift of 4 nodes of web.",
    thread="kubernetes/kubernetes#103305",
    must=[
        ["outline"],
        [r"ReadWriteOncePod|(another|other|old|running) pod[^\n]{0,60}(volume|claim)|(volume|claim)[^\n]{0,80}(another|other|old|running) pod"],
        ["drift"],
        ["budget"],
        [n(4), r"\bfour\b"],
    ],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def exclusive_volume_and_budget_of_zero(c: Cluster) -> None:
    usual(c)
    add_pool(c, "web", disruption={"budgets": [{"nodes": "0"}]})
    fleet(c, "web", "shop", "frontend", 4, drifted="5d", age="19d")
    room = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="20d")
    volume = add_volume(c, "wiki", "outline-data", c.zones[0])
    c.find("PersistentVolumeClaim", "outline-data")["spec"]["accessModes"] = ["ReadWriteOncePod"]
    text = no_node(
        {"node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode": 1, "Insufficient cpu": 10}
    )  # fmt: skip
    pods = add_workload(
        c, "Deployment", "wiki", "outline", on=[room], pending=1, pending_since="27m", age="12d", replicas=1, cpu="1", memory="2Gi",
        spec={"volumes": [volume]}, message=text,
    )  # fmt: skip
    nominated(c, pods[1:], [room], last="20s", count=12)
