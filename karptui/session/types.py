"""Instance types as values: one type in one NodePool, a NodePool with what its types come to, a pod against a type."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property

import msgspec

from karptui.aws.ledger import Ledger
from karptui.aws.lint import LintFinding
from karptui.aws.observed import ObservedType
from karptui.aws.prices import Price
from karptui.karpenter.instance_type import Overhead
from karptui.karpenter.labels import ON_DEMAND, SPOT
from karptui.kube.resources import PODS, ResourceList, Shortage
from karptui.provisioning.pool_types import Filter, FilterCount


class Availability(StrEnum):
    """Whether an offering is to be had, and why not."""

    OFFERED = "offered"
    NOT_ALLOWED = "not allowed by the pool"
    SOLD_OUT = "sold out"
    NO_ADDRESSES = "no free IP addresses"
    NO_SUBNET = "no subnet"
    NOT_SOLD = "not sold here"
    RULED_OUT = "ruled out by the NodeClass"
    UNAVAILABLE = "unavailable"
    NO_PRICE = "no price"


class TypeOffer(msgspec.Struct, frozen=True):
    """One way to buy a type: a zone and a capacity type."""

    zone: str
    capacity_type: str
    availability: Availability
    price: Price | None
    """None where nobody knows it."""
    reservation_id: str = ""
    instances_left: int = 0
    """In the reservation."""


class TypeEntry(msgspec.Struct, frozen=True, tag=True, eq=False, dict=True, kw_only=True):
    """One row of the Types screen: an instance type in a NodePool."""

    name: str
    removed_by: Filter | None
    """None for a type that is left."""
    reason: str
    """What exactly ruled it out: a requirement's key, a resource."""
    shortages: tuple[Shortage, ...]
    """Where DaemonSets, pods or limits ruled it out: what there is too little of."""
    rank: int | None
    """Place in the order of prices among the types that are left, from 1; equal prices share one."""
    price_per_hour: float | None
    """The least price that Karpenter reckons with among the offerings that the NodePool allows."""
    daemon_pods: int
    """DaemonSet pods that a new node of the type carries."""
    daemons: ResourceList
    """Sum of their requests, their slots as ``pods``."""
    capacity: ResourceList
    overhead: Overhead
    allocatable: ResourceList
    """What pods may request of a node."""
    largest_pod: ResourceList
    """The most that one pod may request beside the DaemonSets, never below zero."""
    memory_mib: int | None
    """What EC2 advertises; None where nobody knows the type."""
    observed: ObservedType | None
    """What nodes of the type report in this cluster; None where there is no such node."""
    matching_overhead_percent: float | None
    """The VM_MEMORY_OVERHEAD_PERCENT that would match what they report; None where that cannot be said."""
    ledger: Ledger | None
    """Where the advertised memory goes; None where EC2's facts or the NodeClass are not known."""
    expressions: Mapping[str, str]
    """Kubelet settings that are expressions, with what they come to on the type: by place, such as ``maxPods``."""
    offers: tuple[TypeOffer, ...]
    """Every way to buy it, by zone and capacity type; each pair once."""
    ruled_out: str
    """Why the EC2NodeClass rules the type out; empty where it does not."""

    @property
    def is_left(self) -> bool:
        """Whether a new node may have it."""
        return self.removed_by is None

    @property
    def is_wanted(self) -> bool:
        """Whether the NodePool's requirements allow it, whatever else rules it out."""
        return self.removed_by is not Filter.REQUIREMENTS

    def cheapest(self, capacity_type: str) -> Price | None:
        """Return the least known price of a capacity type among offerings that are to be had, else among all."""
        known = [offer for offer in self.offers if offer.capacity_type == capacity_type and offer.price is not None]
        had = [offer for offer in known if offer.availability is Availability.OFFERED] or known
        return min((offer.price for offer in had if offer.price is not None), key=lambda p: p.per_hour, default=None)

    @cached_property
    def on_demand(self) -> Price | None:
        """The least on-demand price."""
        return self.cheapest(ON_DEMAND)

    @cached_property
    def spot(self) -> Price | None:
        """The least spot price that somebody really knows."""
        return self.cheapest(SPOT)

    @cached_property
    def offered(self) -> Mapping[str, tuple[str, ...]]:
        """Zones to be had by capacity type."""
        found: dict[str, list[str]] = {}
        for offer in self.offers:
            if offer.availability is Availability.OFFERED and offer.zone not in found.setdefault(
                offer.capacity_type, []
            ):
                found[offer.capacity_type].append(offer.zone)
        return {name: tuple(zones) for name, zones in found.items()}


