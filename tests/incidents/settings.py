"""Clusters that do what their settings say, and that nobody expects."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import fleet, usual
from tests.incidents.incident import LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node
from tests.incidents.pods import add_claim, add_daemonset, add_pdb, add_workload, no_node
from tests.incidents.pools import add_nodeclass, add_pool


@incident(
    story="The security agent's new chart annotates its DaemonSet's pods with do-not-disrupt. The AMI drift of all nine "
    "nodes of general has waited for six days since.",
    cause="do-not-disrupt on the pods of the DaemonSet secops/agent blocks the drift of all 9 nodes of general for 6 days.",
    thread="kubernetes-sigs/karpenter#1105",
    must=["secops/agent", r"do-not-disrupt", n(9), r"\b6 ?d|14[34] ?h", "drift"],
    must_not=[r"never allows an eviction"],
)
def daemonset_do_not_disrupt(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    fleet(c, "general", "orders/storefront", 9, age="20d", drifted="6d")
    add_daemonset(c, "secops", "agent", cpu="50m", memory="64Mi")
    c.daemonsets[-1][1]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}


@incident(
    story="Two charts bring a PodDisruptionBudget for the same pods of cache/redis. The Eviction API refuses pods with two, so "
    "two nodes that drifted three days ago stay.",
    cause="Two PodDisruptionBudgets select the pods cache/redis, so they cannot be evicted, and the drift of 2 nodes waits for 3 days.",
    thread="kubernetes/kubernetes#75957",
    must=[
        "cache/redis",
        r"two (PDBs|PodDisruptionBudgets)|2 (PDBs|PodDisruptionBudgets)|more than one",
        n(2),
        r"\b3 ?d|7[12] ?h",
    ],
    must_not=[r"allows no eviction now"],
)
def two_budgets_for_one_pod(c: Cluster) -> None:
    usual(c, 4)
    old = [add_node(c, "general", "m6i.xlarge", zone, age="19d", drifted="3d") for zone in c.zones[:2]]
    add_workload(c, "cache/redis", kind="StatefulSet", on=old, age="18d", cpu="3", memory="9Gi")
    add_pdb(c, "cache", "redis", "redis", healthy=2, desired=1, expected=2, maxUnavailable=1)
    add_pdb(c, "cache", "redis-platform", "redis", healthy=2, desired=1, expected=2, minAvailable=1)


@incident(
    story="A team copied a NodePool for large machines and a limit of eight cores. Its smallest type has sixteen cores, so it "
    "can never launch a node. Three pods are pending for 50 minutes.",
    cause="NodePool large can never launch: its limit of 8 cores is smaller than its smallest instance type (16 cores); 3 pods are pending.",
    thread="kubernetes-sigs/karpenter#1747",
    must=[r"\blarge\b", r"limit", r"\b8\b", n(3)],
    must_not=[LAUNCHES, ROOM],
    other=[{"command": ["pending"], "must": [["large"], ["limit"]]}],
)
def limit_below_the_smallest_type(c: Cluster) -> None:
    usual(c, 4)
    add_pool(c, "large", sizes=("4xlarge", "8xlarge"), limits={"cpu": "8"}, labels={"size": "large"})
    add_workload(
        c, "bi/cubes", pending=3, pending_since="50m", cpu="10", memory="20Gi", spec={"nodeSelector": {"size": "large"}}
    )


@incident(
    story="NodePool batch only removes empty nodes (WhenEmpty). After the nightly jobs ten nodes stay with one small pod each, and one "
    "node would do.",
    cause="10 nodes of batch run one small pod each and stay, because their NodePool consolidates only empty nodes (WhenEmpty).",
    thread="kubernetes-sigs/karpenter#735",
    must=[r"\bbatch\b", r"WhenEmpty|only (removes )?empty|empty nodes", n(10)],
    must_not=[r"do-not-disrupt"],
)
def only_empty_nodes(c: Cluster) -> None:
    usual(c, 4)
    add_pool(c, "batch", disruption={"consolidationPolicy": "WhenEmpty"}, labels={"team": "batch"})
    pairs = [add_node(c, "batch", "m6i.2xlarge", c.zones[number % 3], age="2d") for number in range(10)]
    add_workload(c, "etl/status", on=pairs, age="40h", cpu="100m", memory="128Mi")


@incident(
    story="Somebody set consolidateAfter to Never during an incident last week and forgot it. Six empty nodes of general stay.",
    cause="6 empty nodes of general stay, because consolidateAfter is Never.",
    thread="kubernetes-sigs/karpenter#1877",
    must=[r"\bgeneral\b", r"consolidateAfter|Never", n(6), "empty"],
    must_not=[r"do-not-disrupt", r"\bremovable\b"],
)
def consolidation_is_off(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"consolidateAfter": "Never"})
    fleet(c, "general", "orders/storefront", 4)
    for number in range(6):
        add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="6d")


@incident(
    story="The StorageClass of the new database allows volumes in us-east-1d only (allowedTopologies), and no NodePool launches "
    "there. Its pod waits for an hour.",
    cause="data/ledger-0 waits for an hour: its StorageClass edge-gp3 allows volumes in us-east-1d only, where no NodePool launches.",
    thread="aws/karpenter-provider-aws#2653",
    must=["ledger-0|data/ledger", r"edge-gp3|StorageClass|storage class", "us-east-1d"],
    must_not=[LAUNCHES, ROOM],
)
def topology_of_a_storage_class(c: Cluster) -> None:
    usual(c, 4)
    terms = [{"matchLabelExpressions": [{"key": "topology.ebs.csi.aws.com/zone", "values": ["us-east-1d"]}]}]
    c.add(
        "StorageClass", "edge-gp3", age="2h", provisioner="ebs.csi.aws.com",
        volumeBindingMode="WaitForFirstConsumer", allowedTopologies=terms,
    )  # fmt: skip
    add_claim(c, "data", "data-ledger-0", "edge-gp3", age="61m")
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data-ledger-0"}}
    text = no_node({"node(s) didn't find available persistent volumes to bind": 6})
    add_workload(
        c, "data/ledger", kind="StatefulSet", pending=1, pending_since="60m", message=text, cpu="1", memory="2Gi",
        spec={"volumes": [volume]},
    )  # fmt: skip


@incident(
    story="A namespace's pods require a node in region us-west-2, left over from the other cluster. Five pods are pending for 2 hours.",
    cause="5 pods of geo/tiles select topology.kubernetes.io/region us-west-2, and every NodePool launches in us-east-1.",
    thread="aws/karpenter-provider-aws#5057",
    must=["geo/tiles", r"region", "us-west-2", n(5)],
    must_not=[LAUNCHES, ROOM],
)
def another_region(c: Cluster) -> None:
    usual(c, 4)
    selector = {"topology.kubernetes.io/region": "us-west-2"}
    add_workload(c, "geo/tiles", pending=5, pending_since="2h", spec={"nodeSelector": selector})
