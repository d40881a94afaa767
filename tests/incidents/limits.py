"""NodePools at a limit, or without enough instance types."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import HOST, fleet, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, order_of
from tests.incidents.node_objects import add_node, both
from tests.incidents.objects import Object, digest, uid
from tests.incidents.pods import add_pdb, add_workload, no_node, required, waiting
from tests.incidents.pools import add_nodeclass, add_pool

SELECTOR = "node(s) didn't match Pod's node affinity/selector"


def of_pool(name: str) -> Object:
    """Return the spec of a pod that selects a NodePool."""
    return {"nodeSelector": {"karpenter.sh/nodepool": name}}


@incident(
    story="The pool's smallest node was raised from large to xlarge two days ago. Its four old nodes use up the limit of 8 cores, so "
    "the limit leaves no room for any replacement, and the drift stands still.",
    cause="NodePool general is at its limit of 8 cores and its smallest allowed node has 4, so none of its 4 drifted nodes can be "
    "replaced.",
    thread="JiRaska/open-bank-oss#3570",
    must=["general", "limit", "drift", n(4), r"\b2 ?d|4[78] ?h|two days"],
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
    add_workload(c, "orders/storefront", on=pairs, cpu="1400m", memory="4Gi")
    error = "all available instance types exceed limits for nodepool (NodePool=general)"
    for number, pair in enumerate(pairs):
        name = next(
            item["metadata"]["name"]
            for item in c.objects
            if item["kind"] == "Pod"
            and item["metadata"]["namespace"] == "orders"
            and item["spec"].get("nodeName") == pair.name
        )
        for manifest in both(pair):
            text = f"Not all pods would schedule, orders/{name} => {error} "
            c.event(manifest, "DisruptionBlocked", text, last=f"{1 + number}m", first="57m", count=27, kind="Normal")


@incident(
    story="The pool edge may have six nodes, by a limit on nodes and not on cores. It has six, and three pods wait for 27 minutes.",
    cause="NodePool edge is at its limit of 6 nodes, so 3 pods are pending.",
    thread="kubernetes-sigs/karpenter#2657",
    must=["edge", "limit", n(6), n(3)],
    must_not=[LAUNCHES, ROOM],
)
def node_limit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "edge", limits={"nodes": "6"})
    fleet(c, "edge", "edge/proxy", 6)
    pods = waiting(c, "edge/bouncer", 3, "27m")
    unschedulable(c, pods, "node limits have been exhausted for nodepool (NodePool=edge)", minutes=27)


@incident(
    story="Each Kafka broker must be alone on its node, and the pool brokers may have five nodes. A sixth broker was added three hours ago; the nodes "
    "are half empty, but none may take it.",
    cause="events/kafka-5 needs a node without another kafka pod (anti-affinity), and NodePool brokers is at its limit of 5 nodes.",
    thread="kubernetes-sigs/karpenter#2657",
    must=["kafka", "limit", "brokers", n(5), r"anti-? ?affinity|one (pod )?per node|node of its own"],
    must_not=[LAUNCHES, ROOM, ICE],
    karpenter_version="1.13.0",
)
def one_pod_per_node_at_the_node_limit(c: Cluster) -> None:
    usual(c, 18)
    add_pool(c, "brokers", limits={"nodes": "5"})
    pairs = [add_node(c, "brokers", "m6i.2xlarge", c.zones[number % 3], age="20d") for number in range(5)]
    spec = {**of_pool("brokers"), **required("podAntiAffinity", "kafka", HOST)}
    pods = add_workload(c, "events/kafka", kind="StatefulSet", message=no_node({SELECTOR: 20, "node(s) didn't match pod anti-affinity rules": 5}), on=pairs, pending=1, pending_since="3h", age="19d", cpu="3", memory="12Gi", spec=spec)  # fmt: skip
    unschedulable(c, pods[5:], "node limits have been exhausted for nodepool (NodePool=brokers)", minutes=180)


@incident(
    story="The only pool is at its limit of 32 cores. Pods of the shop have a higher priority than those of the reports, so kube-scheduler preempts reports "
    "again and again: 18 in the last hour, and seven of them are pending.",
    cause="NodePool general is at its limit of 32 cores, so shop pods preempt reports/render pods (18 in an hour); 7 of these are pending.",
    thread="kubernetes-sigs/karpenter#1396",
    must=["limit", r"\bgeneral\b", r"reports/render", n(7), r"preempt"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def preemption_at_the_limit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", limits={"cpu": "32"}, sizes=("xlarge",))
    c.add("PriorityClass", "shop", age="90d", value=100000, globalDefault=False)
    pairs = fleet(c, "general", "orders/storefront", 8, each=2)
    add_workload(c, "shop/cart", on=pairs, age="4m", spec={"priorityClassName": "shop", "priority": 100000})  # fmt: skip
    pods = waiting(c, "reports/render", 7, "52m")
    for number in range(18):
        meta = {
            "name": f"{pods[0]['metadata']['name'][:-6]}-{digest(number)[:5]}",
            "namespace": "reports",
            "uid": uid(c.name, number),
        }
        text = f"Preempted by pod {uid(c.name, 'cart', number)} on node {pairs[number % 8].name}"
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        c.event(pod, "Preempted", text, last=f"{4 + 3 * number}m", kind="Normal", source="default-scheduler")
    unschedulable(c, pods, "all available instance types exceed limits for nodepool (NodePool=general)", minutes=50)


@incident(
    story="The pool general has reached its memory limit, and five pods wait for 44 minutes. Beside that, the budget of the Vault "
    "pods has blocked the drift of three nodes since yesterday: nobody suffers from it yet.",
    cause="NodePool general is at its limit of 64Gi memory and 5 pods are pending; less urgent, the PodDisruptionBudget "
    "payments/vault blocks the drift of 3 nodes.",
    thread="JiRaska/open-bank-oss#3570",
    must=["limit", "general", n(5), "vault", "drift"],
    must_not=[LAUNCHES, ROOM],
    other=[order_of("limit", "vault")],
)
def limit_and_budget(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", limits={"memory": "64Gi"})
    taint = {"key": "dedicated", "value": "vault", "effect": "NoSchedule"}
    add_pool(c, "vault", template={"taints": [taint]})
    fleet(c, "general", "orders/storefront", 4)
    pairs = [add_node(c, "vault", "m6i.xlarge", zone, drifted="26h", age="17d") for zone in c.zones]
    tolerations = [{"key": "dedicated", "operator": "Equal", "value": "vault", "effect": "NoSchedule"}]
    add_workload(
        c,
        "payments/vault",
        kind="StatefulSet",
        on=pairs,
        age="16d",
        cpu="3",
        memory="10Gi",
        spec={"tolerations": tolerations},
    )
    add_pdb(c, "payments", "vault", "vault", healthy=3, desired=3, expected=3, maxUnavailable=0)
    text = "Pdb prevents pod evictions (PodDisruptionBudget=[payments/vault])"
    for pair in pairs:
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", text, last="1m", first="58m", count=28, kind="Normal")
    pods = waiting(
        c,
        "orders/checkout",
        5,
        "44m",
        "0/9 nodes are available: 3 node(s) had untolerated taint {dedicated: vault}, 6 Insufficient cpu. preemption: 0/9 "
        "nodes are available: 3 Preemption is not helpful for scheduling, 6 No preemption victims found for incoming pod.",
    )
    error = (
        "all available instance types exceed limits for nodepool (NodePool=general); did not tolerate taint "
        "(taint=dedicated=vault:NoSchedule)"
    )
    unschedulable(c, pods, error, minutes=44)


@incident(
    story="Pool spread wants its launches to stay flexible over ten instance families (minValues), but it allows the seventh m "
    "generation only, which has fewer. Six pods wait for 40 minutes.",
    cause="NodePool spread demands minValues 10 on instance-family, more than its other requirements leave; 6 pods are pending.",
    thread="karpenter.sh: NodePools, Min Values",
    must=[r"minValues|min values|at least 10|flexib", "spread", n(6), "instance-family|famil"],
    must_not=[LAUNCHES, ROOM],
)
def min_values(c: Cluster) -> None:
    add_nodeclass(c)
    narrow = [("karpenter.k8s.aws/instance-category", ["m"]), ("karpenter.k8s.aws/instance-generation", ["7"])]
    listed = [{"key": key, "operator": "In", "values": values} for key, values in narrow]
    families = {"key": "karpenter.k8s.aws/instance-family", "operator": "Exists", "minValues": 10}
    add_pool(c, "spread", families=(), requirements=[*listed, families])
    add_pool(c, "general")
    fleet(c, "general", "orders/storefront", 3)
    pods = waiting(c, "orders/pricing", 6, "40m", pool="spread")
    pool = c.find("NodePool", "spread")
    text = "NodePool requirements filtered out all compatible available instance types due to minValues incompatibility"
    c.event(pool, "NoCompatibleInstanceTypes", text, last="30s", first="40m", count=38)
    text = "incompatible requirements, key karpenter.sh/nodepool, karpenter.sh/nodepool In [spread] not in karpenter.sh/nodepool In [general]"
    unschedulable(c, pods, text, minutes=40)


@incident(
    story="A pool for simulations wants more than 64 vCPUs, and its template was copied from a pool of small nodes: the sizes xlarge and 2xlarge are "
    "still required. No instance type is left, so four pods are pending for 26 minutes.",
    cause="The requirements of NodePool simulate leave no instance type (more than 64 vCPUs, and sizes xlarge and 2xlarge); 4 pods are pending.",
    thread="aws/karpenter-provider-aws#8535",
    must=["simulate", r"instance-?(cpu|size)|requirements?", r"instance types?", n(4)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def requirements_leave_no_type(c: Cluster) -> None:
    usual(c)
    add_pool(
        c, "simulate", requirements=[{"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["64"]}]
    )
    pods = waiting(c, "fluid/solver", 4, "26m", pool="simulate")
    text = "NodePool requirements filtered out all compatible available instance types"
    c.event(c.find("NodePool", "simulate"), "NoCompatibleInstanceTypes", text, last="30s", first="26m", count=25)
    error = "incompatible requirements, key karpenter.sh/nodepool, karpenter.sh/nodepool In [simulate] not in karpenter.sh/nodepool In [general]"
    unschedulable(c, pods, error, minutes=26)
