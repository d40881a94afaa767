"""Pods that no NodePool can take."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import CPU, MEMORY, fleet, unschedulable, usual
from tests.incidents.incident import LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node
from tests.incidents.nodeclasses import waits
from tests.incidents.pods import add_claim, add_daemonset, add_volume, add_workload
from tests.incidents.pools import add_nodeclass, add_pool

NO_TYPE = "no instance type met the scheduling requirements or had enough resources or had a required offering"


@incident(
    story="A new Deployment selects nodes by the label workload-tier=analytics, which no NodePool gives its nodes. Eight pods "
    "wait for 95 minutes.",
    cause="8 pods of bi/cube select the label workload-tier, which no NodePool or node has.",
    thread="aws/karpenter-provider-aws#7535",
    must=[["workload-tier"], [n(8), r"\beight\b"], [r"label|select|NodePool|pool"], ["cube"]],
    must_not=[LAUNCHES, ROOM],
)
def unknown_label(c: Cluster) -> None:
    usual(c)
    pods = add_workload(
        c,
        "Deployment",
        "bi",
        "cube",
        pending=8,
        pending_since="95m",
        cpu="1",
        memory="4Gi",
        spec={"nodeSelector": {"workload-tier": "analytics"}},
        message=waits(6, 0),
    )
    unschedulable(c, pods, 'incompatible requirements, label "workload-tier" does not have known values', minutes=95)


@incident(
    story="Every NodePool is dedicated to a team by a taint, and the new export pods tolerate none. Five pods wait for 3 hours.",
    cause="reports/export tolerates neither dedicated=payments nor dedicated=platform, and every NodePool has one of these taints.",
    thread="kubernetes-sigs/karpenter#2441",
    must=[[r"taint|tolerat"], ["dedicated"], [n(5), r"\bfive\b"], ["export"]],
    must_not=[LAUNCHES, ROOM],
)
def no_toleration(c: Cluster) -> None:
    add_nodeclass(c)
    taints = {}
    for team, app in (("payments", "ledger"), ("platform", "gateway")):
        taints[team] = {"key": "dedicated", "value": team, "effect": "NoSchedule"}
        add_pool(c, team, template={"taints": [taints[team]]})
        pairs = [add_node(c, team, "m6i.xlarge", zone) for zone in c.zones]
        tolerations = [{"key": "dedicated", "operator": "Equal", "value": team, "effect": "NoSchedule"}]
        add_workload(
            c, "Deployment", team, app, on=pairs, count=9, cpu=CPU, memory=MEMORY, spec={"tolerations": tolerations}
        )
    pods = add_workload(
        c,
        "Deployment",
        "reports",
        "export",
        pending=5,
        pending_since="3h",
        cpu="800m",
        memory="1Gi",
        message="0/8 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint {dedicated: payments}, "
        "3 node(s) had untolerated taint {dedicated: platform}. preemption: 0/8 nodes are available: 2 No preemption victims "
        "found for incoming pod, 6 Preemption is not helpful for scheduling.",
    )
    errors = [f"did not tolerate taint (taint=dedicated={team}:NoSchedule)" for team in taints]
    unschedulable(c, pods, "; ".join(errors), minutes=180)


@incident(
    story="The new push proxy wants host port 9100, which node-exporter already holds on every node, new ones included. "
    "Three pods wait for 50 minutes.",
    cause="telemetry/pushproxy wants host port 9100, which the DaemonSet node-exporter uses on every node.",
    thread="kubernetes-sigs/karpenter#2083",
    must=[[r"host ?port|\bport\b"], [r"\b9100\b"], [n(3), r"\bthree\b"], ["node-exporter|DaemonSet"]],
    must_not=[LAUNCHES, ROOM],
)
def host_port(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    port = [{"containerPort": 9100, "hostPort": 9100, "protocol": "TCP", "name": "metrics"}]
    add_daemonset(c, "monitoring", "node-exporter", cpu="20m", memory="40Mi", spec={"ports": port, "hostNetwork": True})
    fleet(c, "general", "orders", "storefront", 3)
    half = add_node(c, "general", "m6i.xlarge", c.zones[0])
    add_workload(c, "Deployment", "orders", "catalog", on=[half], count=2, cpu=CPU, memory=MEMORY)
    pods = add_workload(
        c,
        "Deployment",
        "telemetry",
        "pushproxy",
        pending=3,
        pending_since="50m",
        cpu="200m",
        memory="256Mi",
        spec={"ports": port},
        message="0/6 nodes are available: 6 node(s) didn't have free ports for the requested pod ports. preemption: 0/6 nodes "
        "are available: 6 No preemption victims found for incoming pod.",
    )
    unschedulable(c, pods, NO_TYPE, minutes=50)


@incident(
    story="The data volume of analytics/warehouse-0 was restored from a snapshot into us-east-1a, but its log volume is in "
    "us-east-1b. No node can attach both.",
    cause="The two volumes of analytics/warehouse-0 are in different zones (us-east-1a and us-east-1b), so it fits no node.",
    thread="aws/karpenter-provider-aws#4192",
    must=[
        ["warehouse-0"],
        ["volume|PVC|PersistentVolume|disk"],
        [r"1a\b|different zones|two zones|no zone|each other"],
        ["zone"],
    ],
    must_not=[LAUNCHES, ROOM],
    other=[{"command": ["pending"], "must": [["warehouse"], ["volume|PVC|disk"]]}],
)
def volumes_in_two_zones(c: Cluster) -> None:
    usual(c, 3)
    volumes = [
        add_volume(c, "analytics", f"{kind}-warehouse-0", zone)
        for kind, zone in zip(("data", "wal"), c.zones, strict=False)
    ]
    pods = add_workload(
        c,
        "StatefulSet",
        "analytics",
        "warehouse",
        pending=1,
        pending_since="2h20m",
        cpu="2",
        memory="8Gi",
        spec={"volumes": volumes},
        message="0/5 nodes are available: 5 node(s) had volume node affinity conflict. preemption: 0/5 nodes are available: "
        "5 Preemption is not helpful for scheduling.",
    )
    unschedulable(c, pods, NO_TYPE, minutes=60)


@incident(
    story="The gateway must be spread evenly over all zones, and its pool launches in us-east-1a and us-east-1b only. "
    "us-east-1c counts with zero pods, so four of six pods wait for 3 hours.",
    cause="The zone spread of edge/gateway (maxSkew 1) counts us-east-1c, where its NodePool launches nothing; 4 pods are pending.",
    thread="aws/karpenter-provider-aws#2845",
    must=[["spread|skew|topology"], ["zone"], [n(4), r"\bfour\b"], ["gateway"]],
    must_not=[LAUNCHES, ROOM],
)
def spread_over_zones(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "edge", zones=c.zones[:2])
    add_pool(c, "gpu", families=("g5",), template={"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]})
    pairs = fleet(c, "edge", "orders", "storefront", 2, each=2, zones=c.zones[:2])
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "gateway"}},
    }
    pods = add_workload(
        c,
        "Deployment",
        "edge",
        "gateway",
        on=pairs,
        pending=4,
        pending_since="3h",
        age="2d",
        cpu=CPU,
        memory=MEMORY,
        spec={"topologySpreadConstraints": [spread]},
        message="0/4 nodes are available: 1 Insufficient cpu, 3 node(s) didn't match pod topology spread constraints. "
        "preemption: 0/4 nodes are available: 1 No preemption victims found for incoming pod, 3 Preemption is not helpful for "
        "scheduling.",
    )
    counts = ", ".join(f"{zone}: {count}" for zone, count in zip(c.zones, (1, 1, 0), strict=True))
    error = (
        f"unsatisfiable topology constraint for topology spread, key=topology.kubernetes.io/zone (counts = {counts}, podDomains "
        "= topology.kubernetes.io/zone Exists, nodeDomains = topology.kubernetes.io/zone In [us-east-1a us-east-1b]; did not "
        "tolerate taint (taint=nvidia.com/gpu:NoSchedule)"
    )
    unschedulable(c, pods[2:], error, minutes=180)


@incident(
    story="The chart of the message queue asks for the StorageClass gp3-encrypted, which this cluster does not have. Its volume "
    "is never made, and the pod waits for an hour.",
    cause="messaging/rabbit-0 waits for a volume of the StorageClass gp3-encrypted, which does not exist.",
    thread="kubernetes-sigs/karpenter#376",
    must=[
        [r"storage ?class|gp3-encrypted"],
        ["gp3-encrypted"],
        ["rabbit-0"],
        [r"not found|missing|not exist|no such|absent|unknown|there is no|without"],
    ],
    must_not=[LAUNCHES, ROOM],
)
def storage_class_missing(c: Cluster) -> None:
    usual(c, 3)
    made = add_claim(c, "messaging", "data-rabbit-0", "gp3-encrypted", age="64m")
    text = 'storageclass.storage.k8s.io "gp3-encrypted" not found'
    c.event(made, "ProvisioningFailed", text, last="5s", first="63m", count=253, source="persistentvolume-controller")
    add_workload(
        c,
        "StatefulSet",
        "messaging",
        "rabbit",
        pending=1,
        pending_since="64m",
        replicas=3,
        cpu="1",
        memory="2Gi",
        spec={"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-rabbit-0"}}]},
        message="0/5 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/5 nodes are "
        "available: 5 Preemption is not helpful for scheduling.",
    )


@incident(
    story="The pool edge may have six nodes, by a limit on nodes and not on cores. It has six, and three pods wait for 27 minutes.",
    cause="NodePool edge is at its limit of 6 nodes, so 3 pods are pending.",
    thread="kubernetes-sigs/karpenter#2657",
    must=[["edge"], ["limit"], [n(6), r"\bsix\b"], [n(3), r"\bthree\b"]],
    must_not=[LAUNCHES, ROOM],
)
def node_limit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "edge", limits={"nodes": "6"})
    fleet(c, "edge", "edge", "proxy", 6)
    pods = add_workload(
        c,
        "Deployment",
        "edge",
        "bouncer",
        pending=3,
        pending_since="27m",
        cpu=CPU,
        memory=MEMORY,
        message="0/8 nodes are available: 8 Insufficient cpu. preemption: 0/8 nodes are available: 8 No preemption victims "
        "found for incoming pod.",
    )
    unschedulable(c, pods, "node limits have been exhausted for nodepool (NodePool=edge)", minutes=27)
