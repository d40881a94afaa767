"""What several incidents have in common: filled nodes, and refused launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.incidents.cluster import Cluster, NodePair
from tests.incidents.node_objects import add_node
from tests.incidents.objects import Object, digest, uid
from tests.incidents.pods import add_workload
from tests.incidents.pools import add_nodeclass, add_pool

CPU, MEMORY = "1150m", "3200Mi"
"""Three such pods fill an m6i.xlarge; not one more fits on it, nor on the nodes of the managed node group."""


def fleet(
    c: Cluster,
    pool: str,
    namespace: str,
    app: str,
    nodes: int,
    *,
    zones: Sequence[str] = (),
    each: int = 3,
    **node: Any,
) -> list[NodePair]:
    """Add m6i.xlarge nodes of a pool, filled by the pods of one Deployment."""
    places = zones or c.zones
    pairs = [add_node(c, pool, "m6i.xlarge", places[number % len(places)], **node) for number in range(nodes)]
    add_workload(c, "Deployment", namespace, app, on=pairs, count=each * nodes, cpu=CPU, memory=MEMORY)
    return pairs


def usual(c: Cluster, nodes: int = 4, **pool: Any) -> list[NodePair]:
    """Add the EC2NodeClass default and the NodePool general with filled nodes."""
    add_nodeclass(c)
    add_pool(c, "general", **pool)
    return fleet(c, "general", "orders", "storefront", nodes)


def waiting(c: Cluster, name: str, count: int, since: str, message: str, **pod: Any) -> list[Object]:
    """Add a Deployment (namespace/name) whose pods are pending, of the usual size unless told otherwise."""
    namespace, app = name.split("/")
    size = {"cpu": CPU, "memory": MEMORY}
    return add_workload(
        c, "Deployment", namespace, app, pending=count, pending_since=since, message=message, **{**size, **pod}
    )


def no_node(reasons: Mapping[str, int]) -> str:
    """Return kube-scheduler's message about a pod that no node takes, with the number of nodes by reason."""
    total = sum(reasons.values())
    preempted = sum(count for reason, count in reasons.items() if reason.startswith("Insufficient"))
    causes = ", ".join(
        f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda pair: f"{pair[1]} {pair[0]}")
    )
    helps = {
        "No preemption victims found for incoming pod": preempted,
        "Preemption is not helpful for scheduling": total - preempted,
    }
    preemption = ", ".join(f"{count} {text}" for text, count in helps.items() if count)
    return f"0/{total} nodes are available: {causes}. preemption: 0/{total} nodes are available: {preemption}."


def gone_claim(c: Cluster, pool: str, number: int) -> Object:
    """Return what events need of a NodeClaim that no longer exists."""
    name = f"{pool}-{digest(c.name, pool, 'gone', number)[:5]}"
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name, "uid": uid(c.name, "gone", pool, number)},
    }


def refused(
    c: Cluster, pool: str, errors: Sequence[str], pods: Sequence[Object], *, every: int, times: int, last: int = 1
) -> None:
    """Add the events of launches that EC2 refused for want of capacity or quota, every so many minutes until ``last`` minutes ago.

    Karpenter 1.15 repeats the error on the pods for which it made the NodeClaim.
    """
    for number in range(times):
        claim, error = gone_claim(c, pool, number), errors[number % len(errors)]
        name, age = claim["metadata"]["name"], f"{last + every * number}m"
        text = f"creating instance, insufficient capacity, with fleet error(s), {error}"
        c.event(claim, "InsufficientCapacityError", f"NodeClaim {name} event: {text}", last=age)
        if not number:
            for pod in pods:
                message = f"NodeClaim {name} nominated for this pod failed to launch: {text}"
                c.event(pod, "InsufficientCapacityError", message, last=age, count=times)


def unschedulable(c: Cluster, pods: Sequence[Object], error: str, *, minutes: int) -> None:
    """Add Karpenter's event about pods that it cannot place."""
    for pod in pods:
        c.event(
            pod,
            "FailedScheduling",
            f"Failed to schedule pod, {error}",
            last="2m",
            first=f"{minutes}m",
            count=minutes // 5,
        )


def nominated(c: Cluster, pods: Sequence[Object], pairs: Sequence[NodePair], *, last: str, count: int = 1) -> None:
    """Add Karpenter's events that tell where pods should schedule."""
    for number, pod in enumerate(pods):
        pair = pairs[number % len(pairs)]
        place = f"nodeclaim/{pair.claim_name}" + (f", node/{pair.name}" if pair.node else "")
        c.event(pod, "Nominated", f"Pod should schedule on: {place}", last=last, count=count, kind="Normal")


GPU_TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
GPU_POD: Object = {
    "nodeSelector": {"karpenter.sh/nodepool": "gpu"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
}
"""What a pod that needs a GPU has in its spec."""
