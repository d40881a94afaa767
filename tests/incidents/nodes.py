"""Nodes that are not healthy, alone, with their zone or in a wave."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import GPU_POD, GPU_TAINT, fleet, usual
from tests.incidents.incident import LAUNCHES, incident, n
from tests.incidents.node_objects import NOT_READY, add_node, both
from tests.incidents.objects import condition
from tests.incidents.pods import add_daemonset, add_pod, add_volume, add_workload, refuse_pods, waiting
from tests.incidents.pools import add_nodeclass, add_pool


@incident(
    story="Builds fill the 20 GiB disks of two nodes. The kubelet evicts build pods again and again, twelve in the last half "
    "hour, and the nodes take no new ones.",
    cause="Two nodes of builds are under disk pressure, and the kubelet has evicted 12 build pods for want of ephemeral storage.",
    thread="aws/karpenter-provider-aws#4149",
    must=[r"disk ?pressure|ephemeral|disk", n(2), "builds|evict"],
)
def disk_pressure(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "builds", sizes=("2xlarge",), disruption={"consolidationPolicy": "WhenEmpty"})
    add_pool(c, "general")
    fleet(c, "general", "orders/storefront", 3)
    pairs = [add_node(c, "builds", "m6i.2xlarge", zone, age="7h") for zone in c.zones]
    for pair in pairs[:2]:
        assert pair.node is not None
        pressure = pair.node["status"]["conditions"][1]
        pressure |= {"status": "True", "reason": "KubeletHasDiskPressure", "lastTransitionTime": c.at("31m")}
        pressure["message"] = "kubelet has disk pressure"
        pair.node["spec"]["taints"] = [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]
        text = "Attempting to reclaim ephemeral-storage"
        c.event(pair.node, "EvictionThresholdMet", text, last="40s", first="31m", count=95, source="kubelet")
    running = add_workload(c, "ci/builder", on=pairs, count=9, age="25m", cpu="2", memory="4Gi")
    parent = next(
        item for item in c.objects if item["kind"] == "ReplicaSet" and item["metadata"]["name"].startswith("builder-")
    )
    text = "The node was low on resource: ephemeral-storage. Threshold quantity: 1610612736, available: 1184932Ki. "
    for number in range(12):
        pod = add_pod(
            c,
            "ci",
            f"{parent['metadata']['name']}-gone{number:02}",
            node=pairs[number % 2],
            parent=parent,
            age=f"{3 + 2 * number}m",
            labels=running[0]["metadata"]["labels"],
            cpu="2",
            memory="4Gi",
            phase="Failed",
        )
        pod["status"] |= {"reason": "Evicted", "message": text}
        c.event(pod, "Evicted", text, last=f"{3 + 2 * number}m", source="kubelet")


@incident(
    story="One node stopped answering 55 minutes ago; its instance runs. Its pods are Terminating for 50 minutes, and "
    "pg-0 cannot start again until the node is gone. Node repair is off, so nothing removes the node.",
    cause="A node is not ready for 55 minutes, and db/pg-0 is stuck Terminating on it and cannot start elsewhere.",
    thread="kubernetes-sigs/karpenter#1573",
    must=[
        r"not (been )?ready|NotReady|unreachable|stopped|down|not answer",
        r"55 ?m|5[0-4] ?m|\b08:3",
        r"pg-0|terminating|db/pg",
        r"ip-10-24-17-133|\b1 node\b|one node",
    ],
)
def node_gone_silent(c: Cluster) -> None:
    usual(c)
    silent = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="5d", ready=NOT_READY, ready_since="55m")
    volume = add_volume(c, "db", "data-pg-0", c.zones[0])
    add_workload(
        c,
        "db/pg",
        kind="StatefulSet",
        on=[silent],
        age="5d",
        cpu="4",
        memory="16Gi",
        deleting="50m",
        spec={"volumes": [volume]},
    )
    assert silent.node is not None
    c.event(
        silent.node,
        "NodeNotReady",
        f"Node {silent.name} status is now: NodeNotReady",
        last="55m",
        kind="Normal",
        source="node-controller",
    )


@incident(
    story="The GPU of a node reported XID 79 two hours ago and fell off the bus. The node is Ready, so the job on it hangs and new "
    "ones are scheduled there; node repair is off.",
    cause="The accelerators of a gpu node are unhealthy for 2 hours (XID 79), and nothing repairs it because NodeRepair is off.",
    thread="kubernetes-sigs/karpenter#2833",
    must=[r"accelerat|\bGPU|XID", r"2 ?h|12\d ?m|two hours", r"ip-10-24-17-133|\b1 node\b|one node"],
)
def gpu_unhealthy(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(
        c,
        "gpu",
        families=("g5",),
        sizes=("2xlarge",),
        disruption={"consolidationPolicy": "WhenEmpty"},
        template={"taints": [GPU_TAINT]},
    )
    add_pool(c, "general")
    fleet(c, "general", "orders/storefront", 3)
    selector = {"nodeSelector": {"karpenter.sh/nodepool": "gpu"}}
    add_daemonset(c, "kube-system", "nvidia-device-plugin", cpu="10m", memory="64Mi", spec=selector)
    pairs = [
        add_node(c, "gpu", "g5.2xlarge", zone, gpus=1, age="30h", requests={"nvidia.com/gpu": "1"}) for zone in c.zones
    ]
    add_workload(
        c, "ml/infer", on=pairs, cpu="6", memory="20Gi", age="29h", requests={"nvidia.com/gpu": "1"}, spec=GPU_POD
    )
    ill = pairs[1].node
    assert ill is not None
    ill["status"]["conditions"].append(
        {
            "type": "AcceleratedHardwareReady",
            "status": "False",
            "reason": "NvidiaXID79Error",
            "message": "GPU has fallen off the bus",
            "lastTransitionTime": c.at("2h"),
            "lastHeartbeatTime": c.at("1m"),
        }
    )


@incident(
    story="Two things at once: the container runtime of one node hangs for nine minutes, so three database pods are going away; and a LimitRange "
    "refuses six of ten pods of a new release for 18 minutes.",
    cause="A node is not ready for 9 minutes (its container runtime hangs); 6 of 10 pods of media/render cannot be created, as a LimitRange allows 4 cores.",
    thread="kubernetes/kubernetes#72533",
    must=[
        r"not (been )?ready|NotReady",
        r"\b[89] ?m|09:21",
        "render",
        r"LimitRange|limit ?range|maximum cpu",
        n(6) + r"|4 of 10",
    ],
    must_not=[LAUNCHES],
)
def runtime_hangs_and_limit_range(c: Cluster) -> None:
    usual(c)
    message = (
        "[container runtime is down, PLEG is not healthy: pleg was last seen active 12m3.204s ago; threshold is 3m0s]"
    )
    ill = add_node(
        c, "general", "m6i.2xlarge", c.zones[0], age="6d", ready=("False", "KubeletNotReady", message), ready_since="9m"
    )
    add_workload(
        c, "db/replica", kind="StatefulSet", on=[ill], count=3, age="6d", cpu="2", memory="8Gi", deleting="3m30s"
    )
    room = [add_node(c, "general", "m6i.2xlarge", zone, age="6d") for zone in c.zones[1:]]
    add_workload(c, "media/render", on=room, count=4, replicas=10, age="18m", cpu="2", memory="4Gi")
    c.add("LimitRange", "per-container", "media", spec={"limits": [{"type": "Container", "max": {"cpu": "4"}}]})
    text = 'Error creating: pods "render-7c9d5b7f4-x2k8p" is forbidden: maximum cpu usage per Container is 4, but limit is 8'
    refuse_pods(c, "render", text, first="18m", last="40s", count=22)


@incident(
    story="Karpenter 1.14 with node repair. A bad CNI release broke the network of three of the eight nodes of pool edge 50 minutes ago. More "
    "than 20 % are unhealthy, so Karpenter repairs none of them; their pods run without network.",
    cause="3 of the 8 nodes of edge are unhealthy (NetworkingReady is False) for 50 minutes, and Karpenter repairs none because more than "
    "20 % are unhealthy.",
    thread="kubernetes-sigs/karpenter#2134",
    must=[r"\bedge\b", n(3), r"repair", r"20 ?%|more than|too many|3 of 8", r"network|unhealthy"],
    must_not=[r"(NodeRepair|node repair|repair) (gate )?is (off|disabled)"],
    karpenter_version="1.14.1",
    settings={"FEATURE_GATES": "NodeRepair=true"},
)
def repair_blocked(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "edge")
    fleet(c, "general", "orders/storefront", 3)
    pairs = fleet(c, "edge", "edge/proxy", 8)
    for pair in pairs:
        assert pair.node is not None
        ill = pair in pairs[:3]
        text = "Failed to get the pod network: ipamd does not answer" if ill else ""
        state = ("False", c.at("50m"), "IPAMDNotRunning", text) if ill else ("True", pair.created, "NetworkingIsReady")
        pair.node["status"]["conditions"].append(
            {**condition("NetworkingReady", *state), "lastHeartbeatTime": c.at("30s")}
        )
        if ill:
            text = "more than 20% nodes are unhealthy in the nodepool"
            c.event(pair.node, "NodeRepairBlocked", text, last="1m", first="20m", count=10)


@incident(
    story="Three of nine nodes, all those of us-east-1c, stopped answering seven minutes ago. The database replica there cannot move: "
    "its volume is in that zone. Six web pods wait too.",
    cause="All 3 nodes of us-east-1c are not ready for 7 minutes; db/pg-2 and 6 other pods are affected.",
    thread="kubernetes-sigs/karpenter#1573",
    must=[r"1c\b", n(3), r"not (been )?ready|NotReady|unreachable|down", r"\b7 ?m|[67]m\d+|09:23|\b7\b"],
)
def zone_goes_silent(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    fleet(c, "general", "orders/storefront", 6, zones=c.zones[:2])
    silent = [
        add_node(c, "general", "m6i.2xlarge", c.zones[2], age="5d", ready=NOT_READY, ready_since="7m") for _ in range(3)
    ]
    volume = add_volume(c, "db", "data-pg-2", c.zones[2])
    add_workload(
        c,
        "db/pg",
        kind="StatefulSet",
        on=silent[:1],
        age="5d",
        cpu="5",
        memory="20Gi",
        deleting="2m",
        spec={"volumes": [volume]},
    )
    add_workload(c, "orders/catalog", on=silent[1:], count=6, age="5d", cpu="2", memory="6Gi", deleting="2m")
    waiting(
        c,
        "orders/catalog-next",
        6,
        "2m",
        "0/11 nodes are available: 3 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, 8 Insufficient cpu. "
        "preemption: 0/11 nodes are available: 3 Preemption is not helpful for scheduling, 8 No preemption victims found for "
        "incoming pod.",
        cpu="2",
        memory="6Gi",
    )


@incident(
    story="Two of four zones fail at the same time. Six nodes of two pools, four in us-east-1b and two in us-east-1c, have not been ready "
    "for six minutes; the nodes in the other zones run. Nine pods are pending, and one cannot move: its volume is in us-east-1c.",
    cause="All 6 nodes of us-east-1b and us-east-1c have not been ready for 6 minutes; 9 pods are pending.",
    thread="kubernetes-sigs/karpenter#1573",
    must=[
        r"1b\b",
        r"1c\b",
        n(6) + "|" + r"\bsix\b" + "|" + rf"1b\b.{{0,30}}{n(4)}",
        n(6) + "|" + r"\bsix\b" + "|" + rf"1c\b.{{0,30}}{n(2)}",
        r"not (been )?ready|NotReady|unreachable|down|stopped",
        r"\b6 ?m|5m\d+|09:24",
    ],
    zones=("us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d"),
)
def two_zones_go_silent(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "data", sizes=("2xlarge",), labels={"team": "data"})
    fleet(c, "general", "orders/storefront", 6, zones=(c.zones[0], c.zones[3]))
    silent = [
        add_node(c, "general", "m6i.xlarge", c.zones[1], age="5d", ready=NOT_READY, ready_since="6m") for _ in range(4)
    ]
    add_workload(c, "orders/catalog", on=silent, count=8, age="5d", deleting="30s")
    stores = [
        add_node(c, "data", "m6i.2xlarge", c.zones[2], age="5d", ready=NOT_READY, ready_since="6m") for _ in range(2)
    ]
    volumes = [add_volume(c, "db", f"data-pg-{number}", c.zones[2]) for number in range(2)]
    pods = add_workload(c, "db/pg", kind="StatefulSet", on=stores[:1], pending=1, pending_since="50s", age="5d", cpu="5", memory="20Gi", spec={"nodeSelector": {"team": "data"}})  # fmt: skip
    for pod, volume in zip(pods, volumes, strict=True):
        pod["spec"]["volumes"] = [volume]
    pods[0]["metadata"]["deletionTimestamp"] = c.at("30s")
    waiting(c, "orders/catalog-next", 8, "55s", "0/14 nodes are available: 6 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, 8 Insufficient cpu. "
        "preemption: 0/14 nodes are available: 6 Preemption is not helpful for scheduling, 8 No preemption victims found for "
        "incoming pod.")  # fmt: skip


@incident(
    story="EC2 takes back eight of twenty spot nodes within two minutes. Eighteen pods wait, and no replacement has joined yet.",
    cause="8 of 20 spot nodes of pool spot were interrupted within two minutes; 18 pods are pending.",
    thread="dynamical-org/reformatters#945",
    must=["spot", r"interrupt|taken back|reclaim", n(8), n(18)],
)
def spot_wave_of_eight(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",))
    fleet(c, "spot", "orders/storefront", 12, capacity="spot", age="2d")
    for number in range(8):
        age = f"{60 + 12 * number}s"
        going = add_node(c, "spot", "m6i.xlarge", c.zones[number % 3], capacity="spot", age="2d", deleting=age)
        both(going)[1]["status"]["conditions"].append(
            condition("Drained", "Unknown", c.at(age), "Draining", "Draining")
        )
        for manifest in both(going):
            c.event(manifest, "SpotInterrupted", "Spot interruption warning was triggered", last=age)
            text = f"Interruption triggered termination for the {manifest['kind']}"
            c.event(manifest, "TerminatingOnInterruption", text, last=age)
    for number in range(4):
        add_node(c, "spot", "m6i.2xlarge", c.zones[number % 3], capacity="spot", age="50s", stage="Launched")
    waiting(
        c,
        "orders/catalog",
        18,
        "70s",
        "0/22 nodes are available: 14 Insufficient cpu, 8 node(s) had untolerated taint {karpenter.sh/disrupted: }. "
        "preemption: 0/22 nodes are available: 14 No preemption victims found for incoming pod, 8 Preemption is not helpful for "
        "scheduling.",
    )
