"""Nodes whose removal waits, goes wrong or costs money: used-up budgets, drains, expiry, interruption and spread pods."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.disruption import CHURN
from tests.incidents.drains import FOREVER
from tests.incidents.fleets import HOST, fleet, gone_claim, usual
from tests.incidents.incident import LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import NOT_READY, add_node, both, conditions
from tests.incidents.objects import condition, digest
from tests.incidents.pods import add_pdb, add_workload, matching, no_node
from tests.incidents.pools import add_pool

BUDGET = r"\bbudgets?\b"
"""A NodePool's budget; the word is a part of PodDisruptionBudget."""


@incident(
    story="The budget of NodePool web is one node. The kubelet of one node died three days ago; node repair is off, so the node stays and uses up the "
    "budget. Karpenter writes no event about that, and the other seven nodes have been drifted for four days.",
    cause="A node that has not been ready for 3 days uses up the disruption budget of NodePool web (1 node), so the drift of 7 nodes waits for 4 days.",
    thread="aws/karpenter-provider-aws#5750",
    must=["web", r"not (been )?ready|NotReady", BUDGET, "drift", n(7)],
    must_not=[r"budget[^\n]{0,40}(never opens|always 0|is always|is closed)", LAUNCHES],
    other=[{"command": ["verdict"], "must": [[r"budget is used up by [^\n]*ip-10-24-19-52"]]}],
    karpenter_version="1.14.3",
)
def dead_node_uses_up_the_budget(c: Cluster) -> None:
    usual(c)
    add_pool(c, "web", disruption={"budgets": [{"nodes": "1"}]}, labels={"team": "web"})
    fleet(c, "web", "shop/frontend", 7, drifted="4d", age="15d")
    add_node(c, "web", "m6i.xlarge", c.zones[1], age="15d", ready=NOT_READY, ready_since="3d")


@incident(
    story="NodePool databases allows one node to be disrupted at a time. Drift took the first node two days ago, and the only pod of db/primary on it may "
    "not be evicted. That node uses up the budget, so the other six drifted nodes wait, without an event.",
    cause="The PodDisruptionBudget db/primary blocks the drain of a node for 2 days, which uses up the budget of NodePool databases (1 node): the drift "
    "of 6 other nodes waits.",
    thread="kubernetes-sigs/karpenter#1702",
    must=["db/primary|primary", r"PDB|PodDisruptionBudget", r"drain|terminat|delet", BUDGET, n(6), "drift"],
    must_not=[r"budget[^\n]{0,40}(never opens|always 0|is always|is closed)"],
)
def draining_node_uses_up_the_budget(c: Cluster) -> None:
    usual(c, 3)
    add_pool(c, "databases", disruption={"budgets": [{"nodes": "1"}]}, labels={"team": "data"})
    spec = {"nodeSelector": {"team": "data"}}
    waits = [
        add_node(c, "databases", "m6i.xlarge", c.zones[number % 3], age="24d", drifted="9d") for number in range(6)
    ]
    add_workload(c, "db/replica", kind="StatefulSet", on=waits, age="23d", cpu="3", memory="9Gi", spec=spec)
    old = add_node(c, "databases", "m6i.xlarge", c.zones[0], age="24d", drifted="9d", deleting="2d")
    conditions(old, condition("DisruptionReason", "True", c.at("2d"), "Drifted"))
    conditions(old, condition("Drained", "Unknown", c.at("2d"), "Draining", "Draining"))
    add_workload(c, "db/primary", kind="StatefulSet", on=[old], age="23d", cpu="3", memory="9Gi", spec=spec)
    add_pdb(c, "db", "primary", "primary", healthy=1, desired=1, expected=1, minAvailable=1)
    text = "Failed to drain node, 1 pods are waiting to be evicted"
    c.event(both(old)[0], "FailedDraining", text, last="1m", first="59m", count=29)


