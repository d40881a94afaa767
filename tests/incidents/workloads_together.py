"""Pods of several workloads that fail together, and what their nodes share; and a look-alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.incidents.cluster import Cluster, NodePair
from tests.incidents.fleets import usual
from tests.incidents.incident import ICE, LAUNCHES, incident, n, quiet
from tests.incidents.node_objects import add_node
from tests.incidents.objects import Object
from tests.incidents.pods import add_pdb, add_workload
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.workloads import crash, not_ready

PENDING = r"[1-9]\d* pods?[^\n]{0,30} pending"
NAMES = ("shop/web", "shop/cart", "bi/cube", "ads/rank", "mail/out", "feed/api")


def not_ready_since(pod: Object, since: str) -> None:
    """Make a running pod not ready since an instant."""
    not_ready(pod)
    for state in pod["status"]["conditions"]:
        if state["type"] in ("Ready", "ContainersReady"):
            state["lastTransitionTime"] = since


def _nodes(c: Cluster, count: int) -> list[NodePair]:
    usual(c)
    return [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="8d") for number in range(count)]


def _fail(
    c: Cluster, names: Sequence[str], nodes: Sequence[NodePair], bad: Sequence[NodePair], fail: Callable[[Object], None]
) -> None:
    """Add workloads with a pod on each node, and let those on some nodes fail."""
    for name in names:
        for pod in add_workload(c, name, on=nodes, age="3d", cpu="100m", memory="128Mi"):
            if pod["spec"]["nodeName"] in [pair.name for pair in bad]:
                fail(pod)


@incident(
    story="The conntrack table of one node is full: each pod on it crashes when it connects to its database. The same workloads run on the other nodes, and the node is ready.",
    cause="6 pods of 6 workloads crash on ip-10-24-17-133; their other pods run elsewhere.",
    thread="aws/karpenter-provider-aws#6170",
    must=[n(6), "crash", r"on (the )?node ip-10-24-17-133", "other|elsewhere|only"],
    must_not=[LAUNCHES, PENDING, ICE],
)
def pods_of_one_node_crash(c: Cluster) -> None:
    nodes = _nodes(c, 5)
    _fail(c, NAMES, nodes, nodes[:1], lambda pod: crash(c, pod, code=1, restarts=17, ago="90s"))


@incident(
    story="A firewall rule cuts us-east-1c from the database. Pods of five workloads crash there, and only there.",
    cause="10 pods of 5 workloads crash, all in us-east-1c; their pods in other zones run.",
    thread="aws/karpenter-provider-aws#988",
    must=[n(10), "crash", "us-east-1c"],
    must_not=[LAUNCHES, PENDING, ICE],
)
def pods_of_one_zone_crash(c: Cluster) -> None:
    nodes = _nodes(c, 6)
    bad = [pair for pair in nodes if pair.zone == c.zones[2]]
    _fail(c, NAMES[:5], nodes, bad, lambda pod: crash(c, pod, code=1, restarts=11, ago="90s"))


@incident(
    story="The rules of kube-proxy are gone on one node since its iptables were upgraded. Six pods there have not been ready for 25 minutes, as their readiness probes ask other services; their replicas elsewhere are ready, and so is the node.",
    cause="6 pods of 6 workloads on ip-10-24-17-133 have not been ready for 25 minutes; their other pods are ready.",
    thread="kubernetes/kubernetes#112463",
    must=[n(6), r"not (been )?ready", r"node ip-10-24-17-133", r"2[45] ?m"],
    must_not=[LAUNCHES, PENDING, ICE],
)
def pods_of_one_node_are_not_ready(c: Cluster) -> None:
    def fail(pod: Object) -> None:
        not_ready_since(pod, c.at("25m"))
        text = 'Readiness probe failed: Get "http://10.24.17.9:8080/ready": context deadline exceeded'
        c.event(pod, "Unhealthy", text, last="5s", first="25m", count=150, source="kubelet")

    nodes = _nodes(c, 5)
    _fail(c, NAMES, nodes, nodes[:1], fail)


@incident(
    story="A drift to a new image is half done. On the four nodes with it the pods of four workloads crash, on the four old ones they run. Karpenter goes on.",
    cause="16 pods of 4 workloads crash, all on the nodes with the new image; on the nodes with the old image they run.",
    thread="bottlerocket-os/bottlerocket#4851",
    must=[n(16), "crash", r"2023\.9\.20261123"],
    must_not=[LAUNCHES, PENDING, ICE],
)
def new_image_lets_several_workloads_crash(c: Cluster) -> None:
    usual(c)
    old = [add_node(c, "general", "m6i.xlarge", c.zones[i % 3], age="8d", drifted="3h") for i in range(4)]
    new = [add_node(c, "general", "m6i.xlarge", c.zones[i % 3], age=f"{40 + 30 * i}m") for i in range(4)]
    for pair in new:
        pair.status["nodeInfo"]["osImage"] = "Amazon Linux 2023.9.20261123"
    _fail(c, NAMES[:4], [*old, *new], new, lambda pod: crash(c, pod, code=1, restarts=9, ago="90s"))


@incident(
    story="A default-deny NetworkPolicy was applied to namespace shop an hour ago. All pods of its three Deployments crash, as they resolve no names. CoreDNS and other namespaces are well.",
    cause="All 12 pods of the 3 Deployments of namespace shop crash (exit code 1); pods of other namespaces run.",
    thread="kubernetes/kubernetes#56901",
    must=[n(12), "shop/", "crash", "no other runs|all (of them|12)"],
    must_not=[LAUNCHES, PENDING, ICE, "coredns"],
    first=1,
)
def all_pods_of_a_namespace_crash(c: Cluster) -> None:
    nodes = _nodes(c, 4)
    _fail(
        c,
        ("shop/web", "shop/cart", "shop/mail"),
        nodes,
        nodes,
        lambda pod: crash(c, pod, code=1, restarts=14, ago="2m"),
    )
    add_workload(c, "bi/cube", on=nodes, age="3d", cpu="100m", memory="128Mi")


@incident(
    story="A shared database is down: 28 pods of 14 workloads crash. Besides, EC2NodeClass gpu has found no subnets for five hours, and a PodDisruptionBudget that never allows an eviction blocks the drift of five nodes for four days. The crashes must not hide the other two.",
    cause="28 pods of 14 workloads crash; EC2NodeClass gpu finds no subnets for 5 hours; the PodDisruptionBudget db/vault never allows an eviction, which blocks the drift of 5 nodes.",
    thread="kubernetes/kubernetes#56901",
    must=[n(28), "crash", "EC2NodeClass gpu", r"subnet", "db/vault", n(5)],
    must_not=[LAUNCHES, PENDING, ICE],
)  # fmt: skip
def many_crash_and_two_other_faults(c: Cluster) -> None:
    usual(c)
    missing = ("SubnetsNotFound", "SubnetSelector did not match any Subnets")
    add_nodeclass(c, "gpu", broken={"SubnetsReady": missing}, since="5h", status={"subnets": []})
    add_pool(c, "gpu", nodeclass="gpu", families=("g5",), not_ready=("SubnetsNotFound", "SubnetsReady=False", "5h"))
    old = [add_node(c, "general", "m6i.2xlarge", c.zones[i % 3], age="9d", drifted="4d") for i in range(5)]
    add_workload(c, "db/vault", kind="StatefulSet", on=old, age="8d", cpu="500m", memory="1Gi")
    add_pdb(c, "db", "vault", "vault", healthy=5, desired=5, expected=5, maxUnavailable=0)
    names = [f"app/service-{number:02}" for number in range(14)]
    _fail(c, names, old[:2], old[:2], lambda pod: crash(c, pod, code=1, restarts=9, ago="90s"))


@incident(
    story="Consolidation moved the only pod of wiki/app 36 minutes ago. Its readiness probe fails since, and nobody has noticed: nothing crashes, and no pod is pending.",
    cause="wiki/app, the only pod of its Deployment, has not been ready for 35 minutes: its readiness probe fails.",
    thread="kubernetes-sigs/karpenter#2689",
    must=["wiki/app", r"not (been )?ready", r"3[345] ?m"],
    must_not=[LAUNCHES, PENDING, ICE],
)
def only_replica_is_not_ready(c: Cluster) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.xlarge", c.zones[0], age="37m")
    pod = add_workload(c, "wiki/app", on=[host], age="35m", cpu="500m", memory="1Gi")[0]
    not_ready_since(pod, c.at("35m"))
    text = "Readiness probe failed: HTTP probe failed with statuscode: 503"
    c.event(pod, "Unhealthy", text, last="5s", first="34m", count=200, source="kubelet")


@quiet(
    story="Six pods on a node that joined 90 seconds ago are not ready yet, as always in their first minute; their replicas elsewhere are. Three pods of three workloads crashed a minute ago, each on another node, and run again after one restart.",
    cause="pods start on a new node, and three others were restarted once.",
    thread="kubernetes/kubernetes#106697",
    must_not=["crash", r"not (been )?ready"],
)
def fine_pods_start_on_a_new_node(c: Cluster) -> None:
    nodes = _nodes(c, 3)
    new = add_node(c, "general", "m6i.xlarge", c.zones[0], age="90s")
    for number, name in enumerate(NAMES):
        pods = add_workload(c, name, on=[*nodes, new], age="3d", cpu="100m", memory="128Mi")
        not_ready_since(pods[3], c.at("50s"))
        if number < 3:
            ended = {"reason": "Error", "exitCode": 1, "startedAt": c.at("9m"), "finishedAt": c.at("60s")}
            pods[number]["status"]["containerStatuses"][0] |= {"restartCount": 1, "lastState": {"terminated": ended}}
