"""Why a pod cannot be scheduled anywhere, as data and as text: the labels or resources that are missing, and where."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from karptui.karpenter.labels import ZONE
from karptui.kube.resources import Shortage
from karptui.kube.units import count_text, counted, lacking_text

DEFAULT_SPREAD: Final = "default spread"
"""Gate of topology for a pod without spread constraints that fails the scheduler's default spread."""
_NEAREST_FIRST: Final = {
    gate: rank
    for rank, gate in enumerate(
        (
            *("reservations", "minValues", "limits", "topology", DEFAULT_SPREAD),
            *("volumes", "instance types", "requirements", "taints"),
        )
    )
}
"""Gates of NodePools from nearest to furthest, for comparisons without numbers."""


class PoolMiss(msgspec.Struct, frozen=True, gc=False):
    """Why a new node of a NodePool does not accept the pod."""

    pool_name: str
    gate: str
    """The failed gate, of ``provisioning.rejection.Gate``."""
    instance_type: str = ""
    """The nearest type, if only capacity is missing."""
    shortages: tuple[Shortage, ...] = ()
    """The type's shortages."""
    asked: tuple[str, ...] = ()
    """Missing labels or tolerations, in the form of requirements or taints."""

    @property
    def cause(self) -> tuple[object, ...]:
        """Grouping key of NodePools with the same failure."""
        return self.gate, self.instance_type, self.shortages, self.asked

    @property
    def distance(self) -> float:
        """The largest ratio of need to available capacity; infinity without resource shortages."""
        ratios = [shortage.need.nano / max(shortage.room.nano, 1) for shortage in self.shortages]
        return max(ratios, default=float("inf"))


class NoPlace(msgspec.Struct, frozen=True, gc=False):
    """A pod that cannot be scheduled."""

    pod_key: str
    others: int = 0
    """The node's number of other pods that cannot be scheduled."""
    pools: tuple[PoolMiss, ...] = ()
    """The NodePools tried, in order."""
    nodes: tuple[tuple[str, int], ...] = ()
    """Number of nodes by the gate at which they reject the pod, most frequent first; empty if nodes were not tried."""
    uninitialized_node: str = ""
    """An uninitialized node that Karpenter schedules it to, which does not count as a place."""

    named: tuple[str, ...] = ()
    """NodePools that the pod selects by label; if empty, it tries all."""
    skipped_pool: str = ""
    """The nearest NodePool, if provisioning skips that one."""
    skip_reason: str = ""
    """Why provisioning skips it."""

    @property
    def nearest(self) -> PoolMiss | None:
        """The nearest NodePool, by numbers or else by gate; None without any.

        If the pod selects NodePools, others do not count; a skipped one is ``skipped_pool`` instead.
        """
        return min(
            [miss for miss in self.pools if miss.pool_name in self.named] or self.pools,
            key=lambda miss: (miss.distance, _NEAREST_FIRST.get(miss.gate, len(_NEAREST_FIRST))),
            default=None,
        )

    def like(self, miss: PoolMiss) -> tuple[PoolMiss, ...]:
        """Return the NodePools with the same cause of failure, in order."""
        return tuple(other for other in self.pools if other.cause == miss.cause)


NO_POOLS: Final = "no NodePool accepts pods: this Karpenter has none that is ready, dynamic and not being deleted"
NO_TYPES: Final = "no NodePool has a launchable instance type"
NO_CLAIMS: Final = "Karpenter does not support ResourceClaims (Dynamic Resource Allocation)"
NO_ZONE: Final = f"{ZONE} DoesNotExist"
"""The requirement on a type if volumes and rules have no zone in common."""
NO_ZONE_WORDS: Final = "no zone satisfies both volumes and zone rules"
_WORDS: Final = {
    "dynamic resources": NO_CLAIMS,
    "NodePools": NO_TYPES,
    "limits": "the limits of {pool} leave no room for another node",
    "taints": "it does not tolerate {asked} of {pool}",
    "requirements": "no node of {pool} matches {asked}",
    "volumes": "no node of {pool} has {asked}, which its volumes need",
    "topology": "spread or affinity rules allow no domain in {pool}",
    DEFAULT_SPREAD: "the default topology spread of SCHEDULER_CONFIG over {asked} allows no domain in {pool}",
    "instance types": "no instance type of {pool} has {asked}",
    "reservations": "it waits for reserved capacity of {pool} that is in use",
    "minValues": "a node of {pool} would violate minValues",
}
"""Text by gate; ``asked`` lists the missing items."""
_DEFAULT_MISSING: Final = {"taints": "the taints", "requirements": "its labels", "volumes": "the labels of a zone"}
"""Default of the missing items, by gate."""