@incident(
    story="The training job has carried karpenter.sh/do-not-evict since 2023. Karpenter has not read that annotation since v1beta1. The node of the job expires in "
    "twelve minutes, and the job, 14 hours in, starts again from nothing.",
    cause="ml/train is evicted in 12 minutes, when its node expires: its annotation karpenter.sh/do-not-evict is no longer read.",
    thread="aws/karpenter-provider-aws#6861",
    must=["ml/train|train", "expir", r"\b1[12] ?m|09:4[12]", r"do-not-evict|annotation"],
    must_not=[r"without end|no terminationGracePeriod", r"do-not-disrupt (on|protects|blocks)"],
)
def old_annotation_protects_nothing(c: Cluster) -> None:
    usual(c)
    add_pool(c, "ml", families=("m7i",), sizes=("4xlarge",), disruption={"consolidationPolicy": "WhenEmpty"})
    old = add_node(c, "ml", "m7i.4xlarge", c.zones[2], age=f"{720 * 60 - 12}m")
    marks = {"karpenter.sh/do-not-evict": "true"}
    add_workload(c, "ml/train", kind="Job", on=[old], age="14h", cpu="14", memory="50Gi", annotations=marks, pool="ml")


@incident(
    story="NodePool render may use one spot type in one zone. EC2 takes each node back after about six minutes, nine in the last hour; the next one is of the same "
    "type. The frames start again each time.",
    cause="Spot nodes of render live for about 6 minutes: EC2 interrupted 9 of them in the last hour, as the pool allows one instance type in one zone.",
    thread="aws/karpenter-provider-aws#6425",
    must=["render", r"interrupt|taken back|reclaim", n(9), CHURN + r"|last hour|an hour|\bh\b|/h"],
    must_not=["consolidat", "underutil"],
)
def spot_nodes_live_minutes(c: Cluster) -> None:
    usual(c)
    zone = c.zones[0]
    add_pool(c, "render", families=("c7i",), sizes=("4xlarge",), zones=(zone,), capacity=("spot",))
    pairs = [add_node(c, "render", "c7i.4xlarge", zone, capacity="spot", age=age) for age in ("5m", "2m")]
    add_workload(c, "render/frame", on=pairs, age="90s", cpu="12", memory="20Gi", pool="render")
    for number in range(9):
        claim, age = gone_claim(c, "render", number), 2 + 6 * number
        name = f"ip-10-24-90-{20 + number}.ec2.internal"
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": digest(c.name, name)[:36]}}
        for manifest in (claim, node):
            c.event(manifest, "SpotInterrupted", "Spot interruption warning was triggered", last=f"{age}m")
            text = f"Interruption triggered termination for the {manifest['kind']}"
            c.event(manifest, "TerminatingOnInterruption", text, last=f"{age}m")
        joined = f"Node {name} event: Registered Node {name} in Controller"
        c.event(node, "RegisteredNode", joined, last=f"{age + 6}m", kind="Normal", source="node-controller")


@incident(
    story="The relay has six small replicas, a required spread over nodes with minDomains 6, and a pool of large machines. Six nodes stay that are nearly empty; "
    "one would hold all replicas.",
    cause="6 nearly empty nodes of edge stay, because the pods edge/relay must spread over 6 nodes (minDomains 6 on kubernetes.io/hostname).",
    thread="aws/karpenter-provider-aws#4666",
    must=["relay", r"spread|minDomains|topolog", n(6), r"\bedge\b"],
    must_not=["do-not-disrupt", "PodDisruptionBudget", r"\bremovable\b"],
    other=[{"command": ["explain", "node", "ip-10-24-17-133"], "must": [["edge/relay must spread over nodes"]]}],
)
def spread_keeps_nodes(c: Cluster) -> None:
    usual(c)
    add_pool(c, "edge", families=("m6i",), sizes=("2xlarge",), labels={"team": "edge"})
    pairs = [add_node(c, "edge", "m6i.2xlarge", c.zones[number % 3], age="12d") for number in range(6)]
    spread = matching("relay", topologyKey=HOST, maxSkew=1, minDomains=6, whenUnsatisfiable="DoNotSchedule")
    spec = {"nodeSelector": {"team": "edge"}, "topologySpreadConstraints": [spread]}
    add_workload(c, "edge/relay", on=pairs, age="12d", cpu="200m", memory="256Mi", spec=spec)


