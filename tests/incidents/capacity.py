"""More ways to want a node in vain: sizes, minValues, limits, zonal shifts; and pods that are lost with their node."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.disruption import both
from tests.incidents.fleets import CPU, MEMORY, fleet, unschedulable, usual
from tests.incidents.incident import LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node
from tests.incidents.pods import add_pod, add_volume, add_workload
from tests.incidents.pools import add_nodeclass, add_pool


@incident(
    story="The pool's smallest node was raised from large to xlarge two days ago. Its four old nodes use up the limit of 8 cores, so "
    "the limit leaves no room for any replacement, and the drift stands still.",
    cause="NodePool general is at its limit of 8 cores and its smallest allowed node has 4, so none of its 4 drifted nodes can be "
    "replaced.",
    thread="JiRaska/open-bank-oss#3570",
    must=[["general"], ["limit"], ["drift"], [n(4), r"\bfour\b"], [r"\b2 ?d|4[78] ?h|two days"]],
)
def limit_stops_drift(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", limits={"cpu": "8"})
    pairs = [
        add_node(
            c, "general", "m6i.large", c.zones[number % 3], age="12d", drifted="2d", drift_reason="RequirementsDrifted"
        )
        for number in range(4)
    ]
    add_workload(c, "Deployment", "orders", "storefront", on=pairs, cpu="1400m", memory="4Gi")
    error = "all available instance types exceed limits for nodepool (NodePool=general)"
    for number, pair in enumerate(pairs):
        name = next(
            one["metadata"]["name"]
            for one in c.objects
            if one["kind"] == "Pod"
            and one["metadata"]["namespace"] == "orders"
            and one["spec"].get("nodeName") == pair.name
        )
        for one in both(pair):
            text = f"Not all pods would schedule, orders/{name} => {error} "
            c.event(one, "DisruptionBlocked", text, last=f"{1 + number}m", first="57m", count=27, kind="Normal")


@incident(
    story="A load test runs in a bare pod since this morning. Its node expires in 14 minutes, the pod is evicted, and nothing makes "
    "it again.",
    cause="qa/loadtest-anna has no owner and is lost when its node expires in 14 minutes.",
    thread="kubernetes-sigs/karpenter#1303",
    must=[
        ["loadtest-anna"],
        [r"expir"],
        [r"1[345] ?m|09:4[345]"],
        [
            r"\blost\b|never (come|return)|not (come back|return|(be )?(re-?)?(created|made))|no (owner|controller)|ownerless|without (an? )?(owner|controller)|gone for good|nothing (re)?(creates|makes|starts)|destroy|bare pod"
        ],
    ],
)
def bare_pod_expires(c: Cluster) -> None:
    usual(c)
    old = add_node(c, "general", "m6i.xlarge", c.zones[1], age=f"{720 * 60 - 14}m")
    add_workload(c, "Deployment", "orders", "catalog", on=[old], count=2, age="5d", cpu=CPU, memory=MEMORY)
    add_pod(c, "qa", "loadtest-anna", node=old, age="3h", cpu="1", memory="2Gi", labels={"run": "loadtest-anna"})


@incident(
    story="The new forecast pods ask for 96 GiB of memory, and the pools allow nodes of up to 64 GiB. Two pods wait for an hour.",
    cause="bi/forecast asks for 96Gi of memory, more than any instance type of the NodePools has.",
    thread="aws/karpenter-provider-aws#7578",
    must=[
        ["forecast"],
        [r"96 ?Gi|memory|too (big|large)|enough|resources|bigger|larger"],
        [n(2), r"\btwo\b"],
        [r"general|types?|big|large"],
    ],
    must_not=[LAUNCHES, ROOM],
)
def pod_too_big(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", families=("m6i", "m7i", "r6i"))
    fleet(c, "general", "orders", "storefront", 3)
    pods = add_workload(
        c,
        "Deployment",
        "bi",
        "forecast",
        pending=2,
        pending_since="60m",
        cpu="4",
        memory="96Gi",
        message="0/5 nodes are available: 5 Insufficient cpu, 5 Insufficient memory. preemption: 0/5 nodes are available: 5 No "
        "preemption victims found for incoming pod.",
    )
    unschedulable(c, pods, "no instance type has enough resources", minutes=60)


@incident(
    story="Pool spread wants its launches to stay flexible over ten instance families (minValues), but it allows the seventh m "
    "generation only, which has fewer. Six pods wait for 40 minutes.",
    cause="NodePool spread demands minValues 10 on instance-family, more than its other requirements leave; 6 pods are pending.",
    thread="karpenter.sh: NodePools, Min Values",
    must=[[r"minValues|min values|at least 10|flexib"], ["spread"], [n(6), r"\bsix\b"], ["instance-family|famil"]],
    must_not=[LAUNCHES, ROOM],
)
def min_values(c: Cluster) -> None:
    add_nodeclass(c)
    narrow = [("karpenter.k8s.aws/instance-category", ["m"]), ("karpenter.k8s.aws/instance-generation", ["7"])]
    listed = [{"key": key, "operator": "In", "values": values} for key, values in narrow]
    families = {"key": "karpenter.k8s.aws/instance-family", "operator": "Exists", "minValues": 10}
    add_pool(c, "spread", families=(), requirements=[*listed, families])
    add_pool(c, "general")
    fleet(c, "general", "orders", "storefront", 3)
    pods = add_workload(
        c,
        "Deployment",
        "orders",
        "pricing",
        pending=6,
        pending_since="40m",
        cpu=CPU,
        memory=MEMORY,
        spec={"nodeSelector": {"karpenter.sh/nodepool": "spread"}},
        message="0/5 nodes are available: 5 node(s) didn't match Pod's node affinity/selector. preemption: 0/5 nodes are "
        "available: 5 Preemption is not helpful for scheduling.",
    )
    pool = c.find("NodePool", "spread")
    text = "NodePool requirements filtered out all compatible available instance types due to minValues incompatibility"
    c.event(pool, "NoCompatibleInstanceTypes", text, last="30s", first="40m", count=38)
    text = "incompatible requirements, key karpenter.sh/nodepool, karpenter.sh/nodepool In [spread] not in karpenter.sh/nodepool In [general]"
    unschedulable(c, pods, text, minutes=40)


@incident(
    story="Someone protected three nodes during an incident in spring, by the annotation on the nodes. They are empty but for "
    "DaemonSets, and no method may touch them.",
    cause="Three empty nodes of general stay because the Nodes themselves say karpenter.sh/do-not-disrupt.",
    thread="kubernetes-sigs/karpenter#2855",
    must=[
        ["do-not-disrupt"],
        [n(3), r"\bthree\b"],
        [r"node"],
        [r"empty|no pods|unused|\$|cost|idle|saves?|kept|keeps?"],
    ],
)
def nodes_do_not_disrupt(c: Cluster) -> None:
    usual(c, 3)
    marks = {"karpenter.sh/do-not-disrupt": "true"}
    for zone in c.zones:
        pair = add_node(c, "general", "m6i.2xlarge", zone, age="21d", annotations=marks)
        text = 'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation'
        for one in both(pair):
            c.event(one, "DisruptionBlocked", text, last="1m", first="58m", count=28, kind="Normal")


@incident(
    story="AWS shifted traffic away from us-east-1b 19 minutes ago, and Karpenter launches nothing there while the zonal shift lasts. "
    "cache-1 has its volume in that zone and waits.",
    cause="A zonal shift keeps Karpenter from launching in us-east-1b, and cache/redis-1 has its volume there.",
    thread="aws/karpenter-provider-aws#4165",
    must=[[r"zonal ?shift|shifted"], [r"1b\b"], ["redis-1"], ["volume|PVC|PersistentVolume|disk|zone"]],
    must_not=[LAUNCHES, ROOM],
)
def zonal_shift(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    fleet(c, "general", "orders", "storefront", 4, zones=[c.zones[0], c.zones[2]])
    volumes = [add_volume(c, "cache", f"data-redis-{number}", zone) for number, zone in enumerate(c.zones[:2])]
    host = add_node(c, "general", "m6i.xlarge", c.zones[0])
    pods = add_workload(
        c,
        "StatefulSet",
        "cache",
        "redis",
        on=[host],
        pending=1,
        pending_since="17m",
        cpu="3",
        memory="10Gi",
        message="0/7 nodes are available: 2 Insufficient cpu, 5 node(s) had volume node affinity conflict. preemption: 0/7 nodes "
        "are available: 2 No preemption victims found for incoming pod, 5 Preemption is not helpful for scheduling.",
    )
    for pod, volume in zip(pods, volumes, strict=True):
        pod["spec"]["volumes"] = [volume]
    text = "Zonal shift detected: offerings in zone us-east-1b (use1-az6) are unavailable for this NodePool"
    c.event(c.find("NodePool", "general"), "ZonalShiftActive", text, last="1m", first="19m", count=9)
    error = "no instance type met the scheduling requirements or had enough resources or had a required offering"
    unschedulable(c, pods[1:], error, minutes=17)
