"""Offerings: the zones and capacity types that a type can be launched in.

Source: pkg/providers/instancetype/offering of Karpenter's AWS provider: base_resolver.go, placement_group_resolver.go
and reserved_capacity_resolver.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.labels import (
    PLACEMENT_GROUP_PARTITION,
    RESERVATION_ID,
    RESERVATION_INTERRUPTIBLE,
    RESERVATION_TYPE,
    ZONE_ID,
    has_value,
)
from karptui.aws.market import Market, OfferingKey
from karptui.aws.nodeclass import EXPIRING, CapacityReservation, Ec2NodeClass
from karptui.aws.placement import PlacementGroup
from karptui.karpenter.instance_type import Offering
from karptui.karpenter.labels import CAPACITY_TYPE, ON_DEMAND, RESERVED, SPOT, ZONE
from karptui.kube.selectors import NodeSelectorRequirement

RESERVED_PRICE_DIVISOR: Final = 10_000_000
"""Reserved instances are as good as free, yet keep the order of their on-demand prices."""


def offerings(
    facts: InstanceTypeFacts,
    nodeclass: Ec2NodeClass,
    market: Market,
    *,
    is_compatible: bool,
    has_reserved_capacity: bool,
    placement_group: PlacementGroup | None = None,
) -> tuple[Offering, ...]:
    """Return all offerings of a type, the unavailable ones too, by zone and capacity type.

    Args:
        facts: The instance type.
        nodeclass: Whose subnets and reservations count.
        market: What the region sells.
        is_compatible: Whether the NodeClass accepts the type at all.
        has_reserved_capacity: The feature gate ReservedCapacity.
        placement_group: The NodeClass's; a partition group multiplies every offering by its partitions.
    """
    zone_ids = {zone.name: zone.zone_id for zone in reversed(nodeclass.zones)}
    usable = market.zones_by_type.get(facts.name, frozenset()) & zone_ids.keys() if is_compatible else frozenset()
    found = _base(facts, market, zone_ids, usable)
    if has_reserved_capacity:
        found += _reserved(nodeclass.reservations.get(facts.name, ()), market, zone_ids, usable)
    if placement_group is not None and placement_group.partition_names:
        return tuple(_partitioned(found, placement_group.partition_names))
    return tuple(found)


def _base(facts: InstanceTypeFacts, market: Market, zone_ids: dict[str, str], usable: frozenset[str]) -> list[Offering]:
    found = []
    capacity_types = [usage for usage in (ON_DEMAND, SPOT) if usage in facts.usage_classes]
    for zone in market.zones:
        for capacity_type in capacity_types:
            price = market.price(capacity_type, facts.name, zone)
            is_sold_out = bool(market.sold_out) and OfferingKey(capacity_type, facts.name, zone) in market.sold_out
            found.append(
                Offering(
                    requirements=_base_requirements(capacity_type, zone, zone_ids.get(zone)),
                    price_per_hour=price or 0.0,
                    is_available=zone in usable and price is not None and not is_sold_out,
                )
            )
    return found


def _reserved(
    reservations: tuple[CapacityReservation, ...], market: Market, zone_ids: dict[str, str], usable: frozenset[str]
) -> list[Offering]:
    found = []
    for reservation in reservations:
        left = market.instances_left.get(reservation.id, 0)
        price = market.on_demand.price_per_hour.get(reservation.instance_type, 0.0)
        zone = reservation.availability_zone
        found.append(
            Offering(
                requirements=_reserved_requirements(reservation, zone_ids.get(zone)),
                price_per_hour=price / RESERVED_PRICE_DIVISOR,
                is_available=zone in usable and left != 0 and reservation.state != EXPIRING,
                reservation_capacity=left,
            )
        )
    return found


def _partitioned(found: Iterable[Offering], partitions: tuple[str, ...]) -> Iterable[Offering]:
    for offering in found:
        for partition in partitions:
            yield Offering(
                requirements=(*offering.requirements, has_value(PLACEMENT_GROUP_PARTITION, partition)),
                price_per_hour=offering.price_per_hour,
                is_available=offering.is_available,
                reservation_capacity=offering.reservation_capacity,
            )


@lru_cache(maxsize=1024)
def _base_requirements(capacity_type: str, zone: str, zone_id: str | None) -> tuple[NodeSelectorRequirement, ...]:
    return (
        has_value(CAPACITY_TYPE, capacity_type),
        has_value(ZONE, zone),
        has_value(RESERVATION_ID),
        has_value(RESERVATION_TYPE),
        has_value(RESERVATION_INTERRUPTIBLE),
        *([] if zone_id is None else [has_value(ZONE_ID, zone_id)]),
    )


def _reserved_requirements(
    reservation: CapacityReservation, zone_id: str | None
) -> tuple[NodeSelectorRequirement, ...]:
    return (
        has_value(CAPACITY_TYPE, RESERVED),
        has_value(ZONE, reservation.availability_zone),
        has_value(RESERVATION_ID, reservation.id),
        has_value(RESERVATION_TYPE, reservation.reservation_type),
        has_value(RESERVATION_INTERRUPTIBLE, "true" if reservation.interruptible else "false"),
        *([] if zone_id is None else [has_value(ZONE_ID, zone_id)]),
    )
