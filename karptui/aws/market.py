"""What can be bought where and at what price: the region's side of an instance type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.aws.catalogue import PriceList, instance_type_facts, price_list, region_zones
from karptui.aws.nodeclass import SubnetZone

_REGION: Final = re.compile(r"[a-z]+(?:-[a-z]+)+-[0-9]+")


class OfferingKey(msgspec.Struct, frozen=True):
    """One pool that EC2 sells from."""

    capacity_type: str
    instance_type: str
    zone: str
    reservation: str = ""
    """Of reserved capacity: a refusal holds for one reservation alone."""


class Market(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a region sells at a moment."""

    region: str
    zones: tuple[str, ...]
    """Names of all zones in which EC2 sells anything, with or without a subnet."""
    zones_by_type: Mapping[str, frozenset[str]]
    """Zone names by instance type; a type that is missing is not sold."""
    on_demand: PriceList
    spot_price_per_hour: Mapping[tuple[str, str], float] | None = None
    """By instance type and zone.

    None: no spot prices are known, and offerings carry the on-demand price, as Karpenter's do until it has read the
    first ones: an upper bound, not a price to show as spot.
    """
    sold_out: Mapping[OfferingKey, str] = MappingProxyType({})
    """Pools that EC2 has just refused, with its error code."""
    instances_left: Mapping[str, int] = MappingProxyType({})
    """In capacity reservations, by reservation id."""
    zones_assumed: tuple[str, ...] = ()
    """Zones of which it is not known what they offer: everything sold in the region is taken as offered."""

    def price(self, capacity_type: str, instance_type: str, zone: str) -> float | None:
        """Return the price that Karpenter reckons with, in the list's currency per hour; None where there is none."""
        if capacity_type == "spot" and self.spot_price_per_hour is not None:
            return self.spot_price_per_hour.get((instance_type, zone))
        return self.on_demand.price_per_hour.get(instance_type)


def region_of(zone: str) -> str:
    """Return the region of a zone name: ``us-east-1`` of ``us-east-1a`` and of the local zone ``us-east-1-bos-1a``.

    Empty where the name is no zone of AWS.
    """
    match = _REGION.match(zone)
    return match[0] if match else ""


def built_in_market(
    region: str, zones: Iterable[SubnetZone], instances_left: Mapping[str, int] | None = None
) -> Market:
    """Return what the built-in catalogue knows of a region.

    Args:
        region: AWS region; without a list of its own the prices are us-east-1's, and labelled so.
        zones: The account's zones, name and id: the catalogue knows zones by id alone.
        instances_left: In capacity reservations, by reservation id.
    """
    named = tuple(dict.fromkeys(zones))
    known = region_zones(region)
    by_type: dict[str, frozenset[str]] = {}
    assumed = tuple(zone.name for zone in named if known is None or zone.zone_id not in known.zone_ids)
    shared: dict[frozenset[str], frozenset[str]] = {}
    for name in instance_type_facts():
        ids = None if known is None else known.by_type.get(name)
        if known is not None and ids is None:
            continue
        key = ids or frozenset()
        if key not in shared:
            shared[key] = frozenset(z.name for z in named if z.zone_id in key or z.name in assumed)
        by_type[name] = shared[key]
    return Market(
        region=region,
        zones=tuple(zone.name for zone in named),
        zones_by_type=by_type,
        on_demand=price_list(region),
        instances_left=instances_left or MappingProxyType({}),
        zones_assumed=assumed,
    )