@incident(
    story="The static pool ingest got six replicas yesterday; its limit of four nodes stayed. Karpenter launches nothing more and writes no event. Two collectors "
    "are pending for 50 minutes.",
    cause="Static NodePool ingest has 4 of its 6 replicas: its limit is 4 nodes; 2 pods are pending.",
    thread="kubernetes-sigs/karpenter#2484",
    must=["ingest", n(6), n(4), "limit", r"static|replicas"],
    must_not=[LAUNCHES, ROOM, "drift"],
    other=[{"command": ["pending"], "must": [[r"ingest: it is static \(6 replicas, limited to 4 nodes\)"]]}],
    settings={"FEATURE_GATES": "StaticCapacity=true"},
)
def static_pool_above_its_limit(c: Cluster) -> None:
    usual(c)
    taint = {"key": "dedicated", "value": "ingest", "effect": "NoSchedule"}
    add_pool(
        c,
        "ingest",
        families=("m6i",),
        sizes=("xlarge",),
        replicas=6,
        limits={"nodes": "4"},
        template={"taints": [taint]},
    )
    pairs = [add_node(c, "ingest", "m6i.xlarge", c.zones[number % 3], age="11d") for number in range(4)]
    spec = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}
    text = no_node({"Insufficient cpu": 4, "node(s) didn't match Pod's node affinity/selector": 6})
    add_workload(
        c, "events/collector", on=pairs, pending=2, pending_since="50m", message=text, age="10d", cpu="3", memory="9Gi",
        pool="ingest", spec=spec,
    )  # fmt: skip


