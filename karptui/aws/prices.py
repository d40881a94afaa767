"""What an instance costs per hour, who says so and since when.

The best source wins: what a snapshot was recorded with, then Karpenter's own metrics, the AWS APIs, the built-in list.
A price never stands without its origin, and a spot price is never derived from anything else: where nobody knows one
there is none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from karptui.aws.catalogue import PriceList
from karptui.karpenter.labels import ON_DEMAND, RESERVED, SPOT
from karptui.karpenter.metrics import ControllerMetrics
from karptui.kube.recent import Recent
from karptui.kube.timestamps import format_timestamp, parse_timestamp


class PriceSource(StrEnum):
    """Who says what a price is, most trusted first."""

    SNAPSHOT = "snapshot"
    """The instance types that a snapshot was recorded with."""
    OVERLAY = "NodeOverlay"
    """Set by the cluster's operator over whatever the provider says."""
    KARPENTER = "Karpenter's metrics"
    AWS = "AWS APIs"
    BUILT_IN = "built-in list"


class PriceOrigin(msgspec.Struct, frozen=True):
    """Where a price comes from."""

    source: PriceSource
    as_of_ns: int
    """When it held: nanoseconds since the epoch."""
    list_region: str = ""
    """The region whose list it is from, where that is not the region asked about; else empty."""

    @property
    def label(self) -> str:
        """What stands beside the price, such as ``built-in list, 2026-07-06, of us-east-1``."""
        if not self.as_of_ns:
            return self.source
        when = format_timestamp(self.as_of_ns)
        when = when[:10] if self.source is PriceSource.BUILT_IN else f"{when[:10]} {when[11:16]} UTC"
        return f"{self.source}, {when}" + (f", of {self.list_region}" if self.list_region else "")


class Price(msgspec.Struct, frozen=True):
    """The price of one node-hour."""

    per_hour: float
    """With the multiplier and the surcharge."""
    listed_per_hour: float
    """As the source has it."""
    currency: str
    origin: PriceOrigin
    is_reservation: bool = False
    """A reserved node, at the on-demand rate: the reservation is billed so whether it is used or not."""


