"""What became of instance types in a NodePool, as values.

Rules: see ``karptui.provisioning.instance_types``, which finds them out.
"""

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
    """What rules a type out, in the order in which they are looked at."""

    REQUIREMENTS = "requirements"
    """The NodePool's requirements and labels."""
    OFFERINGS = "offerings"
    """No zone and capacity type that the NodePool allows is to be had."""
    RESERVED = "reserved"
    """kubeReserved, systemReserved and eviction thresholds leave less than nothing."""
    DAEMONSETS = "daemonsets"
    """The DaemonSets' pods do not fit."""
    POD = "pod"
    """No pod fits beside the DaemonSets."""
    LIMITS = "limits"
    """The NodePool's limits leave too little for the whole node."""


class TypeVerdict(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One instance type in one NodePool."""

    instance_type: InstanceType
    removed_by: Filter | None
    """None for a type that is left."""
    reason: str = ""
    """What exactly ruled it out: a requirement's key, ``sold out or not offered``, a resource."""
    shortages: tuple[Shortage, ...] = ()
    """For DaemonSets, pods and limits: what there is too little of."""
    daemon_pods: int = 0
    """DaemonSet pods that a new node of the type carries; 0 where requirements or offerings rule it out."""
    daemons: ResourceList = resources.EMPTY
    """Sum of their requests, their slots as ``pods``."""
    price_per_hour: float | None = None
    """The least price that Karpenter reckons with among the offerings that the NodePool allows."""
    rank: int | None = None
    """Place in the order of prices among the types that are left, from 1; equal prices share one."""


class PoolDaemonSet(msgspec.Struct, frozen=True, kw_only=True):
    """One DaemonSet as a new node of one NodePool meets it."""

    key: str
    """``namespace/name``."""
    requests: ResourceList
    """Of its pod, without the slot."""
    types: int
    """How many of the types that requirements and offerings leave it runs on."""
    excluded: tuple[str, ...] = ()
    """Types that DaemonSets rule out and that would have room without this one."""
    one_too_many: tuple[str, ...] = ()
    """Types that have room for the DaemonSets before it by name, and none for this one too."""
    why_not: str = ""
    """Why it runs on none of the types, in words."""


class FilterCount(msgspec.Struct, frozen=True):
    """How many types a filter has removed, and how many it has left."""

    filter: Filter
    removed: int
    left: int
    reasons: tuple[tuple[str, int], ...]
    """Why, most frequent first."""


class PoolTypes(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The instance types of one NodePool."""

    pool: NodePool
    rank: int | None
    """Place in the order in which Karpenter tries NodePools, from 1; None where it takes no part in provisioning."""
    why_not: str = ""
    """Why it takes no part, or why no type at all is usable, in words."""
    requirements: Requirements
    verdicts: tuple[TypeVerdict, ...]
    """Every type that the NodeClass offers, in the provider's order."""
    counts: tuple[FilterCount, ...]
    daemonsets: tuple[PoolDaemonSet, ...] = ()
    """Every DaemonSet of the cluster: those that a new node carries, and why it does not carry the others."""
    unlisted: tuple[str, ...] = ()
    """Types that its nodes and NodeClaims have and that are not among the verdicts: the list may be older than they."""
    used: Mapping[str, int] = MappingProxyType({})
    """Capacity of its nodes that are not on their way out, in nano-units, as its limits count it."""
    remaining: Mapping[str, int] = MappingProxyType({})
    """What its limits leave, in nano-units, for the resources that are limited; below zero where they are exceeded."""

    @property
    def left(self) -> tuple[TypeVerdict, ...]:
        """The types that a new node may have."""
        return tuple(verdict for verdict in self.verdicts if verdict.removed_by is None)


def shortages(
    instance_type: InstanceType, have: Mapping[str, int], need: Mapping[str, Quantity]
) -> tuple[Shortage, ...]:
    """Return what there is too little of, pods first: the least visible."""
    short = [
        Shortage(name, amount, Quantity(have.get(name, 0), format_of(instance_type, name)))
        for name, amount in need.items()
        if amount.nano > have.get(name, 0) and amount.nano > 0
    ]
    return tuple(sorted(short, key=lambda one: (one.resource != PODS, one.resource)))


def format_of(instance_type: InstanceType, name: str) -> QuantityFormat:
    """Return how amounts of a resource are written: as the type writes its capacity."""
    amount = instance_type.capacity.get(name)
    return amount.format if amount is not None else QuantityFormat.DECIMAL_SI


def ranked_by_price(verdicts: Sequence[TypeVerdict]) -> tuple[TypeVerdict, ...]:
    """Return verdicts with the rank of each type that is left and has a price; types of one price share a rank."""
    prices = sorted(
        {one.price_per_hour for one in verdicts if one.removed_by is None and one.price_per_hour is not None}
    )
    order = {price: index for index, price in enumerate(prices, 1)}
    shared = Counter(one.price_per_hour for one in verdicts if one.removed_by is None)
    starts, before = {}, 0
    for price in order:
        starts[price] = before + 1
        before += shared[price]
    return tuple(
        msgspec.structs.replace(one, rank=starts[one.price_per_hour])
        if one.removed_by is None and one.price_per_hour is not None
        else one
        for one in verdicts
    )


def counts_by_filter(verdicts: Sequence[TypeVerdict]) -> tuple[FilterCount, ...]:
    """Return how many types each filter has removed and left, in the order of the filters."""
    left, counts = len(verdicts), []
    for step in Filter:
        reasons = Counter(one.reason for one in verdicts if one.removed_by is step)
        removed = sum(reasons.values())
        left -= removed
        counts.append(FilterCount(step, removed, left, tuple(reasons.most_common())))
    return tuple(counts)
