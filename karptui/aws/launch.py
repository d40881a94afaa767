"""Filters of a NodeClaim's instance types before EC2 is called.

Source: pkg/providers/instance/filter/filter.go and instance.go in Karpenter's AWS provider. The later limit of 60 types
by price is not included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from karptui.aws.capacity import AMD_GPU, GAUDI, NEURON, NEURON_CORE, NVIDIA_GPU
from karptui.aws.evidence import offering_value
from karptui.aws.instance_types import allocatable
from karptui.aws.labels import RESERVATION_INTERRUPTIBLE, RESERVATION_TYPE, SIZE
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.labels import CAPACITY_TYPE, ON_DEMAND, RESERVED, SPOT, WELL_KNOWN, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.rules import Rules
from karptui.kube.resources import ResourceList, nano

CAPACITY_BLOCK: Final = "capacity-block"
_DEFAULT: Final = "default"
ACCELERATORS: Final = (NEURON, NEURON_CORE, AMD_GPU, NVIDIA_GPU, GAUDI)
_PREFERENCE: Final = ((_DEFAULT, False), (CAPACITY_BLOCK, False), (_DEFAULT, True))
"""Kinds of reservations in order of preference at equal prices: type, and whether it can be interrupted."""


class FilterStep(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a filter."""

    name: str
    left: tuple[InstanceType, ...]
    """Remaining types with their remaining offerings."""
    rejected: tuple[InstanceType, ...]


class _LaunchRequest(msgspec.Struct, frozen=True):
    requirements: Requirements
    requests: ResourceList
    rules: Rules

    def compatible(self, item: InstanceType | Offering) -> bool:
        return self.requirements.compatible(Requirements.from_selectors(item.requirements), WELL_KNOWN)

    def launchable(self, offerings: Iterable[Offering]) -> list[Offering]:
        return [offer for offer in offerings if offer.is_launchable(self.rules) and self.compatible(offer)]

    def reserved(self, instance_type: InstanceType) -> list[Offering]:
        return [offer for offer in self.launchable(instance_type.offerings) if offer.is_reserved]

    def allows(self, capacity_type: str) -> bool:
        return self.requirements.get(CAPACITY_TYPE).allows(capacity_type)


_Types = tuple[InstanceType, ...]


def launch_steps(
    types: Iterable[InstanceType], requirements: Requirements, requests: ResourceList, rules: Rules
) -> tuple[FilterStep, ...]:
    """Return the filters in order, up to the first that leaves no type."""
    launch = _LaunchRequest(requirements, requests, rules)
    first = "compatible-launchable-filter" if rules.has_room_apart else "compatible-available-filter"
    steps, left = [], tuple(types)
    for name, keep in ((first, _fitting), *_FILTERS):
        passing = keep(left, launch)
        names = {instance_type.name for instance_type in passing}
        rejected = tuple(instance_type for instance_type in left if instance_type.name not in names)
        steps.append(FilterStep(name=name, left=passing, rejected=rejected))
        left = passing
        if not left:
            break
    return tuple(steps)


def _fitting(types: _Types, launch: _LaunchRequest) -> _Types:
    """Keep types that fit the requests and have a launchable offering."""
    return tuple(
        instance_type
        for instance_type in types
        if launch.compatible(instance_type) and _has_room(instance_type, launch)
    )


def _has_room(instance_type: InstanceType, launch: _LaunchRequest) -> bool:
    room = allocatable(instance_type)
    # As in ``Fits``, nothing fits if any resource is over-reserved.
    fits = all(amount.nano >= 0 for amount in room.values()) and all(
        nano(launch.requests, name) <= nano(room, name) for name in launch.requests
    )
    return fits and bool(launch.launchable(instance_type.offerings))


def _of_one_reservation_type(types: _Types, launch: _LaunchRequest) -> _Types:
    """Keep the kind of reservations with the cheapest offering: a call to EC2 has a single market type."""
    if not launch.allows(RESERVED):
        return types
    by_kind: dict[tuple[str, bool], tuple[float, set[str]]] = {}
    for instance_type in types:
        for offering in launch.reserved(instance_type):
            kind = _kind(offering)
            price, names = by_kind.get(kind, (offering.price_per_hour, set()))
            by_kind[kind] = min(price, offering.price_per_hour), names | {instance_type.name}
    if not by_kind:
        return types
    chosen = min(by_kind, key=lambda kind: (by_kind[kind][0], _PREFERENCE.index(kind)))
    return tuple(
        _with(
            instance_type,
            (offer for offer in instance_type.offerings if offer.is_reserved and _kind(offer) == chosen),
        )
        for instance_type in types
        if instance_type.name in by_kind[chosen][1]
    )


