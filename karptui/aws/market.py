"""Offerings and prices of a region."""

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
    """A capacity pool of EC2."""

    capacity_type: str
    instance_type: str
    zone: str
    reservation: str = ""
    """Set for reserved capacity: a refusal applies to a single reservation."""


class Market(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Offerings and prices of a region at a given time."""

    region: str
    zones: tuple[str, ...]
    """Names of all zones with offerings, with or without a subnet."""
    zones_by_type: Mapping[str, frozenset[str]]
    """Zone names by instance type; types that are not sold are missing."""
    on_demand: PriceList
    spot_price_per_hour: Mapping[tuple[str, str], float] | None = None
    """By instance type and zone.

    If None, no spot prices are known, and offerings have the on-demand price, as in Karpenter until it has read spot
    prices. That is an upper bound, not to be shown as a spot price.
    """
    sold_out: Mapping[OfferingKey, str] = MappingProxyType({})
    """Capacity pools that EC2 has recently refused, with its error code."""
    instances_left: Mapping[str, int] = MappingProxyType({})
    """Free instances by capacity reservation id."""
    zones_assumed: tuple[str, ...] = ()
    """Zones with unknown offerings, assumed to offer everything sold in the region."""

    def price(self, capacity_type: str, instance_type: str, zone: str) -> float | None:
        """Return Karpenter's price per hour in the list's currency, None if there is none."""
        if capacity_type == "spot" and self.spot_price_per_hour is not None:
            return self.spot_price_per_hour.get((instance_type, zone))
        return self.on_demand.price_per_hour.get(instance_type)


def region_of(zone: str) -> str:
    """Return a zone's region: ``us-east-1`` for ``us-east-1a`` and for the local zone ``us-east-1-bos-1a``.

    Empty if the name is not an AWS zone.
    """
    match = _REGION.match(zone)
    return match[0] if match else ""


def built_in_market(
    region: str, zones: Iterable[SubnetZone], instances_left: Mapping[str, int] | None = None
) -> Market:
    """Return the market of a region according to the built-in catalogue.

    Args:
        region: AWS region; if it has no price list, us-east-1's is used, labelled as such.
        zones: The account's zones with name and id, because the catalogue only has ids.
        instances_left: Free instances by capacity reservation id.
    """
    named = tuple(dict.fromkeys(zones))
    catalogue = region_zones(region)
    by_type: dict[str, frozenset[str]] = {}
    assumed = tuple(zone.name for zone in named if catalogue is None or zone.zone_id not in catalogue.zone_ids)
    shared: dict[frozenset[str], frozenset[str]] = {}
    for name in instance_type_facts():
        ids = None if catalogue is None else catalogue.by_type.get(name)
        if catalogue is not None and ids is None:
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
