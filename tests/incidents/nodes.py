"""Nodes that are ill."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import GPU_POD, GPU_TAINT, fleet, usual
from tests.incidents.incident import incident, n
from tests.incidents.node_objects import NOT_READY, add_node
from tests.incidents.pods import add_daemonset, add_pod, add_volume, add_workload
from tests.incidents.pools import add_nodeclass, add_pool


@incident(
    story="Builds fill the 20 GiB disks of two nodes. The kubelet evicts build pods again and again, twelve in the last half "
    "hour, and the nodes take no new ones.",
    cause="Two nodes of builds are under disk pressure, and the kubelet has evicted 12 build pods for want of ephemeral storage.",
    thread="aws/karpenter-provider-aws#4149",
    must=[[r"disk ?pressure|ephemeral|disk"], [n(2), r"\btwo\b"], ["builds|evict"]],
)
def disk_pressure(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "builds", sizes=("2xlarge",), disruption={"consolidationPolicy": "WhenEmpty"})
    add_pool(c, "general")
    fleet(c, "general", "orders", "storefront", 3)
    pairs = [add_node(c, "builds", "m6i.2xlarge", zone, age="7h") for zone in c.zones]
    for pair in pairs[:2]:
        assert pair.node is not None
        pressure = pair.node["status"]["conditions"][1]
        pressure |= {"status": "True", "reason": "KubeletHasDiskPressure", "lastTransitionTime": c.at("31m")}
        pressure["message"] = "kubelet has disk pressure"
        pair.node["spec"]["taints"] = [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]
        text = "Attempting to reclaim ephemeral-storage"
        c.event(pair.node, "EvictionThresholdMet", text, last="40s", first="31m", count=95, source="kubelet")
    running = add_workload(c, "Deployment", "ci", "builder", on=pairs, count=9, age="25m", cpu="2", memory="4Gi")
    parent = next(
        one for one in c.objects if one["kind"] == "ReplicaSet" and one["metadata"]["name"].startswith("builder-")
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
        [r"not (been )?ready|NotReady|unreachable|stopped|down|not answer"],
        [r"55 ?m|5[0-4] ?m|\b08:3"],
        [r"pg-0|terminating|db/pg"],
        [r"ip-10-24-17-133|\b1 node\b|one node"],
    ],
)
def node_gone_silent(c: Cluster) -> None:
    usual(c)
    silent = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="5d", ready=NOT_READY, ready_since="55m")
    volume = add_volume(c, "db", "data-pg-0", c.zones[0])
    add_workload(
        c,
        "StatefulSet",
        "db",
        "pg",
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
    must=[[r"accelerat|\bGPU|XID"], [r"2 ?h|12\d ?m|two hours"], [r"ip-10-24-17-133|\b1 node\b|one node"]],
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
    fleet(c, "general", "orders", "storefront", 3)
    selector = {"nodeSelector": {"karpenter.sh/nodepool": "gpu"}}
    add_daemonset(c, "kube-system", "nvidia-device-plugin", cpu="10m", memory="64Mi", spec=selector)
    pairs = [
        add_node(c, "gpu", "g5.2xlarge", zone, gpus=1, age="30h", requests={"nvidia.com/gpu": "1"}) for zone in c.zones
    ]
    add_workload(
        c,
        "Deployment",
        "ml",
        "infer",
        on=pairs,
        cpu="6",
        memory="20Gi",
        age="29h",
        requests={"nvidia.com/gpu": "1"},
        spec=GPU_POD,
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
