"""Offerings of a type: its zones and capacity types, and why a NodeClass excludes a type.

An excluded type remains, but none of its offerings is available. Sources: pkg/providers/instancetype/
offering (base_resolver.go, placement_group_resolver.go, reserved_capacity_resolver.go) and compatibility/
compatibility.go in Karpenter's AWS provider.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.labels import (
    PLACEMENT_GROUP_ID,
    PLACEMENT_GROUP_PARTITION,
    RESERVATION_ID,
    RESERVATION_INTERRUPTIBLE,
    RESERVATION_TYPE,
    ZONE_ID,
    has_value,
    requirements,
)
from karptui.aws.nodeclass import AL2023, EXPIRING, CapacityReservation, Ec2NodeClass, NetworkInterface
from karptui.aws.prices import Market, OfferingKey
from karptui.karpenter.instance_type import Offering
from karptui.karpenter.labels import CAPACITY_TYPE, ON_DEMAND, RESERVED, SPOT, ZONE
from karptui.karpenter.rules import Rules
from karptui.karpenter.settings import Settings
from karptui.kube.recent import Recent
from karptui.kube.selectors import NodeSelectorRequirement

PARTITION: Final = "partition"


class PlacementGroup(msgspec.Struct, frozen=True):
    """An EC2 placement group."""

    id: str
    strategy: str
    """``cluster``, ``spread`` or ``partition``."""
    partitions: int = 0

    @property
    def partition_names(self) -> tuple[str, ...]:
        """``1`` to the number of partitions; empty for other strategies."""
        return tuple(str(number + 1) for number in range(self.partitions)) if self.strategy == PARTITION else ()


def incompatibility(
    facts: InstanceTypeFacts, nodeclass: Ec2NodeClass, placement_group: PlacementGroup | None = None
) -> str | None:
    """Return the reason why a NodeClass excludes a type, or None."""
    spec = nodeclass.spec
    interfaces = spec.network_interfaces
    if interfaces is not None and (reason := _interface_conflict(facts, interfaces)) is not None:
        return reason
    if facts.name.startswith("a1.") and nodeclass.family == AL2023:
        return "a1 types cannot boot AL2023"
    if nodeclass.wants_nested_virtualization and not facts.nested_virtualization:
        return "does not support nested virtualization"
    if nodeclass.wants_enclaves and not facts.nitro_enclaves:
        return "does not support Nitro Enclaves"
    if placement_group is not None and placement_group.strategy not in facts.placement_strategies:
        return f"does not support {placement_group.strategy} placement groups"
    if spec.connection_tracking is not None and facts.hypervisor != "nitro":
        return "connection tracking needs the Nitro hypervisor"
    return None


def _interface_conflict(facts: InstanceTypeFacts, interfaces: tuple[NetworkInterface, ...]) -> str | None:
    if not facts.ena:
        return "networkInterfaces need an Elastic Network Adapter"
    for interface in interfaces:
        if interface.network_card_index >= len(facts.card_enis):
            return f"has no network card {interface.network_card_index}"
        if interface.device_index >= facts.card_enis[interface.network_card_index]:
            return f"network card {interface.network_card_index} has no device index {interface.device_index}"
    efas = sum(interface.interface_type == "efa-only" for interface in interfaces)
    if efas > facts.efas:
        return f"has {facts.efas} EFA interfaces, {efas} are requested"
    return None


RESERVED_PRICE_DIVISOR: Final = 10_000_000
"""Makes reserved instances nearly free, but keeps the order of their on-demand prices."""


def offerings(
    facts: InstanceTypeFacts,
    nodeclass: Ec2NodeClass,
    market: Market,
    *,
    is_compatible: bool,
    settings: Settings,
    placement_group: PlacementGroup | None = None,
) -> tuple[Offering, ...]:
    """Return all offerings of a type, including unavailable ones, by zone and capacity type.

    Args:
        is_compatible: Whether the NodeClass accepts the type.
        placement_group: The NodeClass's; a partition group multiplies every offering by its partitions.
    """
    zone_ids = {zone.name: zone.zone_id for zone in reversed(nodeclass.zones)}
    usable = market.zones_by_type.get(facts.name, frozenset()) & zone_ids.keys() if is_compatible else frozenset()
    resolved = _base(facts, market, zone_ids, usable)
    if settings.gate("ReservedCapacity"):
        reservations = nodeclass.reservations.get(facts.name, ())
        resolved += _reserved(reservations, market, zone_ids, usable, settings.rules)
    if placement_group is not None and placement_group.partition_names:
        return tuple(_partitioned(resolved, placement_group.partition_names))
    return tuple(resolved)


def _base(facts: InstanceTypeFacts, market: Market, zone_ids: dict[str, str], usable: frozenset[str]) -> list[Offering]:
    resolved = []
    has_spot_prices = market.spot_price_per_hour is not None
    capacity_types = [usage for usage in (ON_DEMAND, SPOT) if usage in facts.usage_classes]
    for zone in market.zones:
        for capacity_type in capacity_types:
            price = market.price(capacity_type, facts.name, zone)
            is_sold = zone in usable and price is not None
            key = OfferingKey(capacity_type, facts.name, zone)
            error_code = market.sold_out.get(key, "") if is_sold and market.sold_out else ""
            resolved.append(
                Offering(
                    requirements=_place(capacity_type, zone, zone_ids.get(zone)),
                    price_per_hour=price or 0.0,
                    is_available=is_sold and not error_code,
                    error_code=error_code,
                    is_price_assumed=capacity_type == SPOT and not has_spot_prices,
                )
            )
    return resolved


def _reserved(
    reservations: tuple[CapacityReservation, ...],
    market: Market,
    zone_ids: dict[str, str],
    usable: frozenset[str],
    rules: Rules,
) -> list[Offering]:
    resolved = []
    for reservation in reservations:
        left = market.instances_left.get(reservation.id, 0)
        price = market.on_demand.price_per_hour.get(reservation.instance_type, 0.0)
        zone, interruptible = reservation.availability_zone, "true" if reservation.interruptible else "false"
        identity = reservation.id, reservation.reservation_type, interruptible
        resolved.append(
            Offering(
                requirements=_place(RESERVED, zone, zone_ids.get(zone), identity),
                price_per_hour=price / RESERVED_PRICE_DIVISOR,
                is_available=zone in usable
                and (rules.has_room_apart or left != 0)
                and reservation.state != EXPIRING
                and OfferingKey(RESERVED, reservation.instance_type, zone, reservation.id) not in market.sold_out,
                reservation_capacity=left,
            )
        )
    return resolved


def _partitioned(resolved: Iterable[Offering], partitions: tuple[str, ...]) -> Iterable[Offering]:
    for offering in resolved:
        for partition in partitions:
            requirements = (*offering.requirements, has_value(PLACEMENT_GROUP_PARTITION, partition))
            yield msgspec.structs.replace(offering, requirements=requirements)


_OF_RESERVATION: Final = (RESERVATION_ID, RESERVATION_TYPE, RESERVATION_INTERRUPTIBLE)


@lru_cache(maxsize=1024)
def _place(
    capacity_type: str, zone: str, zone_id: str | None, reservation: tuple[str, ...] = ()
) -> tuple[NodeSelectorRequirement, ...]:
    """Return the labels of an offering's nodes; the reservation is its values of ``_OF_RESERVATION``."""
    return (
        has_value(CAPACITY_TYPE, capacity_type),
        has_value(ZONE, zone),
        *(map(has_value, _OF_RESERVATION, reservation) if reservation else map(has_value, _OF_RESERVATION)),
        *([] if zone_id is None else [has_value(ZONE_ID, zone_id)]),
    )


