"""Results about the instance types of NodePools; ``karptui.provisioning.instance_types`` computes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

import msgspec

from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirements
from karptui.kube import resources
from karptui.kube.quantity import Quantity, QuantityFormat
from karptui.kube.resources import PODS, ResourceList, Shortage


class Filter(StrEnum):
    """Filters that exclude types, in order."""

    REQUIREMENTS = "requirements"
    """The NodePool's requirements and labels."""
    OFFERINGS = "offerings"
    """No available offering in the NodePool's zones and capacity types."""
    RESERVED = "reserved"
    """kubeReserved, systemReserved and eviction thresholds exceed the capacity."""
    DAEMONSETS = "daemonsets"
    """The DaemonSets' pods do not fit."""
    POD = "pod"
    """No pod fits together with the DaemonSets' pods."""
    LIMITS = "limits"
    """The node's capacity exceeds the NodePool's remaining limits."""


class TypeVerdict(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """An instance type in a NodePool."""

    instance_type: InstanceType
    removed_by: Filter | None
    """None if the type is available."""
    reason: str = ""
    """Details: a requirement, the missing offering, or resources."""
    shortages: tuple[Shortage, ...] = ()
    """Shortages, for DaemonSets, pods and limits."""
    daemon_pods: int = 0
    """DaemonSet pods on a new node; 0 if requirements or offerings exclude the type."""
    daemons: ResourceList = resources.EMPTY
    """Sum of their requests, with their slots as ``pods``."""
    price_per_hour: float | None = None
    """Karpenter's lowest price among the offerings that the NodePool allows."""
    rank: int | None = None
    """Rank by price among the available types, from 1; equal prices share a rank."""


class PoolDaemonSet(msgspec.Struct, frozen=True, kw_only=True):
    """A DaemonSet on new nodes of a NodePool."""

    key: str
    """``namespace/name``."""
    requests: ResourceList
    """Requests of its pod, without the slot."""
    types: int
    """Number of types, of those left by requirements and offerings, that it runs on."""
    excluded: tuple[str, ...] = ()
    """Types excluded by DaemonSets that would have room without this one."""
    one_too_many: tuple[str, ...] = ()
    """Types that have room for the DaemonSets before it by name, but not for this one."""
    why_not: str = ""
    """Why it runs on none of the types, as text."""


class FilterCount(msgspec.Struct, frozen=True):
    """Numbers of types that a filter removed and left."""

    filter: Filter
    removed: int
    left: int
    reasons: tuple[tuple[str, int], ...]
    """Reasons with their counts, most frequent first."""


class PoolTypes(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The instance types of a NodePool."""

    pool: NodePool
    rank: int | None
    """Position in the order Karpenter tries NodePools, from 1; None if it is skipped."""
    why_not: str = ""
    """Why it is skipped or has no usable type, as text."""
    requirements: Requirements
    verdicts: tuple[TypeVerdict, ...]
    """All types of the NodeClass, in the provider's order."""
    counts: tuple[FilterCount, ...]
    daemonsets: tuple[PoolDaemonSet, ...] = ()
    """All DaemonSets of the cluster, even if they do not run on new nodes."""
    unlisted: tuple[str, ...] = ()
    """Types of its nodes and NodeClaims that are missing in the verdicts: the list may be outdated."""
    used: Mapping[str, int] = MappingProxyType({})
    """Capacity of its nodes without those being deleted, in nano-units, as limits count it."""
    remaining: Mapping[str, int] = MappingProxyType({})
    """Remaining limits in nano-units, for the limited resources; negative if exceeded."""

    @property
    def left(self) -> tuple[TypeVerdict, ...]:
        """Types that a new node may have."""
        return tuple(verdict for verdict in self.verdicts if verdict.removed_by is None)


def shortages(
    instance_type: InstanceType, have: Mapping[str, int], need: Mapping[str, Quantity]
) -> tuple[Shortage, ...]:
    """Return the shortages, pods first because they are easily overlooked."""
    short = [
        Shortage(name, amount, Quantity(have.get(name, 0), format_of(instance_type, name)))
        for name, amount in need.items()
        if amount.nano > have.get(name, 0) and amount.nano > 0
    ]
    return tuple(sorted(short, key=lambda shortage: (shortage.resource != PODS, shortage.resource)))


def format_of(instance_type: InstanceType, name: str) -> QuantityFormat:
    """Return the format of a resource in the type's capacity."""
    amount = instance_type.capacity.get(name)
    return amount.format if amount is not None else QuantityFormat.DECIMAL_SI


def ranked_by_price(verdicts: Sequence[TypeVerdict]) -> tuple[TypeVerdict, ...]:
    """Return verdicts with the rank of each available type with a price; equal prices share a rank."""
    prices = sorted(
        {
            verdict.price_per_hour
            for verdict in verdicts
            if verdict.removed_by is None and verdict.price_per_hour is not None
        }
    )
    order = {price: index for index, price in enumerate(prices, 1)}
    shared = Counter(verdict.price_per_hour for verdict in verdicts if verdict.removed_by is None)
    starts, before = {}, 0
    for price in order:
        starts[price] = before + 1
        before += shared[price]
    return tuple(
        msgspec.structs.replace(verdict, rank=starts[verdict.price_per_hour])
        if verdict.removed_by is None and verdict.price_per_hour is not None
        else verdict
        for verdict in verdicts
    )


def counts_by_filter(verdicts: Sequence[TypeVerdict]) -> tuple[FilterCount, ...]:
    """Return the numbers of types that each filter removed and left, in order."""
    left, counts = len(verdicts), []
    for step in Filter:
        reasons = Counter(verdict.reason for verdict in verdicts if verdict.removed_by is step)
        removed = sum(reasons.values())
        left -= removed
        counts.append(FilterCount(step, removed, left, tuple(reasons.most_common())))
    return tuple(counts)
