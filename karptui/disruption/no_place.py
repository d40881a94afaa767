"""Why a pod would have nowhere to go if its node were removed, as data: what is short, where, and by how much."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from karptui.kube.pod import Pod
from karptui.kube.quantity import Quantity
from karptui.provisioning.explain import PodExplanation, PoolExplanation, explain
from karptui.provisioning.rejection import Gate, RequirementsUnmet, TaintsNotTolerated, TypesExhausted
from karptui.provisioning.solution import Solution

_NEAREST_FIRST: Final = {
    gate: rank
    for rank, gate in enumerate(
        ("reservations", "minValues", "limits", "topology", "volumes", "instance types", "requirements", "taints")
    )
}
"""How near a NodePool comes that fails a pod at a gate, where numbers do not tell."""


class Shortage(msgspec.Struct, frozen=True, gc=False):
    """A resource of which there is too little."""

    resource: str
    need: Quantity
    """What the pod asks, with what daemons ask."""
    room: Quantity
    """What the instance type leaves for pods."""


class PoolMiss(msgspec.Struct, frozen=True, gc=False):
    """Why a new node of one NodePool does not take the pod."""

    pool_name: str
    gate: str
    """The gate that failed, of ``provisioning.rejection.Gate``."""
    instance_type: str = ""
    """The type that comes nearest, where only room is missing."""
    shortages: tuple[Shortage, ...] = ()
    """What it has too little of."""
    asked: tuple[str, ...] = ()
    """Labels or tolerations that are missing, as requirements or taints are written."""

    @property
    def cause(self) -> tuple[object, ...]:
        """What NodePools that fail alike have in common."""
        return self.gate, self.instance_type, self.shortages, self.asked

    @property
    def distance(self) -> float:
        """How far away it is: the largest ratio of need to room, infinite where room is not what is missing."""
        ratios = [one.need.nano / max(one.room.nano, 1) for one in self.shortages]
        return max(ratios, default=float("inf"))


class NoPlace(msgspec.Struct, frozen=True, gc=False):
    """A pod that would have no place."""

    pod_key: str
    others: int = 0
    """Further pods of the same node without a place."""
    pools: tuple[PoolMiss, ...] = ()
    """The NodePools that are asked, in their order."""
    nodes: tuple[tuple[str, int], ...] = ()
    """How many nodes fail the pod at which gate, the most frequent first; empty where nodes were not asked."""
    uninitialized_node: str = ""
    """A node that would take it but is not initialised, which does not count."""

    @property
    def nearest(self) -> PoolMiss | None:
        """The NodePool that comes nearest, by numbers and else by its gate; None without any."""
        return min(
            self.pools,
            key=lambda miss: (miss.distance, _NEAREST_FIRST.get(miss.gate, len(_NEAREST_FIRST))),
            default=None,
        )

    def like(self, miss: PoolMiss) -> tuple[PoolMiss, ...]:
        """Return the NodePools that fail for the same cause, in their order."""
        return tuple(one for one in self.pools if one.cause == miss.cause)


def no_place(solution: Solution, pod: Pod, *, others: int = 0, asks_nodes: bool = False) -> NoPlace:
    """Return why a pod found no place in a simulated removal.

    Args:
        solution: Of the run.
        pod: One that found no place, or one on a node that is not initialised.
        others: Further pods without a place.
        asks_nodes: Whether every node that exists is asked too, which takes a while in a large cluster.
    """
    if pod.key not in solution.errors:
        waiting = (filled.state.name for filled in solution.nodes if any(one.key == pod.key for one in filled.pods))
        return NoPlace(pod.key, others, uninitialized_node=next(waiting, ""))
    found = explain(solution, pod, asks_nodes=asks_nodes)
    pools = tuple(_miss(one) for one in found.pools if one.failed is not None)
    return NoPlace(pod.key, others, pools, _counted(found))


def _counted(found: PodExplanation) -> tuple[tuple[str, int], ...]:
    # A node that is taken away itself was never in question.
    gates = Counter(str(one.gate) for one in found.nodes if one.gate is not Gate.NODEPOOLS)
    return tuple(sorted(gates.items(), key=lambda item: (-item[1], item[0])))


def _miss(pool: PoolExplanation) -> PoolMiss:
    rejection = pool.rejection
    assert rejection is not None
    miss = PoolMiss(pool.nodepool, str(rejection.gate))
    if isinstance(rejection, TaintsNotTolerated):
        return msgspec.structs.replace(miss, asked=tuple(map(str, rejection.taints)))
    if isinstance(rejection, RequirementsUnmet):
        return msgspec.structs.replace(miss, asked=tuple(one.key for one in rejection.reasons))
    if isinstance(rejection, TypesExhausted):
        if pool.nearest is not None:
            short = tuple(Shortage(one.resource, one.need, one.room) for one in pool.nearest.shortfalls)
            return msgspec.structs.replace(miss, instance_type=pool.nearest.instance_type, shortages=short)
        unmet = tuple(cost.requirement for cost in pool.label_costs if not cost.meeting)
        return msgspec.structs.replace(miss, asked=unmet[:1])
    return miss