class SoldAs(NamedTuple):
    """Requirements and offerings of a type."""

    requirements: tuple[NodeSelectorRequirement, ...]
    offerings: tuple[Offering, ...]


class _Inputs(NamedTuple):
    """Cache key of requirements and offerings."""

    decisive: tuple[Any, ...]
    market: tuple[Any, ...]


_cache: Final[Recent[_Inputs, tuple[SoldAs, ...]]] = Recent(most=16, patience=64)
"""Cached results; those no longer used are dropped."""


def sold_as(
    facts: tuple[InstanceTypeFacts, ...],
    nodeclass: Ec2NodeClass,
    settings: Settings,
    market: Market,
    placement_group: PlacementGroup | None,
    *,
    before: tuple[SoldAs, ...] = (),
) -> tuple[SoldAs, ...]:
    """Return requirements and offerings of types; unchanged types keep their objects.

    Changes that only affect capacity or overhead return the same objects. If the market changes, types with unchanged
    offerings keep theirs, which are most types when some offering becomes unavailable.

    Args:
        before: Result for the same types in another market; the last one by default.
    """
    decisive = (
        facts,
        nodeclass.family,
        nodeclass.zones,
        nodeclass.reservations,
        # These fields of the spec only affect capacity and overhead.
        msgspec.structs.replace(
            nodeclass.spec, kubelet=None, block_device_mappings=None, instance_store_policy=None, user_data=None
        ),
        settings.gate("ReservedCapacity"),
        settings.rules,
        placement_group,
    )

    def make() -> tuple[SoldAs, ...]:
        previous = before or next((value for inputs, value in _cache.items() if inputs.decisive == decisive), ())
        current = (_sold_as(type_facts, nodeclass, settings, market, placement_group) for type_facts in facts)
        return tuple(map(_shared, previous, current)) if previous else tuple(current)

    return _cache.get(_Inputs(decisive, msgspec.structs.astuple(market)), make)


def _shared(previous: SoldAs, current: SoldAs) -> SoldAs:
    """Return the current value, with objects of the previous one if they are equal."""
    requirements = previous.requirements if previous.requirements == current.requirements else current.requirements
    return previous if previous == current else SoldAs(requirements, current.offerings)


def _sold_as(
    facts: InstanceTypeFacts,
    nodeclass: Ec2NodeClass,
    settings: Settings,
    market: Market,
    placement_group: PlacementGroup | None,
) -> SoldAs:
    sold_in = market.zones_by_type.get(facts.name, frozenset())
    zones = [zone for zone in nodeclass.zones if zone.name in sold_in]
    reservations = nodeclass.reservations.get(facts.name, ())
    return SoldAs(
        requirements=(
            *requirements(facts, nodeclass.family, market.region, zones, reservations),
            *_placement_requirements(placement_group),
        ),
        offerings=offerings(
            facts,
            nodeclass,
            market,
            is_compatible=incompatibility(facts, nodeclass, placement_group) is None,
            settings=settings,
            placement_group=placement_group,
        ),
    )


def _placement_requirements(group: PlacementGroup | None) -> tuple[NodeSelectorRequirement, ...]:
    if group is None:
        return ()
    group_id = has_value(PLACEMENT_GROUP_ID, group.id)
    partitions = group.partition_names
    return (group_id, has_value(PLACEMENT_GROUP_PARTITION, *partitions)) if partitions else (group_id,)
