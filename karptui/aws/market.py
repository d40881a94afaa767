"""The built-in catalogue, updated with data from EC2 and then from Karpenter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from karptui.aws.catalogue import PriceList, instance_type_facts, price_list
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.launch_refusals import ALL_AVAILABLE, UnavailableOfferings
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.prices import (
    LIST_PRICES,
    Market,
    NodePrices,
    OfferingKey,
    PriceOrigin,
    PriceSettings,
    PriceSource,
    PriceTable,
    built_in_market,
    currency_of,
    table_from_list,
    table_from_metrics,
)
from karptui.aws.region import NO_FACTS, RegionFacts
from karptui.karpenter.instance_type import NO_SPOT_ROLE, UNFULFILLABLE
from karptui.karpenter.labels import SPOT
from karptui.karpenter.metrics import ControllerMetrics
from karptui.kube.recent import Recent
from karptui.kube.timestamps import format_timestamp

_MARKETS: Final[Recent[Any, Market]] = Recent(most=8, patience=32)
"""Shares a market between callers with the same inputs: with Karpenter's metrics it has thousands of prices."""


def live_instance_types(facts: RegionFacts = NO_FACTS) -> Mapping[str, InstanceTypeFacts]:
    """Return EC2's data of every type, the catalogue's if EC2 was not queried, sorted by name."""
    built_in = instance_type_facts()
    if facts.instance_types is None:
        return built_in
    merged = {**built_in, **facts.instance_types.value}
    return MappingProxyType({name: merged[name] for name in sorted(merged)})


def live_market(
    region: str,
    zones: Iterable[SubnetZone],
    *,
    facts: RegionFacts = NO_FACTS,
    metrics: ControllerMetrics | None = None,
    refused: UnavailableOfferings = ALL_AVAILABLE,
    has_overlays: bool = False,
) -> Market:
    """Return the offerings and prices of a region from all available sources.

    Args:
        zones: The cluster's zones, from its EC2NodeClasses and nodes.
        facts: Answers of the AWS APIs; ignored for another region.
        has_overlays: Whether the cluster has NodeOverlays. Karpenter's prices then include those of a NodePool, and
            would
            be overlaid twice: only its availability is used.
    """
    named = tuple(dict.fromkeys(zones))
    current_facts = facts if facts.region == region else NO_FACTS
    metrics_key = (metrics.offerings, _date(metrics)) if metrics is not None else None
    return _MARKETS.get(
        (region, named, current_facts, metrics_key, has_overlays, refused),
        lambda: _with_refused(_market(region, named, current_facts, metrics, uses_prices=not has_overlays), refused),
    )


def _market(
    region: str,
    named: tuple[SubnetZone, ...],
    facts: RegionFacts,
    metrics: ControllerMetrics | None,
    *,
    uses_prices: bool,
) -> Market:
    market = built_in_market(region, named, _instances_left(facts))
    names_by_id = _names_by_id(named, facts)
    if facts.zone_ids_by_type is not None:
        market = _with_offerings(market, facts.zone_ids_by_type.value, names_by_id)
    if facts.on_demand is not None:
        market = msgspec.structs.replace(market, on_demand=_api_list(region, facts, market.on_demand))
    if facts.spot is not None:
        market = msgspec.structs.replace(
            market, spot_price_per_hour={(t, z): price for t, z, price in _spot(facts.spot.value, names_by_id)}
        )
    if metrics is not None and metrics.offerings:
        market = _with_metrics(market, metrics, uses_prices=uses_prices)
    return market


def _with_refused(market: Market, refused: UnavailableOfferings) -> Market:
    if refused == ALL_AVAILABLE:
        return market
    without_role = {
        OfferingKey(SPOT, name, zone): NO_SPOT_ROLE
        for name, zones in market.zones_by_type.items()
        for zone in zones
        if SPOT in refused.capacity_types
    }
    return msgspec.structs.replace(market, sold_out={**market.sold_out, **refused.offerings, **without_role})


def _date(metrics: ControllerMetrics) -> str:
    """Return the date of a reading; its time does not matter."""
    return format_timestamp(metrics.read_at_ns)[:10]


def live_prices(
    region: str,
    zones: Iterable[SubnetZone] = (),
    *,
    facts: RegionFacts = NO_FACTS,
    metrics: ControllerMetrics | None = None,
    settings: PriceSettings = LIST_PRICES,
) -> NodePrices:
    """Return the prices to show: Karpenter's, then the AWS APIs', then the built-in list; arguments as ``live_market``.

    Without a region (not on AWS) the built-in list is not used, because its prices do not apply.
    """
    tables = []
    if metrics is not None and metrics.offerings:
        tables.append(table_from_metrics(metrics, region))
    if facts.region == region:
        tables += _api_tables(region, facts, _names_by_id(tuple(zones), facts))
    if region:
        tables.append(table_from_list(price_list(region), region))
    return NodePrices(tuple(tables), settings)


