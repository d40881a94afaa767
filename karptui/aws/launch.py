"""What becomes of a NodeClaim's instance types at launch, before EC2 is asked: filters, one after the other.

Source: pkg/providers/instance/filter/filter.go and instance.go of Karpenter's AWS provider. The cut to 60 types by
price, which follows, is not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from karptui.aws.capacity import AMD_GPU, GAUDI, NEURON, NEURON_CORE, NVIDIA_GPU
from karptui.aws.instance_types import allocatable
from karptui.aws.labels import RESERVATION_INTERRUPTIBLE, RESERVATION_TYPE
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.labels import AWS_GROUP, CAPACITY_TYPE, ON_DEMAND, RESERVED, SPOT, WELL_KNOWN, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.rules import Rules
from karptui.kube.resources import ResourceList, nano

_SIZE: Final = f"{AWS_GROUP}/instance-size"
CAPACITY_BLOCK: Final = "capacity-block"
_DEFAULT: Final = "default"
_EXOTIC: Final = (NEURON, NEURON_CORE, AMD_GPU, NVIDIA_GPU, GAUDI)
_PREFERENCE: Final = ((_DEFAULT, False), (CAPACITY_BLOCK, False), (_DEFAULT, True))
"""Kinds of reservations, which of them goes first at the same price: type, and whether it can be interrupted."""


class FilterStep(msgspec.Struct, frozen=True, kw_only=True):
    """One filter."""

    name: str
    left: tuple[InstanceType, ...]
    """With the offerings that it leaves."""
    rejected: tuple[InstanceType, ...]


class _LaunchRequest(msgspec.Struct, frozen=True):
    requirements: Requirements
    requests: ResourceList
    rules: Rules

    def compatible(self, one: InstanceType | Offering) -> bool:
        return self.requirements.compatible(Requirements.from_selectors(one.requirements), WELL_KNOWN)

    def launchable(self, offerings: Iterable[Offering]) -> list[Offering]:
        return [one for one in offerings if one.is_launchable(self.rules) and self.compatible(one)]

    def allows(self, capacity_type: str) -> bool:
        return self.requirements.get(CAPACITY_TYPE).allows(capacity_type)


_Types = tuple[InstanceType, ...]


def launch_steps(
    types: Iterable[InstanceType], requirements: Requirements, requests: ResourceList, rules: Rules
) -> tuple[FilterStep, ...]:
    """Return the filters in their order, up to the first that leaves nothing.

    Args:
        types: Those of the NodeClaim's NodeClass.
        requirements: The NodeClaim's.
        requests: What its pods ask for.
        rules: How the version that runs decides.
    """
    launch = _LaunchRequest(requirements, requests, rules)
    first = "compatible-launchable-filter" if rules.has_room_apart else "compatible-available-filter"
    steps, left = [], tuple(types)
    for name, keep in ((first, _fitting), *_FILTERS):
        kept = keep(left, launch)
        names = {one.name for one in kept}
        rejected = tuple(one for one in left if one.name not in names)
        steps.append(FilterStep(name=name, left=kept, rejected=rejected))
        left = kept
        if not left:
            break
    return tuple(steps)


def _fitting(types: _Types, launch: _LaunchRequest) -> _Types:
    """Keep types with room for the requests and an offering that can be launched."""
    return tuple(one for one in types if launch.compatible(one) and _has_room(one, launch))


def _has_room(one: InstanceType, launch: _LaunchRequest) -> bool:
    room = allocatable(one)
    # As ``Fits`` has it, nothing fits where more is held back of any resource than there is.
    fits = all(amount.nano >= 0 for amount in room.values()) and all(
        nano(launch.requests, name) <= nano(room, name) for name in launch.requests
    )
    return fits and bool(launch.launchable(one.offerings))


def _of_one_reservation_type(types: _Types, launch: _LaunchRequest) -> _Types:
    """Keep the kind of reservations with the cheapest offering: EC2 takes one market type in a call."""
    if not launch.allows(RESERVED):
        return types
    by_kind: dict[tuple[str, bool], tuple[float, set[str]]] = {}
    for one in types:
        for offering in filter(_is_reserved, launch.launchable(one.offerings)):
            kind = _kind(offering)
            price, names = by_kind.get(kind, (offering.price_per_hour, set()))
            by_kind[kind] = min(price, offering.price_per_hour), names | {one.name}
    if not by_kind:
        return types
    chosen = min(by_kind, key=lambda kind: (by_kind[kind][0], _PREFERENCE.index(kind)))
    return tuple(
        _with(one, (offer for offer in one.offerings if _is_reserved(offer) and _kind(offer) == chosen))
        for one in types
        if one.name in by_kind[chosen][1]
    )


def _cheapest_block(types: _Types, launch: _LaunchRequest) -> _Types:
    """Keep the cheapest capacity block alone; where none has room, everything stays."""
    if not launch.allows(RESERVED) or not _begins_with_a_block(types):
        return types
    found: tuple[InstanceType, Offering] | None = None
    for one in types:
        blocks = [
            offer
            for offer in launch.launchable(one.offerings)
            if _is_reserved(offer) and _kind(offer)[0] == CAPACITY_BLOCK
        ]
        cheapest = min(blocks, key=lambda offer: offer.price_per_hour, default=None)
        if cheapest is not None and (found is None or found[1].price_per_hour > cheapest.price_per_hour):
            found = one, cheapest
    return types if found is None else (_with(found[0], (found[1],)),)


def _begins_with_a_block(types: _Types) -> bool:
    """Return whether the first offering that names a kind of reservation names a capacity block."""
    for one in types:
        for offering in one.offerings:
            if any(term.key == RESERVATION_TYPE for term in offering.requirements):
                return _value(offering, RESERVATION_TYPE) == CAPACITY_BLOCK
    return False


def _roomiest_reservations(types: _Types, launch: _LaunchRequest) -> _Types:
    """Keep in each zone of a type the reservation with the most room, and the types that have one."""
    if not launch.allows(RESERVED):
        return types
    kept = []
    for one in types:
        by_zone: dict[str, Offering] = {}
        for offering in filter(_is_reserved, launch.launchable(one.offerings)):
            zone = _value(offering, ZONE)
            best = by_zone.get(zone)
            if best is None or offering.reservation_capacity > best.reservation_capacity:
                by_zone[zone] = offering
        if by_zone:
            kept.append(_with(one, by_zone.values()))
    return tuple(kept) or types


def _plain(types: _Types, launch: _LaunchRequest) -> _Types:
    """Leave out metal and accelerators where something else is left."""
    if launch.requirements.has_min_values():
        return types
    return tuple(one for one in types if not _is_exotic(one)) or types


def _is_exotic(one: InstanceType) -> bool:
    sizes = next((term.values for term in one.requirements if term.key == _SIZE), ())
    return any("metal" in size for size in sizes) or any(nano(one.capacity, name) for name in _EXOTIC)


def _spot_below_on_demand(types: _Types, launch: _LaunchRequest) -> _Types:
    """Leave out spot that costs more than the cheapest on-demand offering."""
    if launch.requirements.has_min_values() or not (launch.allows(ON_DEMAND) and launch.allows(SPOT)):
        return types
    usable = [offer for one in types for offer in one.offerings if offer.is_available and launch.compatible(offer)]
    prices = [offer.price_per_hour for offer in usable if _value(offer, CAPACITY_TYPE) == ON_DEMAND]
    if not prices or not any(_value(offer, CAPACITY_TYPE) == SPOT for offer in usable):
        return types
    most = min(prices)
    thinned = (
        _with(
            one,
            (offer for offer in one.offerings if _value(offer, CAPACITY_TYPE) != SPOT or offer.price_per_hour <= most),
        )
        for one in types
    )
    return tuple(one for one in thinned if one.offerings)


_FILTERS: Final[tuple[tuple[str, Callable[[_Types, _LaunchRequest], _Types]], ...]] = (
    ("capacity-reservation-type-filter", _of_one_reservation_type),
    ("capacity-block-filter", _cheapest_block),
    ("reserved-offering-filter", _roomiest_reservations),
    ("exotic-instance-filter", _plain),
    ("spot-offering-filter", _spot_below_on_demand),
)


def _with(one: InstanceType, offerings: Iterable[Offering]) -> InstanceType:
    return msgspec.structs.replace(one, offerings=tuple(offerings))


def _is_reserved(offering: Offering) -> bool:
    return offering.is_reserved


def _kind(offering: Offering) -> tuple[str, bool]:
    return _value(offering, RESERVATION_TYPE), _value(offering, RESERVATION_INTERRUPTIBLE) == "true"


def _value(offering: Offering, key: str) -> str:
    return next((term.values[0] for term in offering.requirements if term.key == key and term.values), "")