@incident(
    story="A node expired five hours ago. One of three cart pods was evicted and cannot start elsewhere: somebody deleted its image tag. So the "
    "PodDisruptionBudget allows no further eviction, and the node drains on.",
    cause="1 of 3 pods of shop/cart cannot pull its image, so the PodDisruptionBudget shop/cart allows no eviction and a node has been draining for 5 hours.",
    thread="kubernetes/kubernetes#72320",
    must=[
        "cart",
        r"image|pull",
        r"PDB|PodDisruptionBudget|evict",
        r"drain|terminat|delet|expir",
        r"\b5 ?h|4h5\d|29\d ?m|300 ?m",
    ],
    must_not=["never allows an eviction"],
    other=[
        {"command": ["forward"], "must": [["nothing is disrupted"], ["cannot start now, is assumed never to start"]]}
    ],
    karpenter_version="1.14.1",
)
def image_missing_behind_the_drain(c: Cluster) -> None:
    usual(c)
    old = add_node(c, "general", "m6i.xlarge", c.zones[2], age="30d5h", deleting="5h")
    conditions(old, condition("Drained", "Unknown", c.at("5h"), "Draining", "Draining"))
    roomy = add_node(c, "general", "m6i.xlarge", c.zones[0], age="3d")
    image = "registry.example/shop/cart:2026.08"
    pods = add_workload(c, "shop/cart", on=[old, roomy, roomy], age="3d", cpu="500m", memory="1Gi", image=image)
    late = pods[2]
    late["metadata"]["creationTimestamp"] = c.at("5h")
    late["status"] |= {"phase": "Pending", "startTime": c.at("5h")}
    late["status"]["containerStatuses"][0] |= {"ready": False, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    for item in late["status"]["conditions"]:
        item["lastTransitionTime"] = c.at("5h")
        if item["type"] in ("Ready", "ContainersReady"):
            item |= {"status": "False", "reason": "ContainersNotReady"}
    text = f'Failed to pull image "{image}": rpc error: code = NotFound desc = failed to pull and unpack image "{image}": not found'
    c.event(late, "Failed", text, last="4m", first="59m", count=12, source="kubelet")
    add_pdb(c, "shop", "cart", "cart", healthy=2, desired=2, expected=3, minAvailable=2)
    text = "Failed to drain node, 1 pods are waiting to be evicted"
    c.event(both(old)[0], "FailedDraining", text, last="1m", first="59m", count=29)


@incident(
    story="A reader with few rights lists nodes, NodeClaims, NodePools and EC2NodeClasses: no pods, no PodDisruptionBudgets, no events. Five of twelve nodes of batch "
    "have been draining for three days. What holds them cannot be told.",
    cause="5 of 12 nodes of batch have been draining for 3 days; pods and PodDisruptionBudgets were not read.",
    thread="kubernetes-sigs/karpenter#2574",
    must=[n(5), r"\bbatch\b", r"drain|terminat|delet", r"\b3 ?d|7[12] ?h|2d23h"],
    must_not=[
        "do-not-disrupt",
        r"\bempty\b",
        "only DaemonSet",
        r"(has|have|runs?) no pods",
        "karpenter is not running|no leader",
        r"\b(are|is) drained\b|instances? (do|does) not (go|end)",
    ],
    listed=("Node", "NodeClaim", "NodePool", "EC2NodeClass"),
)
def drains_without_pods_read(c: Cluster) -> None:
    usual(c)
    add_pool(c, "batch", capacity=("spot",))
    fleet(c, "batch", "etl/loader", 7, capacity="spot")
    for number in range(5):
        old = add_node(c, "batch", "m6i.2xlarge", c.zones[number % 3], capacity="spot", age="33d", deleting="3d")
        conditions(old, condition("Drained", "Unknown", c.at("3d"), "Draining", "Draining"))


@incident(
    story="To calm consolidation, the budget of NodePool jobs was set to 0 for Empty and Underutilized; drift may go on. Since the last batch 30 hours ago nine "
    "empty nodes are paid for.",
    cause="9 empty nodes of jobs stay, because its disruption budget is 0 for the reasons Empty and Underutilized.",
    thread="kubernetes-sigs/karpenter#991",
    must=["jobs", BUDGET, n(9), r"empty"],
    must_not=["drift", "do-not-disrupt"],
)
def budget_keeps_empty_nodes(c: Cluster) -> None:
    usual(c)
    budgets = [{"nodes": "0", "reasons": ["Empty", "Underutilized"]}, {"nodes": "20%"}]
    add_pool(c, "jobs", disruption={"budgets": budgets, "consolidateAfter": "5m"}, labels={"team": "etl"})
    for number in range(9):
        add_node(c, "jobs", "m6i.2xlarge", c.zones[number % 3], age="30h")
    text = "No allowed disruptions for disruption reason Empty due to blocking budget"
    c.event(c.find("NodePool", "jobs"), "DisruptionBlocked", text, last="20s", first="59m", count=58, kind="Normal")


@incident(
    story="Game servers need up to an hour to finish a match (terminationGracePeriodSeconds 3600), and their NodePool ends a drain after ten minutes. A drifted node has "
    "been draining for seven minutes: in three minutes all matches on it are cut off.",
    cause="3 pods of game/arena are killed in 3 minutes: the terminationGracePeriod of their NodePool (10m) is shorter than their own (1h).",
    thread="aws/karpenter-provider-aws#6783",
    must=["arena", r"\b[23] ?m\b|09:3[23]", r"kill|forc|cut|lost|dies|\bend", r"grace|terminationGracePeriod"],
    must_not=[FOREVER, r"\b53 ?m"],
)
def shutdown_is_cut_short(c: Cluster) -> None:
    usual(c)
    add_pool(c, "games", template={"terminationGracePeriod": "10m"}, labels={"team": "games"})
    mark = {"karpenter.sh/nodeclaim-termination-timestamp": c.at("-3m")}
    others = [add_node(c, "games", "m6i.xlarge", zone, age="2d") for zone in c.zones[1:]]
    going = add_node(
        c, "games", "m6i.xlarge", c.zones[0], age="5d", drifted="9m", deleting="7m", claim_annotations=mark
    )
    conditions(going, condition("DisruptionReason", "True", c.at("8m"), "Drifted"))
    conditions(going, condition("Drained", "Unknown", c.at("7m"), "Draining", "Draining"))
    spec = {"terminationGracePeriodSeconds": 3600, "nodeSelector": {"team": "games"}}
    add_workload(c, "game/lobby", on=others, count=6, age="40h", spec=spec)
    pods = add_workload(c, "game/arena", on=[going], count=3, age="5d", spec=spec, deleting="-3m")
    for pod in pods:
        pod["metadata"]["deletionGracePeriodSeconds"] = 600
    text = "Failed to drain node, 3 pods are waiting to be evicted"
    c.event(both(going)[0], "FailedDraining", text, last="20s", first="6m", count=4)
