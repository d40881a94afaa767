"""Why a pod has nowhere to go, as data and in words: what is short, where, and by how much."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from karptui.karpenter.labels import ZONE
from karptui.kube.resources import Shortage
from karptui.kube.units import count_text, lacking_text

DEFAULT_SPREAD: Final = "default spread"
"""The gate of topology where it is the controller's own spread that fails a pod which states none."""
_NEAREST_FIRST: Final = {
    gate: rank
    for rank, gate in enumerate(
        (
            *("reservations", "minValues", "limits", "topology", DEFAULT_SPREAD),
            *("volumes", "instance types", "requirements", "taints"),
        )
    )
}
"""How near a NodePool comes that fails a pod at a gate, where numbers do not tell."""


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
    """A node that Karpenter puts it on and that is not initialised, which does not count."""

    named: tuple[str, ...] = ()
    """NodePools that the pod names by label; without any it goes to each."""
    skip_text: str = ""
    """The NodePool that comes nearest, where that one takes no part in provisioning."""
    bystands: str = ""
    """Why it takes no part."""

    @property
    def nearest(self) -> PoolMiss | None:
        """The NodePool that comes nearest, by numbers and else by its gate; None without any.

        Where the pod names NodePools, others do not count; one that takes no part is the ``skip_text``.
        """
        return min(
            [miss for miss in self.pools if miss.pool_name in self.named] or self.pools,
            key=lambda miss: (miss.distance, _NEAREST_FIRST.get(miss.gate, len(_NEAREST_FIRST))),
            default=None,
        )

    def like(self, miss: PoolMiss) -> tuple[PoolMiss, ...]:
        """Return the NodePools that fail for the same cause, in their order."""
        return tuple(one for one in self.pools if one.cause == miss.cause)


NO_POOLS: Final = "no NodePool can take pods, as none of this Karpenter's is ready, dynamic and not being deleted"
NO_TYPES: Final = "no NodePool has an instance type that it could launch"
NO_ZONE: Final = f"{ZONE} DoesNotExist"
"""What is asked of a type once volumes and rules have no zone in common."""
NO_ZONE_WORDS: Final = "no zone is left: its volumes and rules name different ones"
_WORDS: Final = {
    "dynamic resources": "it asks for dynamic resources, which Karpenter passes over",
    "NodePools": NO_TYPES,
    "limits": "the limits of {pool} leave no room for another node",
    "taints": "it does not tolerate {asked} of {pool}",
    "requirements": "no node of {pool} matches {asked}",
    "volumes": "its volumes are out of reach of {pool}: {asked}",
    "topology": "its spread or affinity rules leave no domain in {pool}",
    DEFAULT_SPREAD: "the default topology spread of SCHEDULER_CONFIG over {asked} leaves no domain in {pool}",
    "instance types": "no instance type of {pool} has {asked}",
    "reservations": "it waits for reserved capacity of {pool} that others hold",
    "minValues": "a node of {pool} would fall below minValues",
}
"""By gate, what it says; ``asked`` is what is missing."""
_ASKED: Final = {"taints": "the taints", "requirements": "its labels", "volumes": "their zones"}
"""By gate, what is missing where nobody has looked closer."""


def miss_text(miss: PoolMiss, pool: str) -> str:
    """Return why NodePools that fail alike do not take a pod, with names as they are in the cluster.

    Args:
        miss: Of one of them.
        pool: What they are called together, such as ``NodePool general`` or ``any of 3 NodePools``.
    """
    if miss.shortages:
        short = ", ".join(map(shortage_text, miss.shortages))
        return f"{miss.instance_type} of {pool} comes nearest and is short by {short}"
    if NO_ZONE in miss.asked:
        return f"{NO_ZONE_WORDS}, so no node of {pool} takes it"
    asked = ", ".join(map(_plain, miss.asked)) or _ASKED.get(miss.gate, "labels, room and an offering together")
    return _WORDS.get(miss.gate, "no node of {pool} takes it").format(pool=pool, asked=asked)


def shortage_text(shortage: Shortage) -> str:
    """Return what is short and by how much, never understated: ``memory 6,846Mi``."""
    return f"{shortage.resource} {lacking_text(shortage.resource, shortage.lacking_nano)}"


def _plain(requirement: str) -> str:
    """Return a requirement that one value meets as ``key=value``, others as they are."""
    key, _, values = requirement.partition(" In [")
    return f"{key}={values[:-1]}" if values.endswith("]") and " " not in values else requirement


_GATE_WORDS: Final = {
    "room": "room",
    "taints": "taints",
    "requirements": "labels",
    "volumes": "volumes",
    "topology": "spread or affinity",
    "host ports": "host ports",
    "instance types": "room or labels",
}
"""By gate, the word that counts are given in."""


def no_place_text(found: NoPlace) -> str:
    """Return ``web/big-0 has no other place: m5.xlarge of general is short by cpu 1200m``."""
    others = ""
    if found.others:
        others = f" (nor {'has' if found.others == 1 else 'have'} {count_text(found.others)} more)"
    return f"{found.pod_key} has no other place{others}: {cause_text(found)}"


def cause_text(found: NoPlace) -> str:
    """Return the same without the pod: what the NodePool that comes nearest says, and how the others fail."""
    if found.uninitialized_node:
        return f"Karpenter counts on {found.uninitialized_node}, which is not initialised yet, and so on no place"
    parts = []
    nearest = found.nearest
    if found.skip_text:
        parts.append(_bystander_text(found))
    elif nearest is not None:
        alike = found.like(nearest)
        parts.append(_of_some(nearest, len(alike)))
        counts = Counter(_GATE_WORDS.get(pool.gate, pool.gate) for pool in found.pools if pool not in alike)
        if counts:
            parts.append(f"other NodePools: {_counts_text(counts)}")
    else:
        parts.append(NO_TYPES)
    if found.nodes:
        counts = Counter({_GATE_WORDS.get(gate, gate): count for gate, count in found.nodes})
        parts.append(f"{count_text(sum(counts.values()))} nodes tried: {_counts_text(counts)}")
    return "; ".join(parts)


def _bystander_text(found: NoPlace) -> str:
    return f"NodePool {found.skip_text} takes no part: {found.bystands}"


def _counts_text(counts: Counter[str]) -> str:
    return " · ".join(f"{count_text(count)} {word}" for word, count in counts.most_common())


def _of_some(miss: PoolMiss, pools: int) -> str:
    """Return why NodePools that fail alike do not take a pod."""
    pool = f"NodePool {miss.pool_name}" if pools == 1 else f"any of {count_text(pools)} NodePools"
    return miss_text(miss, pool)


def reason_of(found: NoPlace) -> tuple[str, str]:
    """Return the words of the NodePool that comes nearest, and its gate; NodePools that say the same go together."""
    nearest = found.nearest
    if found.skip_text:
        return _bystander_text(found), "NodePools"
    if nearest is None:
        return NO_TYPES, "NodePools"
    alike = found.like(nearest)
    names = [miss.pool_name for miss in alike if miss.pool_name]
    pool = f"NodePool{'s' if len(names) > 1 else ''} {', '.join(names)}" if names else "any NodePool"
    text = miss_text(nearest, pool)
    others = len(found.pools) - len(alike)
    return f"{text} ({others} other NodePool{'s' if others > 1 else ''} further off)" if others else text, nearest.gate