def _cheapest_block(types: _Types, launch: _LaunchRequest) -> _Types:
    """Keep only the cheapest capacity block; all types if no block has capacity."""
    if not launch.allows(RESERVED) or not _begins_with_a_block(types):
        return types
    chosen: tuple[InstanceType, Offering] | None = None
    for instance_type in types:
        blocks = [offer for offer in launch.reserved(instance_type) if _kind(offer)[0] == CAPACITY_BLOCK]
        cheapest = min(blocks, key=lambda offer: offer.price_per_hour, default=None)
        if cheapest is not None and (chosen is None or chosen[1].price_per_hour > cheapest.price_per_hour):
            chosen = instance_type, cheapest
    return types if chosen is None else (_with(chosen[0], (chosen[1],)),)


def _begins_with_a_block(types: _Types) -> bool:
    """Return whether the first offering with a kind of reservation is a capacity block."""
    for instance_type in types:
        for offering in instance_type.offerings:
            if any(term.key == RESERVATION_TYPE for term in offering.requirements):
                return offering_value(offering, RESERVATION_TYPE) == CAPACITY_BLOCK
    return False


def _roomiest_reservations(types: _Types, launch: _LaunchRequest) -> _Types:
    """Keep the reservation with the most capacity in each zone of a type, and the types that have any."""
    if not launch.allows(RESERVED):
        return types
    narrowed = []
    for instance_type in types:
        by_zone: dict[str, Offering] = {}
        for offering in launch.reserved(instance_type):
            zone = offering_value(offering, ZONE)
            best = by_zone.get(zone)
            if best is None or offering.reservation_capacity > best.reservation_capacity:
                by_zone[zone] = offering
        if by_zone:
            narrowed.append(_with(instance_type, by_zone.values()))
    return tuple(narrowed) or types


def _plain(types: _Types, launch: _LaunchRequest) -> _Types:
    """Exclude metal and accelerated types if others remain."""
    if launch.requirements.has_min_values():
        return types
    return tuple(instance_type for instance_type in types if not _is_exotic(instance_type)) or types


def _is_exotic(instance_type: InstanceType) -> bool:
    sizes = next((term.values for term in instance_type.requirements if term.key == SIZE), ())
    return any("metal" in size for size in sizes) or any(nano(instance_type.capacity, name) for name in ACCELERATORS)


def _spot_below_on_demand(types: _Types, launch: _LaunchRequest) -> _Types:
    """Exclude spot offerings that cost more than the cheapest on-demand offering."""
    if launch.requirements.has_min_values() or not (launch.allows(ON_DEMAND) and launch.allows(SPOT)):
        return types
    usable = [
        offer
        for instance_type in types
        for offer in instance_type.offerings
        if offer.is_available and launch.compatible(offer)
    ]
    prices = [offer.price_per_hour for offer in usable if offering_value(offer, CAPACITY_TYPE) == ON_DEMAND]
    if not prices or not any(offering_value(offer, CAPACITY_TYPE) == SPOT for offer in usable):
        return types
    most = min(prices)
    thinned = (
        _with(
            instance_type,
            (
                offer
                for offer in instance_type.offerings
                if offering_value(offer, CAPACITY_TYPE) != SPOT or offer.price_per_hour <= most
            ),
        )
        for instance_type in types
    )
    return tuple(instance_type for instance_type in thinned if instance_type.offerings)


_FILTERS: Final[tuple[tuple[str, Callable[[_Types, _LaunchRequest], _Types]], ...]] = (
    ("capacity-reservation-type-filter", _of_one_reservation_type),
    ("capacity-block-filter", _cheapest_block),
    ("reserved-offering-filter", _roomiest_reservations),
    ("exotic-instance-filter", _plain),
    ("spot-offering-filter", _spot_below_on_demand),
)


def _with(instance_type: InstanceType, offerings: Iterable[Offering]) -> InstanceType:
    return msgspec.structs.replace(instance_type, offerings=tuple(offerings))


def _kind(offering: Offering) -> tuple[str, bool]:
    return offering_value(offering, RESERVATION_TYPE), offering_value(offering, RESERVATION_INTERRUPTIBLE) == "true"
