"""Healthy clusters that resemble trouble with the life of nodes: events, drains, gates and removals that are as they should be."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, fleet, usual
from tests.incidents.incident import quiet
from tests.incidents.node_lives import add_node_events, add_scaler
from tests.incidents.node_objects import add_node, both, conditions
from tests.incidents.objects import condition
from tests.incidents.pods import add_pdb, add_queued, add_workload
from tests.incidents.pools import add_nodeclass, add_pool


@quiet(
    story="Four large nodes are 60 % used. Karpenter reports on each that two nodes would be needed in its place: nothing is cheaper, and all is as it should be.",
    cause="large nodes that are well used stay, because two others would be needed in place of each.",
    thread="kubernetes-sigs/karpenter#1851",
    must_not=["stuck|never", "nearly empty"],
)
def fine_two_nodes_would_be_needed(c: Cluster) -> None:
    usual(c, 5)
    add_pool(c, "large", families=("m7i",), sizes=("2xlarge", "4xlarge"), labels={"team": "etl"})
    hosts = [add_node(c, "large", "m7i.4xlarge", c.zones[i % 3], age="8d") for i in range(4)]
    add_workload(c, "etl/join", on=hosts, count=12, age="7d", cpu="3200m", memory="10Gi", spec={"nodeSelector": {"team": "etl"}})  # fmt: skip
    for pair in hosts:
        for manifest in both(pair):
            c.event(manifest, "Unconsolidatable", "Can't remove without creating 2 candidates", last="6m", first="51m", count=4, kind="Normal")  # fmt: skip


@quiet(
    story="KEDA's cron trigger scaled shop/front from 6 to 40 replicas at 09:00. Karpenter launched nodes, and everything has run for twenty minutes; another HorizontalPodAutoscaler is at its minimum.",
    cause="a scheduled scale-up is complete.",
    thread="kedacore/keda#5763",
    must_not=["churn|again and again", r"pending", "does not scale|not scaled"],
)
def fine_scaled_up_at_nine(c: Cluster) -> None:
    pairs = usual(c, 4)
    fresh = [add_node(c, "general", "m6i.xlarge", c.zones[i % 3], age=f"{25 + i % 4}m") for i in range(12)]
    add_workload(c, "shop/front", on=[*fresh], count=34, age="23m")
    add_workload(c, "shop/front-canary", on=pairs, count=4, age="8d", cpu="50m", memory="64Mi")
    add_scaler(c, "shop/front", low=34, high=60, now=34)
    add_scaler(c, "shop/front-canary", low=4, high=9, now=4)
    text = "New size: 34; reason: external metric s0-cron-Europe-Berlin-009xx1-5-0018xx1-5(&LabelSelector{MatchLabels:map[string]string{scaledobject.keda.sh/name: front,},MatchExpressions:[]LabelSelectorRequirement{},}) above target"
    c.event(c.find("HorizontalPodAutoscaler", "front"), "SuccessfulRescale", text, last="29m", kind="Normal", source="horizontal-pod-autoscaler")  # fmt: skip
    for pair in fresh:
        c.event(both(pair)[0], "Unconsolidatable", "Can't replace with a cheaper node", last="4m", kind="Normal")


@quiet(
    story="Each kubelet has warned for months that its resolv.conf names four servers and that one is left out (DNSConfigForming, thousands of times). Names resolve, and all pods run.",
    cause="kubelets warn that a fourth name server is left out.",
    thread="kubernetes/kubernetes#82756",
    must_not=["DNS", "not start", "name ?server"],
    karpenter_version="1.12.1",
)
def fine_a_fourth_name_server(c: Cluster) -> None:
    pairs = usual(c, 9)
    add_workload(c, "shop/front", on=pairs, age="8d", cpu="60m", memory="90Mi")
    text = "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 10.24.0.2 10.8.0.10 10.8.0.11"
    for pod in [item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["namespace"] in ("kube-system", "shop")]:  # fmt: skip
        c.event(pod, "DNSConfigForming", text, last="90s", first="9d", count=5821, source="kubelet")


@quiet(
    story="CI nodes come and go by design: builds take ten minutes, the pool removes empty nodes after five, and each node lives for half an hour to an hour. Eight were launched and seven removed in the last hour, in a cluster of 30.",
    cause="nodes for builds live for about 40 minutes, as the builds come and go.",
    thread="kubernetes-sigs/karpenter#1921",
    must_not=["churn|again and again|in a loop", "consolidateAfter"],
)
def fine_build_nodes_live_forty_minutes(c: Cluster) -> None:
    usual(c, 22)
    add_pool(c, "ci", labels={"team": "ci"}, disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"})
    hosts = [add_node(c, "ci", "m6i.2xlarge", c.zones[i % 3], age=f"{6 + 7 * i}m") for i in range(8)]
    for number, pair in enumerate(hosts):
        add_workload(c, f"ci/build-{number}", kind="Job", on=[pair] * 2, age=f"{1 + number}m", cpu="3", memory="10Gi", spec={"nodeSelector": {"team": "ci"}})  # fmt: skip
    for number in range(7):
        add_node_events(c, "ci", number, last=180 + 480 * number, lived=2460, reason="Empty")


@quiet(
    story="The kubelet of one node restarted to load a new configuration: NodeNotReady for 20 seconds four minutes ago, Ready since. Its pods kept running.",
    cause="one kubelet restarted and was back after 20 seconds.",
    thread="awslabs/amazon-eks-ami#1145",
    must_not=[r"not ready (now|for)|again and again", "unhealthy"],
)
def fine_kubelet_restarts_once(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = big_fleet(c, "general", 40)
    pair = pairs[7]
    next(item for item in pair.status["conditions"] if item["type"] == "Ready")["lastTransitionTime"] = c.at("4m")
    node = both(pair)[0]
    c.event(node, "Starting", "Starting kubelet.", last="4m20s", kind="Normal", source="kubelet")
    c.event(node, "NodeNotReady", f"Node {pair.name} status is now: NodeNotReady", last="4m18s", kind="Normal", source="kubelet")  # fmt: skip
    c.event(node, "NodeReady", f"Node {pair.name} status is now: NodeReady", last="4m", kind="Normal", source="kubelet")
    c.event(node, "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods", last="4m19s", kind="Normal", source="kubelet")  # fmt: skip


@quiet(
    story="A reader sends lists of pods, nodes, NodeClaims and NodePools of a German team's cluster. Two nodes drifted four minutes ago, and the first is being replaced.",
    cause="the lists show a drift that has just begun.",
    thread="kubernetes-sigs/karpenter#2705",
    must_not=["stuck|does not advance|no progress|never", r"do-not-disrupt"],
    karpenter_version="1.14.0",
    listed=("Node", "NodeClaim", "NodePool", "Pod"),
)
def fine_lists_of_a_drift_that_begins(c: Cluster) -> None:
    add_nodeclass(c)
    for name in ("allgemein", "nachtlaeufe"):
        add_pool(c, name)
        fleet(c, name, f"{name}/bestellung", 6, age="11d")
    add_node(c, "allgemein", "m6i.xlarge", c.zones[0], age="19d", drifted="4m")
    going = add_node(c, "allgemein", "m6i.xlarge", c.zones[1], age="19d", drifted="4m", deleting="50s")
    add_node(c, "allgemein", "m6i.xlarge", c.zones[1], age="2m10s")
    conditions(going, condition("DisruptionReason", "True", c.at("2m12s"), "Drifted"), condition("Drained", "Unknown", c.at("50s"), "Draining", "Draining"))  # fmt: skip


@quiet(
    story="Strimzi's Drain Cleaner works: it denies evictions of Kafka pods and lets the operator roll them. One node has been draining for 90 seconds, and its broker is being moved. The PodDisruptionBudget of the brokers allows no eviction on purpose.",
    cause="an operator moves a pod of a draining node, which takes a few minutes.",
    thread="strimzi/drain-cleaner#76",
    must_not=["stuck", "never allow", "webhook"],
)
def fine_operator_moves_a_broker(c: Cluster) -> None:
    usual(c, 5)
    add_workload(c, "strimzi-drain-cleaner/strimzi-drain-cleaner", on=c.system[:1], age="30d", cpu="100m", memory="128Mi")  # fmt: skip
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/eviction"], "scope": "Namespaced"}  # fmt: skip
    hook = {"name": "strimzi-drain-cleaner.strimzi.io", "failurePolicy": "Ignore", "timeoutSeconds": 5, "rules": [rule], "clientConfig": {"service": {"name": "strimzi-drain-cleaner", "namespace": "strimzi-drain-cleaner"}}}  # fmt: skip
    c.add("ValidatingWebhookConfiguration", "strimzi-drain-cleaner", age="200d", webhooks=[hook])
    add_pool(c, "kafka", labels={"team": "kafka"})
    hosts = [add_node(c, "kafka", "m6i.xlarge", zone, age="12d") for zone in c.zones[:2]]
    going = add_node(c, "kafka", "m6i.xlarge", c.zones[2], age="30d", deleting="90s")
    conditions(going, condition("Drained", "Unknown", c.at("90s"), "Draining", "Draining"))
    pods = add_workload(c, "kafka/events", kind="StatefulSet", on=[*hosts, going], age="11d", cpu="3", memory="11Gi", spec={"nodeSelector": {"team": "kafka"}, "terminationGracePeriodSeconds": 120})  # fmt: skip
    pods[2]["metadata"] |= {"annotations": {"strimzi.io/manual-rolling-update": "true"}, "deletionTimestamp": c.at("-80s"), "deletionGracePeriodSeconds": 120}  # fmt: skip
    add_pdb(c, "kafka", "events", "events", healthy=3, desired=3, expected=3, maxUnavailable=0)
    c.event(both(going)[0], "FailedDraining", "Failed to drain node, 1 pods are waiting to be evicted", last="88s")


@quiet(
    story="Three pods of a group have been gated by Kueue for 40 seconds: the quota is used by a run that ends in a few minutes, as every evening.",
    cause="pods wait for their turn in Kueue's queue.",
    thread="kubernetes-sigs/kueue#9048",
    must_not=["inactive", "does not admit|cannot admit"],
)
def fine_gated_for_forty_seconds(c: Cluster) -> None:
    usual(c, 6)
    add_queued(c, 3, "40s", "1", "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor default-flavor, 1 more needed")  # fmt: skip
