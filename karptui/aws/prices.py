"""Hourly prices of instances with their source and date, and the offerings of a region.

Sources in order of preference: a snapshot's instance types, Karpenter's metrics, the AWS APIs, the built-in list. A
price always has an origin, and a spot price is never derived from another price.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

import msgspec

from karptui.aws.catalogue import PriceList, instance_type_facts, price_list, region_zones
from karptui.aws.nodeclass import SubnetZone
from karptui.karpenter.labels import ON_DEMAND, RESERVED, SPOT
from karptui.karpenter.metrics import ControllerMetrics
from karptui.kube.recent import Recent
from karptui.kube.timestamps import format_timestamp, parse_timestamp


class PriceSource(StrEnum):
    """Source of a price, most trusted first."""

    SNAPSHOT = "snapshot"
    """The instance types that a snapshot was recorded with."""
    OVERLAY = "NodeOverlay"
    """Set by the cluster's operator, overriding the provider's price."""
    KARPENTER = "Karpenter's metrics"
    AWS = "AWS APIs"
    BUILT_IN = "built-in list"


class PriceOrigin(msgspec.Struct, frozen=True):
    """Source and date of a price."""

    source: PriceSource
    as_of_ns: int
    """Time of the price, in nanoseconds since the epoch."""
    list_region: str = ""
    """Region of the list if it is not the requested one; otherwise empty."""

    @property
    def label(self) -> str:
        """Label to show with the price, such as ``built-in list, 2026-07-06, of us-east-1``."""
        if not self.as_of_ns:
            return self.source
        when = format_timestamp(self.as_of_ns)
        when = when[:10] if self.source is PriceSource.BUILT_IN else f"{when[:10]} {when[11:16]} UTC"
        return f"{self.source}, {when}" + (f", of {self.list_region}" if self.list_region else "")


class Price(msgspec.Struct, frozen=True):
    """Price of a node per hour."""

    per_hour: float
    """Including the multiplier and the surcharge."""
    listed_per_hour: float
    """Price in the source."""
    currency: str
    origin: PriceOrigin
    is_reservation: bool = False
    """Whether it is a reserved node, at the on-demand price: a reservation is billed whether or not it is used."""
    counted_with: str = ""
    """The other Node of the same instance, whose price counts; empty if this one counts."""


class PriceTable(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Prices from a single source."""

    origin: PriceOrigin
    currency: str = "USD"
    on_demand: Mapping[str, float] = MappingProxyType({})
    """By instance type, for the whole region."""
    zonal: Mapping[tuple[str, str, str], float] = MappingProxyType({})
    """By instance type, zone name and capacity type: spot, and on-demand if it differs between zones."""

    def per_hour(self, instance_type: str, zone: str, capacity_type: str) -> float | None:
        """Return a price, None if the source has none."""
        zonal = self.zonal.get((instance_type, zone, capacity_type))
        if zonal is not None or capacity_type != ON_DEMAND:
            return zonal
        return self.on_demand.get(instance_type)


AUTO_MODE_SHARE: Final = 0.12
"""Charge for EKS Auto Mode, about 1/8 of the on-demand price according to third parties in 2026. *Approximated*."""