class PriceTable(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What one source knows."""

    origin: PriceOrigin
    currency: str = "USD"
    on_demand: Mapping[str, float] = MappingProxyType({})
    """By instance type, the same in the whole region."""
    zonal: Mapping[tuple[str, str, str], float] = MappingProxyType({})
    """By instance type, zone name and capacity type: spot, and on-demand where it differs between zones."""

    def per_hour(self, instance_type: str, zone: str, capacity_type: str) -> float | None:
        """Return the price, None where the source has none."""
        zonal = self.zonal.get((instance_type, zone, capacity_type))
        if zonal is not None or capacity_type != ON_DEMAND:
            return zonal
        return self.on_demand.get(instance_type)


AUTO_MODE_SHARE: Final = 0.12
"""What AWS charges for EKS Auto Mode, as others tell of 2026: about 1/8 of the on-demand price. *Approximated*."""


class PriceSettings(msgspec.Struct, frozen=True):
    """What the user makes of list prices.

    Raises:
        ValueError: when a number is negative or not finite.
    """

    is_disabled: bool = False
    """``--disable-pricing``: nothing has a price."""
    multiplier: float = 1.0
    """What a list price is multiplied with: 0.72 for a discount of 28 %."""
    surcharge_per_node_hour: float = 0.0
    """Added to every node after the multiplier: monitoring agents, licences, support."""
    auto_mode_share: float = AUTO_MODE_SHARE
    """What nodes of EKS Auto Mode cost beside that, as a share of the on-demand list price, spot ones too."""

    def __post_init__(self) -> None:
        for name in ("multiplier", "surcharge_per_node_hour", "auto_mode_share"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{name.replace('_', ' ')} must be a number from 0 up, not {value:g}")

    def applied(self, listed_per_hour: float) -> float:
        """Return what a node costs at a list price."""
        return listed_per_hour * self.multiplier + self.surcharge_per_node_hour

    def paid(self, reckoned_per_hour: float | None) -> float | None:
        """Return what a node costs that Karpenter reckons with; None where it has no price, and while disabled.

        Args:
            reckoned_per_hour: Karpenter's price; None or 0 where it has none.
        """
        return None if self.is_disabled or not reckoned_per_hour else self.applied(reckoned_per_hour)

    def saved(self, reckoned_per_hour: float, fewer_nodes: int) -> float:
        """Return what is saved where Karpenter expects to save an amount; 0 while disabled.

        Args:
            reckoned_per_hour: Karpenter's savings, by list prices.
            fewer_nodes: Nodes that go, less those that come.
        """
        if self.is_disabled:
            return 0.0
        return reckoned_per_hour * self.multiplier + self.surcharge_per_node_hour * fewer_nodes


LIST_PRICES: Final = PriceSettings()
"""Prices as they are."""


class NodePrices(msgspec.Struct, frozen=True, eq=False):
    """All sources together."""

    tables: tuple[PriceTable, ...] = ()
    """Most trusted first."""
    settings: PriceSettings = LIST_PRICES
    is_auto_mode: bool = False
    """Whether EKS Auto Mode launches the nodes of the cluster."""

    def price(
        self, instance_type: str, zone: str, capacity_type: str, *, is_auto_mode: bool | None = None
    ) -> Price | None:
        """Return what a node costs per hour; None where no source knows, and everywhere while prices are disabled.

        Args:
            instance_type: Such as ``m5.large``.
            zone: Its name; empty where it is not known, which leaves on-demand prices only.
            capacity_type: ``on-demand``, ``spot`` or ``reserved``.
            is_auto_mode: Whether EKS Auto Mode runs it, which costs a share of the on-demand price beside; None as
                nodes of the cluster are launched.
        """
        if self.settings.is_disabled:
            return None
        is_charged = self.is_auto_mode if is_auto_mode is None else is_auto_mode
        beside = self._auto_mode(instance_type, zone) if is_charged else 0.0
        if beside is None:
            return None
        is_reservation = capacity_type == RESERVED
        for table in self.tables:
            listed = table.per_hour(instance_type, zone, ON_DEMAND if is_reservation else capacity_type)
            if listed is not None:
                per_hour = self.settings.applied(listed) + beside
                return Price(per_hour, listed, table.currency, table.origin, is_reservation)
        return None

    def _auto_mode(self, instance_type: str, zone: str) -> float | None:
        """Return what EKS Auto Mode itself costs per hour, None where no on-demand price is known."""
        listed = (table.per_hour(instance_type, zone, ON_DEMAND) for table in self.tables)
        on_demand = next((one for one in listed if one is not None), None)
        return None if on_demand is None else on_demand * self.settings.auto_mode_share

    @property
    def origins(self) -> tuple[PriceOrigin, ...]:
        """The sources that know anything, most trusted first."""
        if self.settings.is_disabled:
            return ()
        return tuple(table.origin for table in self.tables if table.on_demand or table.zonal)


def currency_of(region: str) -> str:
    """Return what AWS bills a region in. Rule: pkg/providers/pricing/pricing.go of Karpenter's AWS provider."""
    return "CNY" if region.startswith("cn-") else "USD"


def table_from_list(prices: PriceList, region: str) -> PriceTable:
    """Return the built-in list as a table for a region: its own list or, labelled so, another region's."""
    own = prices.region == region
    origin = PriceOrigin(PriceSource.BUILT_IN, date_ns(prices.date), "" if own else prices.region)
    return PriceTable(origin=origin, currency=prices.currency, on_demand=prices.price_per_hour)


def table_from_metrics(metrics: ControllerMetrics, region: str) -> PriceTable:
    """Return the prices that Karpenter's metrics state; spot only once Karpenter has read spot prices itself."""
    stated = _STATED.get(metrics.offerings, lambda: _stated(metrics))
    return PriceTable(
        origin=PriceOrigin(PriceSource.KARPENTER, metrics.read_at_ns),
        currency=currency_of(region),
        on_demand=stated.on_demand,
        zonal=stated.zonal,
    )


class _Stated(NamedTuple):
    on_demand: Mapping[str, float]
    zonal: Mapping[tuple[str, str, str], float]


_STATED: Final[Recent[Any, _Stated]] = Recent(most=2, patience=32)
"""By offerings: readings a minute apart mostly state the same prices."""


def _stated(metrics: ControllerMetrics) -> _Stated:
    zonal: dict[tuple[str, str, str], float] = {}
    by_type: dict[str, set[float]] = {}
    for name, offering in metrics.offerings.items():
        price = offering.price_per_hour
        if price is None or name.capacity_type not in (ON_DEMAND, SPOT):
            continue
        if name.capacity_type == SPOT:
            if metrics.has_spot_prices:
                zonal[name.instance_type, name.zone, SPOT] = price
            continue
        zonal[name.instance_type, name.zone, ON_DEMAND] = price
        by_type.setdefault(name.instance_type, set()).add(price)
    return _Stated({name: next(iter(prices)) for name, prices in by_type.items() if len(prices) == 1}, zonal)


def date_ns(date: str) -> int:
    """Return the first instant of a day in UTC: nanoseconds since the epoch.

    Raises:
        ValueError: when the text is not a date of ISO 8601.
    """
    return parse_timestamp(f"{date}T00:00:00Z")


def settings_of(book: NodePrices | None) -> PriceSettings:
    """Return what a book makes of list prices; where there is no book, they stay as they are."""
    return book.settings if book is not None else LIST_PRICES
