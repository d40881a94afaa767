"""Instance types as values: a type in a NodePool, a NodePool's counts, and a pod's fit on a type."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property

import msgspec

from karptui.aws.cluster_types import ObservedType
from karptui.aws.ledger import Ledger
from karptui.aws.lint import LintFinding
from karptui.aws.prices import Price
from karptui.karpenter.instance_type import Overhead
from karptui.karpenter.labels import ON_DEMAND, SPOT
from karptui.kube.resources import PODS, ResourceList, Shortage
from karptui.provisioning.pool_types import Filter, FilterCount, TypeVerdict


class Availability(StrEnum):
    """Whether an offering is available, and why not."""

    OFFERED = "offered"
    NOT_ALLOWED = "not allowed by the pool"
    SOLD_OUT = "sold out"
    NO_ADDRESSES = "no free IP addresses"
    NO_SUBNET = "no subnet"
    NOT_SOLD = "not sold here"
    RULED_OUT = "excluded by the NodeClass"
    UNAVAILABLE = "unavailable"
    NO_PRICE = "no price"


class TypeOffer(msgspec.Struct, frozen=True):
    """One way to buy a type: a zone and a capacity type."""

    zone: str
    capacity_type: str
    availability: Availability
    price: Price | None
    """None if unknown."""
    reservation_id: str = ""
    instances_left: int = 0


class TypeEntry(TypeVerdict, frozen=True, eq=False, dict=True, kw_only=True):
    """One row of the Types screen: an instance type in a NodePool."""

    name: str
    capacity: ResourceList
    overhead: Overhead
    allocatable: ResourceList
    """Allocatable resources of a node."""
    largest_pod: ResourceList
    """Largest possible pod next to the DaemonSets, never below zero."""
    memory_mib: int | None
    """Memory advertised by EC2; None for an unknown type."""
    observed: ObservedType | None
    """Values reported by nodes of the type in this cluster; None without such a node."""
    matching_overhead_percent: float | None
    """The VM_MEMORY_OVERHEAD_PERCENT that would match the reported values; None if unknown."""
    ledger: Ledger | None
    """Breakdown of the advertised memory; None if EC2's facts or the NodeClass are unknown."""
    expressions: Mapping[str, str]
    """Kubelet settings that are expressions, with their values on the type: by field, such as ``maxPods``."""
    offers: tuple[TypeOffer, ...]
    """Every way to buy it, by zone and capacity type; each pair once."""
    ruled_out: str
    """Why the EC2NodeClass rules the type out; empty if it does not."""

    @property
    def is_left(self) -> bool:
        """Whether a new node may have it."""
        return self.removed_by is None

    @property
    def is_wanted(self) -> bool:
        """Whether the NodePool's requirements allow it, whatever else rules it out."""
        return self.removed_by is not Filter.REQUIREMENTS

    def cheapest(self, capacity_type: str) -> Price | None:
        """Return the least known price of a capacity type among available offerings, else among all."""
        offers = [offer for offer in self.offers if offer.capacity_type == capacity_type and offer.price is not None]
        had = [offer for offer in offers if offer.availability is Availability.OFFERED] or offers
        return min((offer.price for offer in had if offer.price is not None), key=lambda p: p.per_hour, default=None)

    @cached_property
    def on_demand(self) -> Price | None:
        """The least on-demand price."""
        return self.cheapest(ON_DEMAND)

    @cached_property
    def spot(self) -> Price | None:
        """The least known spot price."""
        return self.cheapest(SPOT)

    @cached_property
    def offered(self) -> Mapping[str, tuple[str, ...]]:
        """Available zones by capacity type."""
        zones_by_type: dict[str, list[str]] = {}
        for offer in self.offers:
            if offer.availability is Availability.OFFERED and offer.zone not in zones_by_type.setdefault(
                offer.capacity_type, []
            ):
                zones_by_type[offer.capacity_type].append(offer.zone)
        return {name: tuple(zones) for name, zones in zones_by_type.items()}


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


class PoolEntry(msgspec.Struct, frozen=True, eq=False, dict=True, kw_only=True):
    """One NodePool on the Types screen, with the counts of its types."""

    name: str
    rank: int | None
    """Position in Karpenter's order of NodePools, from 1; None if it is excluded from provisioning."""
    why_not: str
    """Why it is excluded, or why no type is usable, as text."""
    problem: str
    """Why there are no types, as text; empty if there are."""
    is_unknown: bool
    """Whether there may be types, but the NodeClass was not read, or the types of its kind are unknown."""
    origin: str
    """Source of the list of types, as text."""
    types: int
    """Number of types of the NodeClass."""
    is_guessed: bool
    """Whether the list is unknown, and derived from nodes and metrics."""
    named: int
    """Types of a guessed list that only Karpenter's metrics name."""
    counts: tuple[FilterCount, ...]
    """Types that each filter removes and leaves."""
    left: tuple[str, ...]
    """Names of the types that a new node may have, cheapest first."""
    allowed: int
    """Types that a new node could have without limits, for any pod."""
    first: TypeEntry | None
    """The cheapest remaining type by Karpenter's prices; None if others have no known price."""
    unlisted: str
    """Note that the list lacks types of existing nodes; empty if it is complete."""
    furthest: TypeEntry | None
    """If none remains: the allowed type that passes most filters, then the one with the smallest shortage."""
    carries: tuple[TypeVerdict, ...]
    """A type for each load of DaemonSets on new nodes, ascending: of remaining types, else of those with room."""
    heaviest: TypeVerdict | None
    """The type with the most DaemonSet pods; None if unknown."""
    crowded: tuple[tuple[str, Shortage], ...]
    """Types that are too small for the DaemonSets' pods, with the first missing resource."""
    without_slot: int
    """Types that have room for the DaemonSets' pods, and no slot for another."""
    findings: tuple[LintFinding, ...]
    pods: tuple[AskingPod, ...]
    """Pending pods that may go to the pool, one of each kind, largest memory request first."""
    observed: int
    """Allowed types that have nodes."""
    safe_overhead_percent: float | None
    """The least VM_MEMORY_OVERHEAD_PERCENT that overestimates no type of the pool that has nodes; None without any."""

    @cached_property
    def left_after(self) -> Mapping[Filter, int]:
        """How many types each filter leaves."""
        return {count.filter: count.left for count in self.counts}

    @cached_property
    def removed_by(self) -> Mapping[Filter, int]:
        """How many types each filter removes."""
        return {count.filter: count.removed for count in self.counts}

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
    """Missing resources; empty if it fits."""
    overhead_percent: float | None
    """Largest VM_MEMORY_OVERHEAD_PERCENT at which its memory fits, to four decimals; None if none."""
    next_type: NextType | None
    """The cheapest type of the pool on which it fits; of the same family if possible."""