class PriceSettings(msgspec.Struct, frozen=True):
    """The user's adjustments of list prices.

    Raises:
        ValueError: If a number is negative or not finite.
    """

    is_disabled: bool = False
    """``--disable-pricing``: no prices at all."""
    multiplier: float = 1.0
    """Factor for list prices: 0.72 for a discount of 28 %."""
    surcharge_per_node_hour: float = 0.0
    """Added to every node's price after the multiplier: monitoring agents, licences, support."""
    auto_mode_share: float = AUTO_MODE_SHARE
    """Additional charge for EKS Auto Mode nodes, as a share of the on-demand list price, also for spot."""

    def __post_init__(self) -> None:
        for name in ("multiplier", "surcharge_per_node_hour", "auto_mode_share"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{name.replace('_', ' ')} must be a number from 0 up, not {value:g}")

    def applied(self, listed_per_hour: float) -> float:
        """Return a node's actual price for a list price."""
        return listed_per_hour * self.multiplier + self.surcharge_per_node_hour

    def paid(self, reckoned_per_hour: float | None) -> float | None:
        """Return a node's actual price for Karpenter's price; None without a price, and if prices are disabled.

        Args:
            reckoned_per_hour: Karpenter's price; None or 0 if it has none.
        """
        return None if self.is_disabled or not reckoned_per_hour else self.applied(reckoned_per_hour)

    def saved(self, reckoned_per_hour: float, fewer_nodes: int) -> float:
        """Return the actual savings for Karpenter's expected savings; 0 if prices are disabled.

        Args:
            reckoned_per_hour: Karpenter's savings, at list prices.
            fewer_nodes: Number of removed nodes minus new nodes.
        """
        if self.is_disabled:
            return 0.0
        return reckoned_per_hour * self.multiplier + self.surcharge_per_node_hour * fewer_nodes


LIST_PRICES: Final = PriceSettings()
"""Unadjusted prices."""


class NodePrices(msgspec.Struct, frozen=True, eq=False):
    """Prices from all sources."""

    tables: tuple[PriceTable, ...] = ()
    """Most trusted first."""
    settings: PriceSettings = LIST_PRICES
    is_auto_mode: bool = False
    """Whether EKS Auto Mode launches the cluster's nodes."""

    def price(
        self, instance_type: str, zone: str, capacity_type: str, *, is_auto_mode: bool | None = None
    ) -> Price | None:
        """Return a node's price per hour; None if no source has it, and if prices are disabled.

        Args:
            zone: Zone name; if empty, only on-demand prices are available.
            is_auto_mode: Whether EKS Auto Mode runs it, which adds a share of the on-demand price; None for the
                cluster's
                default.
        """
        if self.settings.is_disabled:
            return None
        is_charged = self.is_auto_mode if is_auto_mode is None else is_auto_mode
        charge = self._auto_mode(instance_type, zone) if is_charged else 0.0
        if charge is None:
            return None
        is_reservation = capacity_type == RESERVED
        for table in self.tables:
            listed = table.per_hour(instance_type, zone, ON_DEMAND if is_reservation else capacity_type)
            if listed is not None:
                per_hour = self.settings.applied(listed) + charge
                return Price(per_hour, listed, table.currency, table.origin, is_reservation)
        return None

    def _auto_mode(self, instance_type: str, zone: str) -> float | None:
        """Return EKS Auto Mode's charge per hour, None if the on-demand price is unknown."""
        listed = (table.per_hour(instance_type, zone, ON_DEMAND) for table in self.tables)
        on_demand = next((price for price in listed if price is not None), None)
        return None if on_demand is None else on_demand * self.settings.auto_mode_share

    @property
    def origins(self) -> tuple[PriceOrigin, ...]:
        """Sources that have prices, most trusted first."""
        if self.settings.is_disabled:
            return ()
        return tuple(table.origin for table in self.tables if table.on_demand or table.zonal)


def currency_of(region: str) -> str:
    """Return the currency of a region's bill. Rule: pkg/providers/pricing/pricing.go in Karpenter's AWS provider."""
    return "CNY" if region.startswith("cn-") else "USD"


def table_from_list(prices: PriceList, region: str) -> PriceTable:
    """Return the built-in list as a table for a region; another region's list is labelled as such."""
    is_same_region = prices.region == region
    origin = PriceOrigin(PriceSource.BUILT_IN, date_ns(prices.date), "" if is_same_region else prices.region)
    return PriceTable(origin=origin, currency=prices.currency, on_demand=prices.price_per_hour)


def table_from_metrics(metrics: ControllerMetrics, region: str) -> PriceTable:
    """Return the prices in Karpenter's metrics; spot only once Karpenter has read spot prices."""
    origin = PriceOrigin(PriceSource.KARPENTER, metrics.read_at_ns)
    table = _STATED.get(metrics.offerings, lambda: table_from_zonal(origin, region, _stated(metrics)))
    return msgspec.structs.replace(table, origin=origin, currency=currency_of(region))


_STATED: Final[Recent[Any, PriceTable]] = Recent(most=2, patience=32)
"""Cached by offerings: readings a minute apart usually have the same prices."""


def _stated(metrics: ControllerMetrics) -> Mapping[tuple[str, str, str], float]:
    stated = (ON_DEMAND, SPOT) if metrics.has_spot_prices else (ON_DEMAND,)
    return {
        (name.instance_type, name.zone, name.capacity_type): offering.price_per_hour
        for name, offering in metrics.offerings.items()
        if offering.price_per_hour is not None and name.capacity_type in stated
    }


def table_from_zonal(origin: PriceOrigin, region: str, zonal: Mapping[tuple[str, str, str], float]) -> PriceTable:
    """Return prices by zone as a table; a type whose on-demand prices are equal has that price in the whole region."""
    by_type: dict[str, set[float]] = {}
    for (name, _, capacity_type), price in zonal.items():
        if capacity_type == ON_DEMAND:
            by_type.setdefault(name, set()).add(price)
    on_demand = {name: next(iter(prices)) for name, prices in by_type.items() if len(prices) == 1}
    return PriceTable(origin=origin, currency=currency_of(region), on_demand=on_demand, zonal=zonal)


def date_ns(date: str) -> int:
    """Return the start of a day in UTC, in nanoseconds since the epoch.

    Raises:
        ValueError: If the text is not an ISO 8601 date.
    """
    return parse_timestamp(f"{date}T00:00:00Z")


def settings_of(book: NodePrices | None) -> PriceSettings:
    """Return a price book's settings, the defaults without a book."""
    return book.settings if book is not None else LIST_PRICES


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
