"""Clusters in the middle of a change in which nothing is wrong."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, fleet, gone_claim, usual
from tests.incidents.incident import ICE, LAUNCHES, quiet
from tests.incidents.node_objects import add_node, both, conditions
from tests.incidents.objects import condition
from tests.incidents.pods import add_volume, add_workload
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.small_in_large import to_oci


@quiet(
    story="An image rollout over 120 nodes, with a budget of two nodes at a time: 78 are done in 13 hours, 40 wait for their turn, two are being replaced.",
    cause="a rollout over 120 nodes advances two nodes at a time, as its budget wants it.",
    thread="aws/karpenter-provider-aws#6923",
    must_not=["stuck|never", r"blocks?\b[^\n]{0,30}drift", "do-not-disrupt"],
)
def fine_slow_rollout_of_many(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"budgets": [{"nodes": "2"}]})
    for number in range(13):
        big_fleet(c, "general", 6, age=f"{20 + 60 * number}m", part=f"new{number}")
    big_fleet(c, "general", 40, age="23d", drifted="13h30m", part="old")
    for number in range(2):
        going = add_node(c, "general", "m6i.xlarge", c.zones[number], age="23d", drifted="13h30m", deleting="70s")
        conditions(going, condition("DisruptionReason", "True", c.at("3m"), "Drifted"), condition("Drained", "Unknown", c.at("70s"), "Draining", "Draining"))  # fmt: skip
        add_workload(c, f"cart/tail-{number}", on=[going], age="9d", cpu="285m", memory="800Mi")
    for number in range(12):
        claim, age = gone_claim(c, "general", number), f"{5 + 5 * number}m"
        c.event(claim, "DisruptionTerminating", "Disrupting NodeClaim: Drifted", last=age, kind="Normal")


@quiet(
    story="us-east-1c did not answer for six minutes and has come back eight minutes ago: its four nodes are ready again, and their pods run, which were not evicted.",
    cause="a zone has come back after six minutes, and its nodes and pods are ready again.",
    thread="kubernetes-sigs/karpenter#2171",
    must_not=["not ready (for|since)", "silent", LAUNCHES],
)
def fine_zone_has_come_back(c: Cluster) -> None:
    usual(c, 8)
    back = [add_node(c, "general", "m6i.xlarge", c.zones[2], ready_since="8m") for _ in range(4)]
    add_workload(c, "shop/front", on=back, count=12)
    for pair in back:
        node = both(pair)[0]
        c.event(node, "NodeNotReady", f"Node {pair.name} status is now: NodeNotReady", last="14m", kind="Normal", source="node-controller")  # fmt: skip
        c.event(node, "NodeReady", f"Node {pair.name} status is now: NodeReady", last="8m", kind="Normal", source="kubelet")  # fmt: skip


@quiet(
    story="The move from NodePool apps-v1 to apps-v2 is done: the old pool has no nodes, a limit of 0 so that it launches none, and is kept for a week in case of a return. All pods run on apps-v2.",
    cause="an old NodePool without nodes is kept with a limit of 0 after a move to a new one.",
    thread="kubernetes-sigs/karpenter#1747",
    must_not=[r"apps-v1[^\n]{0,60}(can never|cannot|launch(es)? nothing)", "limit (is|of) 0"],
)
def fine_old_pool_is_left_empty(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "apps-v2", labels={"generation": "v2"}, weight=50)
    fleet(c, "apps-v2", "shop/front", 11, age="30h")
    add_pool(c, "apps-v1", labels={"generation": "v1"}, limits={"cpu": "0"})


@quiet(
    story="Karpenter 1.14 with consolidateAfter 15m. A batch ended nine minutes ago and left three nodes nearly empty; they are removed once fifteen minutes have passed without a change of pods.",
    cause="nearly empty nodes wait for their consolidateAfter of 15 minutes.",
    thread="kubernetes-sigs/karpenter#3225",
    must_not=["stuck|never", "wast", r"\bstay\b[^\n]{0,60}because"],
    karpenter_version="1.14.0",
)
def fine_nodes_wait_for_consolidate_after(c: Cluster) -> None:
    usual(c, 6, disruption={"consolidateAfter": "15m"})
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="5h") for zone in c.zones]
    add_workload(c, "orders/mail", on=pairs, cpu="150m", memory="200Mi", age="4h")
    for pair in pairs:
        status = both(pair)[1]["status"]
        status["conditions"] = [item for item in status["conditions"] if item["type"] != "Consolidatable"]
        status["lastPodEventTime"] = c.at("9m")


@quiet(
    story="A NodePool of a Karpenter 1.15 has the consolidation policy Balanced. Four nodes are half used; a replacement would save too little for the disruption of their pods, so Karpenter leaves them, as this policy means to.",
    cause="half-used nodes stay, because the policy Balanced weighs savings against disruption.",
    thread="kubernetes-sigs/karpenter#2893",
    must_not=[r"Balanced[^\n]{0,60}(not valid|unknown|invalid)", "stuck|never"],
)
def fine_balanced_policy_keeps_nodes(c: Cluster) -> None:
    usual(c, 8, disruption={"consolidationPolicy": "Balanced"})
    pairs = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="3d") for number in range(4)]
    add_workload(c, "orders/search", on=pairs, count=16, cpu="480m", memory="1600Mi", age="2d")


@quiet(
    story="A cluster on Oracle Cloud, given as lists of nodes, NodeClaims, NodePools and pods. Its instance types and prices are not known to the reader. Everything runs.",
    cause="the lists of a cluster on Oracle Cloud show no fault.",
    thread="oracle/karpenter-provider-oci#34",
    must_not=[r"EC2NodeClass|\bEC2\b|\bAWS\b", LAUNCHES, ICE, r"unknown (instance )?type"],
    listed=("Node", "NodeClaim", "NodePool", "Pod", "Deployment", "ReplicaSet"),
)
def fine_oracle_lists(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    fleet(c, "general", "orders/storefront", 7)
    to_oci(c)


@quiet(
    story="A StatefulSet moves in an image rollout: its node was drained 40 seconds ago and waits for its volume to be detached; the pod starts on the replacement.",
    cause="a drained node waits 40 seconds for its volume to be detached.",
    thread="kubernetes-sigs/karpenter#1294",
    must_not=["stuck|never", "Multi-Attach", "crash"],
)
def fine_volume_is_detached_in_a_rollout(c: Cluster) -> None:
    usual(c, 5)
    old = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="20d", drifted="20m", deleting="75s")
    conditions(
        old,
        condition("DisruptionReason", "True", c.at("3m"), "Drifted"),
        condition("Drained", "True", c.at("40s")),
        condition("VolumesDetached", "Unknown", c.at("40s"), "AwaitingVolumeDetachment", "AwaitingVolumeDetachment"),
    )
    fresh = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="2m40s")
    pods = add_workload(c, "db/pg", kind="StatefulSet", on=[fresh], age="42s", cpu="6", memory="24Gi", waiting="ContainerCreating")  # fmt: skip
    pods[0]["spec"]["volumes"] = [add_volume(c, "db", "data-pg-0", c.zones[0])]
    volume = c.find("PersistentVolumeClaim", "data-pg-0")["spec"]["volumeName"]
    c.add(
        "VolumeAttachment", f"csi-{volume[4:]}", age="20d", deletionTimestamp=c.at("38s"), finalizers=["external-attacher/ebs-csi-aws-com"],
        spec={"attacher": "ebs.csi.aws.com", "nodeName": old.name, "source": {"persistentVolumeName": volume}}, status={"attached": True},
    )  # fmt: skip
    text = f"Awaiting deletion of bound volumeattachments (csi-{volume[4:]})"
    c.event(both(old)[0], "AwaitingVolumeDetachment", text, last="38s", kind="Normal")


@quiet(
    story="EKS was upgraded to 1.35 an hour ago and NodePool general follows: 30 of 96 nodes are replaced, 64 drifted, two replacements are starting. A team's NodePool with a budget that opens at night waits for tonight.",
    cause="nodes follow an upgrade of the control plane, and one NodePool waits for its window tonight.",
    thread="aws/karpenter-provider-aws#5108",
    must_not=["stuck|never", "kubelet", "do-not-disrupt"],
)
def fine_nodes_follow_the_control_plane(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"budgets": [{"nodes": "10%"}]})
    for number in range(5):
        big_fleet(c, "general", 6, age=f"{6 + 10 * number}m", part=f"new{number}")
    old = big_fleet(c, "general", 56, age="18d", drifted="58m", part="old")
    night = [{"nodes": "10%"}, {"nodes": "0", "schedule": "0 6 * * *", "duration": "16h"}]
    add_pool(c, "night", labels={"team": "pay"}, disruption={"budgets": night})
    late = [add_node(c, "night", "m6i.xlarge", c.zones[number % 3], age="18d", drifted="58m") for number in range(8)]
    add_workload(c, "pay/api", on=late, count=24, age="17d", spec={"nodeSelector": {"team": "pay"}})
    for pair in [*old, *late]:
        pair.status["nodeInfo"]["kubeletVersion"] = "v1.34.6-eks-1b2c3d4"
    for zone in c.zones[:2]:
        fresh = add_node(c, "general", "m6i.xlarge", zone, age="25s", stage="Launched")
        assert fresh.claim is not None
        c.event(fresh.claim, "DisruptionLaunching", "Launching NodeClaim: Drifted", last="25s", kind="Normal")
    for number in range(12):
        claim, age = gone_claim(c, "general", number), f"{2 + 4 * number}m"
        c.event(claim, "DisruptionTerminating", "Disrupting NodeClaim: Drifted", last=age, kind="Normal")