def miss_text(miss: PoolMiss, pool: str) -> str:
    """Return the reason why NodePools with the same failure do not accept a pod.

    Args:
        miss: The failure of one of them.
        pool: Their common description, such as ``NodePool general`` or ``any of 3 NodePools``.
    """
    if miss.shortages:
        short = ", ".join(map(shortage_text, miss.shortages))
        return f"the nearest type of {pool} is {miss.instance_type}, short of {short}"
    if NO_ZONE in miss.asked:
        return f"{NO_ZONE_WORDS}, so no node of {pool} accepts it"
    default = _DEFAULT_MISSING.get(miss.gate, "the labels, the capacity and an available offering")
    labels = ", ".join(map(_plain, miss.asked)) or default
    return _WORDS.get(miss.gate, "no node of {pool} accepts it").format(pool=pool, asked=labels)


def shortage_text(shortage: Shortage) -> str:
    """Return a shortage as text, rounded up: ``memory 6,846Mi``."""
    return f"{shortage.resource} {lacking_text(shortage.resource, shortage.lacking_nano)}"


def _plain(requirement: str) -> str:
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
"""Word for counts, by gate."""


def no_place_text(no_place: NoPlace) -> str:
    """Return a text such as ``web/big-0 cannot be placed elsewhere: the nearest type … is m5.xlarge…``."""
    others = f" and {count_text(no_place.others)} more" if no_place.others else ""
    return f"{no_place.pod_key}{others} cannot be placed elsewhere: {cause_text(no_place)}"


def cause_text(no_place: NoPlace) -> str:
    """Return the same without the pod: why the nearest NodePool fails, and how many others fail at which gate."""
    if no_place.uninitialized_node:
        return reason_of(no_place)[0]
    parts = []
    nearest = no_place.nearest
    if no_place.skipped_pool:
        parts.append(_skipped_text(no_place))
    elif nearest is not None:
        alike = no_place.like(nearest)
        parts.append(_nearest_text(nearest, len(alike)))
        counts = Counter(_GATE_WORDS.get(pool.gate, pool.gate) for pool in no_place.pools if pool not in alike)
        if counts:
            parts.append(f"other NodePools: {_counts_text(counts)}")
    else:
        parts.append(NO_TYPES)
    if no_place.nodes:
        counts = Counter({_GATE_WORDS.get(gate, gate): count for gate, count in no_place.nodes})
        parts.append(f"{count_text(sum(counts.values()))} nodes tried: {_counts_text(counts)}")
    return "; ".join(parts)


def _skipped_text(no_place: NoPlace) -> str:
    return f"provisioning skips NodePool {no_place.skipped_pool}: {no_place.skip_reason}"


def _counts_text(counts: Counter[str]) -> str:
    return " · ".join(f"{count_text(count)} {word}" for word, count in counts.most_common())


def _nearest_text(miss: PoolMiss, pools: int) -> str:
    """Return the reason why NodePools with the same failure do not accept a pod."""
    pool = f"NodePool {miss.pool_name}" if pools == 1 else f"any of {count_text(pools)} NodePools"
    return miss_text(miss, pool)


def reason_of(no_place: NoPlace, home: str = "", only: str = "") -> tuple[str, str]:
    """Return the reason why the nearest NodePool fails, with all NodePools that fail alike, and its gate.

    The gate is empty if the pod fits on a node that is not initialized.

    Args:
        home: The NodePool of the node that the pod runs on; its reason comes first.
        only: The only NodePool, if there are no others.
    """
    if node := no_place.uninitialized_node:
        return f"Karpenter schedules it to {node}, which does not count before it is initialized", ""
    if no_place.skipped_pool:
        return _skipped_text(no_place), "NodePools"
    nearest = next((miss for miss in no_place.pools if miss.pool_name == home), None) or no_place.nearest
    if nearest is None:
        return f"NodePool {only} has no launchable instance type" if only else NO_TYPES, "NodePools"
    alike = no_place.like(nearest)
    names = [miss.pool_name for miss in alike if miss.pool_name]
    pool = f"NodePool{'s' if len(names) > 1 else ''} {', '.join(names)}" if names else "any NodePool"
    text = miss_text(nearest, pool)
    others = len(no_place.pools) - len(alike)
    if others and nearest.pool_name == home:
        return f"{text} ({counted(others, 'other NodePool')} cannot take it either)", nearest.gate
    match = "NodePools match" if others > 1 else "NodePool matches"
    return f"{text} ({others} other {match} worse)" if others else text, nearest.gate