class Carried(msgspec.Struct, frozen=True):
    """What DaemonSets put on a new node."""

    daemon_pods: int
    daemons: ResourceList
    """Sum of their requests, their slots as ``pods``."""


class AskingPod(msgspec.Struct, frozen=True):
    """A pod that waits, for all of its kind."""

    namespace: str
    name: str
    requests: ResourceList
    """Without its slot."""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class PoolEntry(msgspec.Struct, frozen=True, tag=True, eq=False, dict=True, kw_only=True):
    """One NodePool on the Types screen: what its types come to."""

    name: str
    rank: int | None
    """Place in the order in which Karpenter tries NodePools, from 1; None where it takes no part in provisioning."""
    why_not: str
    """Why it takes no part, or why no type at all is usable, in words."""
    problem: str
    """Why there are no types, in words; empty when there are."""
    origin: str
    """Where the list of types comes from, in words."""
    types: int
    """How many the NodeClass comes to."""
    is_guessed: bool
    """Whether the list is not known, and made of what nodes and metrics show."""
    named: int
    """How many of a guessed list only Karpenter's metrics name."""
    counts: tuple[FilterCount, ...]
    """What each filter takes and leaves."""
    left: tuple[str, ...]
    """Names of the types that a new node may have, cheapest first."""
    allowed: int
    """How many a new node could have were there no limits, whichever pods wait."""
    first: TypeEntry | None
    """What Karpenter reckons cheapest of those that are left; None where others are not known."""
    unlisted: str
    """That the list of types lacks some that its nodes have, in words; empty where it has all."""
    furthest: TypeEntry | None
    """Where none is left: of those that the requirements allow the one that comes through most filters, then lacks
    least."""
    carries: tuple[Carried, ...]
    """What new nodes carry, by type, from the least to the most: types that are left, else those that carry any."""
    heaviest: Carried | None
    """The most pods that one of them carries; None where they are not known."""
    crowded: tuple[tuple[str, Shortage], ...]
    """Types that the DaemonSets' pods do not fit on, and what they lack first."""
    without_slot: int
    """Types that have room for the DaemonSets' pods, and no slot for another."""
    findings: tuple[LintFinding, ...]
    pods: tuple[AskingPod, ...]
    """Pending pods that may go to the pool, one of each kind, those that ask the most memory first."""
    observed: int
    """How many of the types that the requirements allow have nodes."""
    safe_overhead_percent: float | None
    """The least VM_MEMORY_OVERHEAD_PERCENT that overestimates no type of the pool that has nodes; None without any."""

    @cached_property
    def left_after(self) -> Mapping[Filter, int]:
        """How many types each filter leaves."""
        return {one.filter: one.left for one in self.counts}

    @cached_property
    def removed_by(self) -> Mapping[Filter, int]:
        """How many types each filter removes."""
        return {one.filter: one.removed for one in self.counts}

    @property
    def without_pod_slots(self) -> tuple[tuple[int, str], ...]:
        """Slots and name of the types that have too few slots for the DaemonSets' pods, the fewest first."""
        return tuple(sorted((short.room.units, name) for name, short in self.crowded if short.resource == PODS))


class NextType(msgspec.Struct, frozen=True):
    """A type that a pod would fit on."""

    name: str
    price: Price | None
    """On-demand, else of spot."""


class TypeFit(msgspec.Struct, frozen=True, kw_only=True):
    """A pod on an instance type."""

    pod: AskingPod
    requests: ResourceList
    """The pod's, its slot included."""
    short: ResourceList
    """What is missing, by resource; empty where it fits."""
    overhead_percent: float | None
    """The largest VM_MEMORY_OVERHEAD_PERCENT with which its memory fits, cut to four decimals; None where none does."""
    next_type: NextType | None
    """The cheapest type of the pool that it fits on; of the same family where there is one."""
