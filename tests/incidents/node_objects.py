"""NodeClaims and Nodes as the AWS provider and the kubelet make them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tests.incidents.cluster import HASH, ZONE_IDS, Cluster, NodePair
from tests.incidents.objects import (
    Object,
    condition,
    digest,
    duration,
    instance_labels,
    later,
    node_resources,
    owner,
    suffix,
)

NOT_READY: Final = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
CNI_NOT_READY: Final = (
    "False",
    "KubeletNotReady",
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
)


def add_group_node(
    c: Cluster, instance_type: str, zone: str, *, age: str = "47d", ready: Sequence[str] = (), ready_since: str = ""
) -> NodePair:
    """Add a node of the EKS managed node group ``system``."""
    pair = NodePair(zone, c.at(age))
    labels = {
        "node.kubernetes.io/instance-type": instance_type,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "eks.amazonaws.com/nodegroup": "system",
        "eks.amazonaws.com/capacityType": "ON_DEMAND",
    }
    instance = f"i-0{digest(c.name, 'group', len(c.nodes))[:16]}"
    _add_node_object(
        c,
        pair,
        labels,
        instance_type=instance_type,
        instance=instance,
        ready=ready or ("True", "KubeletReady", "kubelet is posting ready status"),
        ready_since=ready_since or age,
        age=age,
        gpus=0,
        taints=[],
    )
    c.nodes.append(pair)
    return pair


def add_node(
    c: Cluster,
    pool: str,
    instance_type: str,
    zone: str,
    *,
    capacity: str = "on-demand",
    age: str = "9d",
    stage: str = "Initialized",
    launch_error: tuple[str, str] | None = None,
    uninitialized: tuple[str, str] | None = None,
    ready: Sequence[str] = ("True", "KubeletReady", "kubelet is posting ready status"),
    ready_since: str = "",
    drifted: str = "",
    drift_reason: str = "AMIDrift",
    deleting: str = "",
    taints: Sequence[Object] = (),
    annotations: Mapping[str, str] | None = None,
    claim_annotations: Mapping[str, str] | None = None,
    conditions: Sequence[Object] = (),
    requests: Mapping[str, str] | None = None,
    gpus: int = 0,
    without: Iterable[str] = (),
) -> NodePair:
    """Add a NodeClaim and, from the stage Registered on, its Node.

    Args:
        pool: its NodePool, which must have been added.
        instance_type: one of ``TYPES``.
        zone: its zone.
        capacity: its capacity type.
        age: age of the NodeClaim; the Node is 35 seconds younger.
        stage: empty (not launched), Launched, Registered or Initialized.
        launch_error: reason and message of a Launched condition that is unknown.
        uninitialized: reason and message of an Initialized condition that is unknown.
        ready: status, reason and message of the Node's condition Ready.
        ready_since: age of that condition, if it is not the node's.
        drifted: age of the condition Drifted.
        drift_reason: its reason.
        deleting: age of the deletion.
        taints: taints beside those of the NodePool.
        annotations: the Node's annotations.
        claim_annotations: the NodeClaim's annotations.
        conditions: further conditions of the NodeClaim.
        requests: what the NodeClaim requests.
        gpus: GPUs that the node offers.
        without: DaemonSets whose pod is missing there.
    """
    parent = c.find("NodePool", pool)
    template, number = parent["spec"]["template"], len(c.nodes)
    node_age, order = later(age, "35s"), ("", "Launched", "Registered", "Initialized").index(stage)
    pair = NodePair(zone, c.at(node_age), without=tuple(without))
    instance, name = f"i-0{digest(c.name, pool, number)[:16]}", f"{pool}-{suffix(c.name, pool, number)}"
    result = {"karpenter.sh/nodepool": pool, "karpenter.k8s.aws/ec2nodeclass": template["spec"]["nodeClassRef"]["name"]}
    result |= template["metadata"]["labels"]
    placed = {
        "karpenter.sh/capacity-type": capacity,
        "topology.kubernetes.io/region": "us-east-1",
        "topology.kubernetes.io/zone": zone,
        "topology.k8s.aws/zone-id": ZONE_IDS[zone],
    }
    launched = {**result, **instance_labels(instance_type), **placed}
    steps = [("Launched", launch_error, "8s"), ("Registered", None, "40s"), ("Initialized", uninitialized, "55s")]
    waiting = ("AwaitingReconciliation", "object is awaiting reconciliation")
    if order == 1:
        steps[1] = ("Registered", ("NodeNotFound", "Node not registered with cluster"), "40s")
    listed = [
        condition(step, "True", c.at(later(age, after)))
        if index < order
        else condition(step, "Unknown", c.at(later(age, "2s")), *(why or waiting))
        for index, (step, why, after) in enumerate(steps)
    ]
    missing = ", ".join(f"{manifest['type']}=Unknown" for manifest in listed if manifest["status"] != "True")
    state = ("Unknown", listed[-1]["lastTransitionTime"], "ReconcilingDependents", missing)
    listed.append(condition("Ready", *(state if missing else ("True", listed[-1]["lastTransitionTime"]))))
    if order == 3 and duration(age) > duration("10m") and not deleting and "replicas" not in parent["spec"]:
        listed.append(condition("Consolidatable", "True", c.at(later(age, "10m"))))
    if drifted:
        listed.append(condition("Drifted", "True", c.at(drifted), drift_reason))
    capacity_list, allocatable = node_resources(instance_type, gpus)
    marks: Object = {"finalizers": ["karpenter.sh/termination"]} | (
        {"deletionTimestamp": c.at(deleting)} if deleting else {}
    )
    grace = {key: template["spec"][key] for key in ("terminationGracePeriod", "expireAfter") if key in template["spec"]}
    own_taints = [*template["spec"].get("taints", [])]
    startup = [*template["spec"].get("startupTaints", [])]
    pair.claim = c.add(
        "NodeClaim",
        name,
        age=age,
        generation=1 + bool(deleting),
        labels=launched if order else result,
        annotations={
            "karpenter.sh/nodepool-hash": HASH,
            "karpenter.sh/nodepool-hash-version": "v3",
            "karpenter.k8s.aws/ec2nodeclass-hash": HASH,
            "karpenter.k8s.aws/ec2nodeclass-hash-version": "v6",
            **(claim_annotations or {}),
        },
        ownerReferences=[owner(parent)],
        spec={
            **grace,
            "nodeClassRef": template["spec"]["nodeClassRef"],
            "requirements": [
                *template["spec"]["requirements"],
                {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [instance_type]},
            ],
            "resources": {"requests": dict(requests or {"cpu": "1190m", "memory": "1144Mi", "pods": "6"})},
            **({"taints": own_taints} if own_taints else {}),
            **({"startupTaints": startup} if startup else {}),
        },
        status={
            "conditions": [*listed, *conditions],
            **(
                {
                    "providerID": f"aws:///{zone}/{instance}",
                    "imageID": f"ami-0{digest('old' if drifted else 'ami', launched['kubernetes.io/arch'])[:16]}",
                    "capacity": capacity_list,
                    "allocatable": allocatable,
                }
                if order
                else {}
            ),
        },
        **marks,
    )
    if order >= 2:
        stages = {"karpenter.sh/registered": "true"} | ({"karpenter.sh/initialized": "true"} if order == 3 else {})
        present = [*own_taints, *taints]
        if deleting:
            present.append({"key": "karpenter.sh/disrupted", "effect": "NoSchedule"})
        if ready[0] != "True":
            kind = "unreachable" if ready[0] == "Unknown" else "not-ready"
            effects = ("NoSchedule", "NoExecute") if order == 3 else ("NoSchedule",)
            present += [{"key": f"node.kubernetes.io/{kind}", "effect": effect} for effect in effects]
        manifest = _add_node_object(
            c,
            pair,
            {**launched, **stages},
            instance_type=instance_type,
            instance=instance,
            ready=ready,
            ready_since=ready_since or node_age,
            age=node_age,
            gpus=gpus,
            taints=present,
            ownerReferences=[owner(pair.claim)],
            annotations=dict(annotations or {}),
            **marks,
        )
        pair.claim["status"]["nodeName"] = manifest["metadata"]["name"]
    c.nodes.append(pair)
    return pair


def cordon(c: Cluster, pair: NodePair, age: str) -> None:
    """Cordon a node, as kubectl does."""
    assert pair.node is not None
    pair.node["spec"]["unschedulable"] = True
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": c.at(age)}
    pair.node["spec"].setdefault("taints", []).append(taint)
    if duration(age) < duration("1h"):
        message = f"Node {pair.name} status is now: NodeNotSchedulable"
        c.event(pair.node, "NodeNotSchedulable", message, last=age, kind="Normal", source="kubelet")


def _add_node_object(
    c: Cluster, pair: NodePair, labels: Object, *, instance_type: str, instance: str, ready: Sequence[str], **more: Any
) -> Object:
    name, since = _address(c), c.at(more.pop("ready_since"))
    capacity, allocatable = node_resources(instance_type, more.pop("gpus"))
    status, reason, message = ready
    unknown = status == "Unknown"
    kinds = (
        ("MemoryPressure", "KubeletHasSufficientMemory"),
        ("DiskPressure", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "KubeletHasSufficientPID"),
    )
    conditions = [
        condition(kind, *(("Unknown", since, reason, message) if unknown else ("False", pair.created, fine)))
        for kind, fine in kinds
    ]
    conditions.append(condition("Ready", status, since, reason, message))
    for manifest in conditions:
        manifest["lastHeartbeatTime"] = since if unknown else c.at("40s")
    taints = more.pop("taints")
    pair.node = c.add(
        "Node",
        name,
        age=more.pop("age"),
        labels={
            **labels,
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/region": "us-east-1",
            "topology.kubernetes.io/zone": pair.zone,
            "topology.k8s.aws/zone-id": ZONE_IDS[pair.zone],
        },
        spec={"providerID": f"aws:///{pair.zone}/{instance}", **({"taints": taints} if taints else {})},
        status={
            "capacity": capacity,
            "allocatable": allocatable,
            "addresses": [
                {"type": "InternalIP", "address": name[3:].split(".")[0].replace("-", ".")},
                {"type": "Hostname", "address": name},
            ],
            "conditions": conditions,
            "nodeInfo": {
                "architecture": labels["kubernetes.io/arch"],
                "kubeletVersion": "v1.35.2-eks-7f1c2a9",
                "containerRuntimeVersion": "containerd://2.1.5",
                "osImage": "Amazon Linux 2023.9.20261111",
                "operatingSystem": "linux",
            },
        },
        **more,
    )
    c.add(
        "CSINode",
        name,
        age="30d",
        spec={
            "drivers": [
                {
                    "name": "ebs.csi.aws.com",
                    "nodeID": instance,
                    "topologyKeys": [
                        "kubernetes.io/os",
                        "topology.ebs.csi.aws.com/zone",
                        "topology.kubernetes.io/zone",
                    ],
                    "allocatable": {"count": 25},
                }
            ]
        },
    )
    return pair.node


def _address(c: Cluster) -> str:
    return f"ip-10-24-{16 + len(c.nodes) // 4}-{31 + 17 * len(c.nodes) % 200}.ec2.internal"


def both(pair: NodePair) -> tuple[Object, Object]:
    """Return a node's Node and NodeClaim."""
    assert pair.node is not None
    assert pair.claim is not None
    return pair.node, pair.claim


def conditions(pair: NodePair, *result: Object) -> None:
    """Add conditions to a NodeClaim."""
    both(pair)[1]["status"]["conditions"] += result
