"""What several incidents have in common: filled nodes, and refused launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.incidents.cluster import Cluster, NodePair
from tests.incidents.node_objects import add_node
from tests.incidents.objects import Object, digest, uid
from tests.incidents.pods import add_workload
from tests.incidents.pools import add_nodeclass, add_pool


def fleet(
    c: Cluster, pool: str, name: str, nodes: int, *, zones: Sequence[str] = (), each: int = 3, **node: Any
) -> list[NodePair]:
    """Add m6i.xlarge nodes of a pool, filled by the pods of one Deployment."""
    places = zones or c.zones
    pairs = [add_node(c, pool, "m6i.xlarge", places[number % len(places)], **node) for number in range(nodes)]
    add_workload(c, name, on=pairs, count=each * nodes)
    return pairs


def big_fleet(
    c: Cluster, pool: str, nodes: int, *, instance_type: str = "m6i.xlarge", part: str = "main", **node: Any
) -> list[NodePair]:
    """Add nodes of a pool, each nearly filled by twelve pods of four Deployments, as in a large cluster."""
    pairs = [add_node(c, pool, instance_type, c.zones[number % len(c.zones)], **node) for number in range(nodes)]
    for team in ("cart", "feed", "mail", "rank"):
        add_workload(c, f"{team}/{part}", on=pairs, count=3 * nodes, cpu="285m", memory="800Mi", age="6d")
    return pairs


def usual(c: Cluster, nodes: int = 4, **pool: Any) -> list[NodePair]:
    """Add the EC2NodeClass default and the NodePool general with filled nodes."""
    add_nodeclass(c)
    add_pool(c, "general", **pool)
    return fleet(c, "general", "orders/storefront", nodes)


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


def replaced(c: Cluster, pool: str, reason: str, times: int, *, every: int = 5, of: Sequence[Object] = ()) -> None:
    """Add the events of nodes that Karpenter replaced, each with three evictions of the workload of some pods."""
    for number in range(times):
        claim, age = gone_claim(c, pool, number), f"{2 + every * number}m"
        c.event(claim, "DisruptionTerminating", f"Disrupting NodeClaim: {reason}", last=age, kind="Normal")
        text = f"Launching NodeClaim: {reason}"
        c.event(claim, "DisruptionLaunching", text, last=f"{2 + every + every * number}m", kind="Normal")
        for place in range(3 if of else 0):
            meta = dict(of[0]["metadata"], name=f"{of[0]['metadata']['name'][:-6]}-{digest(number, place)[:5]}")
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta | {"uid": uid(c.name, number, place)}}
            c.event(pod, "Evicted", f"Evicted pod: {reason}", last=age, kind="Normal")


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


NO_MATCH = "didn't match Pod's node affinity/selector"


def waits(count: int, here: int) -> str:
    """Return kube-scheduler's message if some nodes are full and the others not selected."""
    text = f"0/{count} nodes are available: {here} Insufficient cpu" if here else f"0/{count} nodes are available: "
    if count > here:
        text += (", " if here else "") + f"{count - here} node(s) {NO_MATCH}"
    return f"{text}. preemption: 0/{count} nodes are available: {count} Preemption is not helpful for scheduling."


HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


NO_TYPE = "no instance type met the scheduling requirements or had enough resources or had a required offering"