def _with_offerings(
    market: Market, zone_ids_by_type: Mapping[str, Iterable[str]], names_by_id: Mapping[str, str]
) -> Market:
    named = set(names_by_id.values())
    assumed = frozenset(zone for zone in market.zones if zone not in named)
    by_type = {
        name: assumed.union(names_by_id[zone_id] for zone_id in zone_ids if zone_id in names_by_id)
        for name, zone_ids in zone_ids_by_type.items()
    }
    return msgspec.structs.replace(market, zones_by_type=by_type, zones_assumed=tuple(sorted(assumed)))


def _api_tables(region: str, facts: RegionFacts, names_by_id: Mapping[str, str]) -> Iterable[PriceTable]:
    """Yield the APIs' prices, on-demand and spot separately because their ages differ."""
    currency = currency_of(region)
    if facts.on_demand is not None:
        origin = PriceOrigin(PriceSource.AWS, facts.on_demand.as_of_ns)
        yield PriceTable(origin=origin, currency=currency, on_demand=facts.on_demand.value)
    if facts.spot is not None:
        origin = PriceOrigin(PriceSource.AWS, facts.spot.as_of_ns)
        zonal = {(t, z, SPOT): price for t, z, price in _spot(facts.spot.value, names_by_id)}
        yield PriceTable(origin=origin, currency=currency, zonal=zonal)


def _names_by_id(zones: tuple[SubnetZone, ...], facts: RegionFacts) -> dict[str, str]:
    """Return the cluster's zone names by zone id.

    The account's names are only used if they do not contradict the cluster's: the credentials may belong to another
    account, in which zone names differ.
    """
    names = {zone.zone_id: zone.name for zone in reversed(zones) if zone.zone_id}
    account = {zone.zone_id: zone.name for zone in facts.zones.value} if facts.zones is not None else {}
    ids = {name: zone_id for zone_id, name in names.items()}
    if all(ids.get(name, zone_id) == zone_id for zone_id, name in account.items()):
        return {**account, **names}
    return names


def _spot(
    prices: Mapping[str, Mapping[str, float]], names_by_id: Mapping[str, str]
) -> Iterable[tuple[str, str, float]]:
    """Yield instance type, zone name and price."""
    for instance_type, by_zone in prices.items():
        for zone_id, price in by_zone.items():
            if zone_id in names_by_id:
                yield instance_type, names_by_id[zone_id], price


def _instances_left(facts: RegionFacts) -> Mapping[str, int]:
    if facts.reservations is None:
        return MappingProxyType({})
    return {reservation.id: reservation.instances_left for reservation in facts.reservations.value}


def _api_list(region: str, facts: RegionFacts, built_in: PriceList) -> PriceList:
    """Return the API's list merged over the region's built-in list, as Karpenter does; never over another region's."""
    assert facts.on_demand is not None
    older = built_in.price_per_hour if built_in.region == region else {}
    date = format_timestamp(facts.on_demand.as_of_ns)[:10]
    return PriceList(region, date, currency_of(region), {**older, **facts.on_demand.value})


def _with_metrics(market: Market, metrics: ControllerMetrics, *, uses_prices: bool) -> Market:
    reachable = {name.zone for name, offering in metrics.offerings.items() if offering.is_available}
    sold_out = {
        OfferingKey(name.capacity_type, name.instance_type, name.zone): UNFULFILLABLE
        for name, offering in metrics.offerings.items()
        if offering.is_available is False
        and offering.price_per_hour is not None
        # A zone without any available offering has no subnet, which says nothing about EC2.
        and name.zone in reachable
        and name.zone in market.zones_by_type.get(name.instance_type, frozenset())
    }
    table = table_from_metrics(metrics, market.region)
    if not uses_prices or not table.on_demand:
        return msgspec.structs.replace(market, sold_out=sold_out)
    prices = PriceList(market.region, _date(metrics), table.currency, table.on_demand)
    spot = {(t, zone): price for (t, zone, usage), price in table.zonal.items() if usage == SPOT}
    return msgspec.structs.replace(
        market, sold_out=sold_out, on_demand=prices, spot_price_per_hour=spot or market.spot_price_per_hour
    )
