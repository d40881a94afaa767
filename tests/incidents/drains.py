"""Nodes and NodeClaims that are being deleted and stay."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import fleet, usual
from tests.incidents.incident import incident, n
from tests.incidents.node_objects import NOT_READY, add_node, both, conditions
from tests.incidents.objects import condition
from tests.incidents.pods import PROTECTED, add_pdb, add_workload
from tests.incidents.pools import add_nodeclass, add_pool

FOREVER = r"never|no end|without end|no (time )?limit|forever|indefinitely|for ever|no terminationGracePeriod|without (a )?terminationGracePeriod"


@incident(
    story="A node expired yesterday and is draining for 26 hours. The last pod is the licence server: one replica, and a "
    "PodDisruptionBudget that wants one. Nothing ends this, and the node is paid for.",
    cause="The PodDisruptionBudget erp/licensing never allows the eviction of its only pod, so a node drains for 26 hours already.",
    thread="kubernetes-sigs/karpenter#2802",
    must=[
        "licensing",
        "PDB|PodDisruptionBudget|disruption budget|evict",
        r"26 ?h|1d ?2h|25 ?h|\b1d\b",
        "drain|delet|terminat|expir",
    ],
)
def pdb_of_single_replica(c: Cluster) -> None:
    usual(c)
    old = add_node(c, "general", "m6i.xlarge", c.zones[0], age="31d2h", deleting="26h")
    conditions(old, condition("Drained", "Unknown", c.at("26h"), "Draining", "Draining"))
    add_workload(c, "erp/licensing", on=[old], age="28d", cpu="500m", memory="1Gi")
    add_pdb(c, "erp", "licensing", "licensing", healthy=1, desired=1, expected=1, minAvailable=1)
    node = both(old)[0]
    c.event(
        node,
        "FailedDraining",
        "Failed to drain node, 1 pods are waiting to be evicted",
        last="1m",
        first="1h",
        count=30,
    )


@incident(
    story="Three nodes of pool research reached expireAfter (30 days) nine days ago and have been draining ever since. On each a notebook "
    "with do-not-disrupt is still running, and without terminationGracePeriod Karpenter waits for it without end. They take no new pods and "
    "cost money.",
    cause="3 expired nodes of research have been draining for 9 days because do-not-disrupt protects the pods ml/notebook, and there is no "
    "terminationGracePeriod.",
    thread="kubernetes-sigs/karpenter#1789",
    must=[n(3), r"\b9 ?d|21[5-7] ?h|8d2\d", r"drain|delet|terminat|expir", "do-not-disrupt", "notebook"],
    must_not=[r"notebook[^\n]{0,60}(will be|is|are) (killed|lost|deleted) (in|at)"],
)
def expired_and_never_drained(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "research", sizes=("2xlarge",), labels={"team": "research"})
    fleet(c, "general", "orders/storefront", 4)
    pairs = [add_node(c, "research", "m6i.2xlarge", zone, age="39d", deleting="9d") for zone in c.zones]
    for pair in pairs:
        conditions(pair, condition("Drained", "Unknown", c.at("9d"), "Draining", "Draining"))
    add_workload(c, "ml/notebook", kind="StatefulSet", on=pairs, age="36d", cpu="2", memory="8Gi", annotations=PROTECTED, spec={"nodeSelector": {"team": "research"}})  # fmt: skip
    for pair in pairs:
        text = "Failed to drain node, 1 pods are waiting to be evicted"
        c.event(both(pair)[0], "FailedDraining", text, last="1m", first="59m", count=29)


@incident(
    story="Two nodes were drained and their instances told to terminate eight days ago. EC2 never ended them (termination "
    "protection), the finalizer stays, and both are paid for.",
    cause="Two nodes of general have been terminating for 8 days: they are drained, and their instances do not go away.",
    thread="kubernetes-sigs/karpenter#2169",
    must=[n(2), r"\b8 ?d|19[12] ?h|eight days", "terminat|delet|finalizer|drain|remov", "general|ip-10-24"],
)
def instances_never_end(c: Cluster) -> None:
    usual(c)
    for zone in c.zones[:2]:
        old = add_node(c, "general", "m6i.2xlarge", zone, age="15d", deleting="8d")
        conditions(
            old,
            condition("DisruptionReason", "True", c.at("8d"), "Underutilized"),
            condition("Drained", "True", c.at("8d")),
            condition("VolumesDetached", "True", c.at("8d")),
            condition("InstanceTerminating", "True", c.at("8d")),
        )


@incident(
    story="Somebody deleted the Node objects and their finalizers by hand. Three NodeClaims of pool burst have been deleting for 30 hours: "
    "Karpenter may no longer call ec2:TerminateInstances, so the finalizer stays and the instances cost money. No pod is affected.",
    cause="3 NodeClaims of burst without a node have been deleting for 30 hours: the finalizer karpenter.sh/termination stays, and their "
    "instances are still paid for.",
    thread="kubernetes-sigs/karpenter#1578",
    must=[n(3), r"NodeClaim|instance|burst-", r"delet|terminat|finalizer|remov", r"30 ?h|1d ?[56]h|29h|\b1 ?d"],
    must_not=[
        r"(waiting|still) to register|has not registered|never register",
        r"pods? (is|are) (being )?(evicted|drained)",
    ],
)
def nodeclaims_never_end(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "burst")
    fleet(c, "general", "orders/storefront", 4)
    gone = [add_node(c, "burst", "m6i.xlarge", zone, age="8d", deleting="30h") for zone in c.zones]
    for pair in gone:
        node, claim = both(pair)
        c.objects.remove(node)
        c.objects.remove(c.find("CSINode", node["metadata"]["name"]))
        c.nodes.remove(pair)
        claim["status"]["conditions"] += [condition("Drained", "True", c.at("30h"))]


@incident(
    story="Another controller puts a finalizer on every Node. It was uninstalled, so two nodes whose instances ended six hours ago stay as Terminating "
    "and NotReady, and their NodeClaims with them.",
    cause="2 nodes of general have been terminating for 6 hours: their instances are gone, but the finalizer wrangler.cattle.io/node stays on the Nodes.",
    thread="aws/karpenter-provider-aws#9011",
    must=[n(2), "finalizer", r"wrangler\.cattle\.io", r"\b6 ?h|5h5\dm|3[56]\d ?m"],
    must_not=[r"still paid|instances? (do|does) not (go|end)|instances? (is|are) still running"],
)
def finalizer_of_another_controller(c: Cluster) -> None:
    usual(c)
    for zone in c.zones[:2]:
        pair = add_node(c, "general", "m6i.xlarge", zone, age="12d", deleting="6h5m", ready=NOT_READY, ready_since="6h")
        done = ("Drained", "6h4m"), ("VolumesDetached", "6h4m"), ("InstanceTerminating", "6h3m")
        conditions(pair, *(condition(kind, "True", c.at(age)) for kind, age in done))
        node = both(pair)[0]
        node["metadata"]["finalizers"] = ["wrangler.cattle.io/node"]
        text = f"Deleting node {pair.name} because it does not exist in the cloud provider"
        c.event(
            node,
            "DeletingNode",
            text,
            last="20s",
            first="59m",
            count=690,
            kind="Normal",
            source="cloud-node-lifecycle-controller",
        )


@incident(
    story="Karpenter 1.2, which does not report the progress of a drain on NodeClaims yet. Two nodes are being deleted since last night, and a long job on each has do-not-disrupt. The reader has kubectl's lists, without events.",
    cause="2 nodes of general have been draining for 12 hours because do-not-disrupt protects the pods of ci/long, and no terminationGracePeriod ends that.",
    thread="kubernetes-sigs/karpenter#2219",
    must=["ci/long", "do-not-disrupt", n(2), r"1[12] ?h", FOREVER],
    must_not=["not begun|has not drained|marked"],
    karpenter_version="1.2.1",
    listed=("Node", "NodeClaim", "NodePool", "EC2NodeClass", "Pod", "DaemonSet", "PodDisruptionBudget"),
)
def drain_without_its_condition(c: Cluster) -> None:
    usual(c)
    going = [add_node(c, "general", "m6i.xlarge", zone, age="33d", deleting="12h") for zone in c.zones[:2]]
    add_workload(c, "ci/long", kind="Job", on=going, age="2d", annotations=PROTECTED)


@incident(
    story="Karpenter 1.2 again. A drained node still has a volume attached, which no condition of the NodeClaim shows: it has been terminating for 4 hours, with pods of DaemonSets only.",
    cause="ip-10-24-17-133 has been terminating for 4 hours; nothing in the cluster's objects shows what it waits for.",
    thread="kubernetes-sigs/karpenter#2169",
    must=["ip-10-24-17-133", r"terminating|drain", r"\b4 ?h", "not known|may"],
    must_not=["not begun|has not drained|marked", "do-not-disrupt|PodDisruptionBudget"],
    karpenter_version="1.2.1",
)
def drain_without_a_sign_of_its_progress(c: Cluster) -> None:
    usual(c)
    add_node(c, "general", "m6i.xlarge", c.zones[0], age="33d", deleting="4h")
