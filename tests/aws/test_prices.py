"""Prices of nodes and of the market: metrics, AWS and the built-in list."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from karptui.aws.catalogue import instance_type_facts, price_list
from karptui.aws.market import live_instance_types, live_market, live_prices
from karptui.aws.money import (
    node_price_text,
    per_hour_change_text,
    per_hour_text,
    per_month_text,
    saved_text,
    total_text,
)
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.prices import (
    NodePrices,
    OfferingKey,
    PriceOrigin,
    PriceSettings,
    PriceSource,
    PriceTable,
    built_in_market,
    region_of,
    table_from_metrics,
)
from karptui.aws.region import AccountReservation, Dated, FactPhase, FactStatus, RegionFacts, shared_sentence
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName
from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp
from tests.aws.builders import ZONES, a_market
from tests.builders import present

NOW = parse_timestamp("2026-11-21T10:05:30Z")
KARPENTER = PriceOrigin(PriceSource.KARPENTER, NOW)
REGION = "us-east-1"
MARKET_ZONES = (SubnetZone("us-east-1a", "use1-az4"), SubnetZone("us-east-1b", "use1-az6"))
UNNAMED = SubnetZone("us-east-1c", "")
OF_ANOTHER_ACCOUNT = (("us-east-1a", "use1-az6"), ("us-east-1c", "use1-az1"))


def table(origin: PriceOrigin = KARPENTER, **options: Any) -> PriceTable:
    return PriceTable(origin=origin, **options)


def metrics(prices: dict[tuple[str, str, str], float | None]) -> ControllerMetrics:
    offerings = {OfferingName(*name): OfferingMetrics(price, True) for name, price in prices.items()}
    return ControllerMetrics(read_at_ns=NOW, endpoint="pod a/b", offerings=offerings)


def test_multiplier_and_surcharge() -> None:
    settings = PriceSettings(multiplier=0.72, surcharge_per_node_hour=0.01)
    price = present(NodePrices((table(on_demand={"m5.large": 0.1}),), settings).price("m5.large", "a", "on-demand"))
    assert (price.per_hour, price.listed_per_hour) == (pytest.approx(0.082), 0.1)


@pytest.mark.parametrize(("instance_type", "kind", "settings", "expected"), [
    ("m5.large", "on-demand", PriceSettings(), 0.112),
    ("m5.large", "spot", PriceSettings(), 0.052),
    ("c5.large", "spot", PriceSettings(), None),
    ("m5.large", "on-demand", PriceSettings(multiplier=0.5, auto_mode_share=0.2), 0.07),
])  # fmt: skip
def test_auto_mode_costs_a_share_of_the_on_demand_price_of_spot_too(
    instance_type: str, kind: str, settings: PriceSettings, expected: float | None
) -> None:
    zonal = {("m5.large", "a", "spot"): 0.04, ("c5.large", "a", "spot"): 0.03}
    book = NodePrices((table(on_demand={"m5.large": 0.1}, zonal=zonal),), settings)
    price = book.price(instance_type, "a", kind, is_auto_mode=True)
    assert (price and price.per_hour) == (expected and pytest.approx(expected))


@pytest.mark.parametrize("value", [-1.0, math.inf, math.nan])
@pytest.mark.parametrize("name", ["multiplier", "surcharge_per_node_hour"])
def test_invalid_price_settings_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name.replace('_', ' ')} must be a number from 0 up"):
        PriceSettings(**{name: value})  # type: ignore[arg-type]  # one field by its name


def test_metrics_as_a_table() -> None:
    prices: dict[tuple[str, str, str], float | None] = {
        ("m5.large", "a", "on-demand"): 0.1, ("m5.large", "b", "on-demand"): 0.1, ("m5.large", "a", "spot"): 0.04,
        ("m5.large", "a", "reserved"): 1e-8, ("c5.large", "a", "on-demand"): 0.2, ("c5.large", "b", "on-demand"): 0.3,
        ("p5.48xlarge", "a", "on-demand"): None,
    }  # fmt: skip
    table = table_from_metrics(metrics(prices), "eu-west-1")
    assert (table.origin, table.on_demand) == (KARPENTER, {"m5.large": 0.1})
    expected = {
        ("m5.large", "a", "spot"): 0.04, ("m5.large", "a", "reserved"): None, ("c5.large", "b", "on-demand"): 0.3,
        ("c5.large", "", "on-demand"): None,
    }  # fmt: skip
    assert {key: table.per_hour(*key) for key in expected} == expected


def test_spot_prices_that_karpenter_has_not_read_are_left_out() -> None:
    unread = metrics({("m5.large", "a", "on-demand"): 0.1, ("m5.large", "a", "spot"): 0.1})
    table = table_from_metrics(unread, "us-east-1")
    assert [table.per_hour("m5.large", "a", kind) for kind in ("on-demand", "spot")] == [0.1, None]


@pytest.mark.parametrize(("settings", "paid", "saved"), [
    (PriceSettings(), 2.0, 2.0),
    (PriceSettings(multiplier=0.5, surcharge_per_node_hour=0.1), 1.1, 1.2),
    (PriceSettings(is_disabled=True), None, 0.0),
])  # fmt: skip
def test_multiplier_and_surcharge_apply_to_karpenters_price(
    settings: PriceSettings, paid: float | None, saved: float
) -> None:
    assert settings.paid(2.0) == paid
    assert settings.saved(2.0, 2) == saved
    assert [settings.paid(unknown) for unknown in (None, 0.0)] == [None, None]


@pytest.mark.parametrize(("currency", "price", "total"), [
    ("USD", "$0.0960", "$25.08/h · $18,308/mo"),
    ("CNY", "¥0.0960", "¥25.08/h · ¥18,308/mo"),
    ("EUR", "EUR 0.0960", "EUR 25.08/h · EUR 18,308/mo"),
])  # fmt: skip
def test_prices_of_a_node_have_four_digits_and_sums_two(currency: str, price: str, total: str) -> None:
    assert node_price_text(0.096, currency) == price
    assert total_text(25.08, currency) == total
    assert f"{per_hour_text(25.08, currency)} · {per_month_text(25.08, currency)}" == total


def test_a_change_has_its_sign() -> None:
    assert [per_hour_change_text(amount) for amount in (5.42, -1234.5)] == ["+$5.42/h", "-$1,234.50/h"]
    assert saved_text(0.383, "CNY") == "saves ¥0.3830/h"
    assert saved_text(-1234.5, digits=2, is_upper_bound=True, is_whole=False) == "costs up to $1,234.50/h+ more"
    assert saved_text(0.0049, digits=2) == "saves nothing"


@pytest.mark.parametrize(("zone", "region"), [
    ("us-east-1a", "us-east-1"),
    ("us-gov-west-1b", "us-gov-west-1"),
    ("us-east-1-bos-1a", "us-east-1"),
    ("ap-southeast-5c", "ap-southeast-5"),
    ("zone-a", ""),
    ("", ""),
])  # fmt: skip
def test_the_region_of_a_zone(zone: str, region: str) -> None:
    assert region_of(zone) == region


def test_zones_unknown_to_the_catalogue_are_assumed_and_named() -> None:
    market = built_in_market("us-east-1", [*ZONES, SubnetZone("us-east-1c", "")])
    assert market.zones_assumed == ("us-east-1c",)
    assert "us-east-1c" in market.zones_by_type["a1.medium"]


def test_on_demand_price_is_assumed_without_spot_prices() -> None:
    market = a_market()
    assert (
        market.price("spot", "m5.large", "us-east-1a") == market.price("on-demand", "m5.large", "us-east-1a") == 0.096
    )
    live = replace(market, spot_price_per_hour={("m5.large", "us-east-1a"): 0.04})
    assert live.price("spot", "m5.large", "us-east-1a") == 0.04
    assert live.price("spot", "m5.large", "us-east-1b") is None
    assert live.price("on-demand", "m5.large", "us-east-1b") == 0.096


def facts(**result: Any) -> RegionFacts:
    return RegionFacts(region=REGION, **{name: Dated(value, NOW) for name, value in result.items()})


def market_metrics(*rows: tuple[str, str, str, float | None, bool | None]) -> ControllerMetrics:
    offerings = {OfferingName(t, z, usage): OfferingMetrics(price, available) for t, z, usage, price, available in rows}
    return ControllerMetrics(read_at_ns=NOW, endpoint="pod a/b", offerings=offerings)


KARPENTER_SOURCE = market_metrics(
    ("m5.large", "us-east-1a", "on-demand", 0.111, True),
    ("m5.large", "us-east-1b", "on-demand", 0.111, True),
    ("m5.large", "us-east-1a", "spot", 0.04, True),
    ("m5.large", "us-east-1b", "spot", 0.05, False),
    ("m5.large", "us-east-1c", "spot", 0.05, False),
    ("c5.large", "us-east-1a", "on-demand", 0.222, None),
    ("c5.large", "us-east-1b", "spot", None, False),
)


class TestTypes:
    def test_ec2_wins_type_by_type(self) -> None:
        larger = msgspec.structs.replace(instance_type_facts()["m5.large"], memory_mib=9000)
        newer = msgspec.structs.replace(larger, name="a0.new")
        types = live_instance_types(facts(instance_types={"m5.large": larger, "a0.new": newer}))
        assert types["m5.large"].memory_mib == 9000
        assert next(iter(types)) == "a0.new"
        assert len(types) == len(instance_type_facts()) + 1


class TestMarket:
    @pytest.mark.parametrize(("zones", "names", "ids", "offering", "assumed"), [
        ((UNNAMED,), (("us-east-1c", "use1-az1"),), ("use1-az1",), {"us-east-1c"}, ()),
        ((UNNAMED,), (), (), {"us-east-1c"}, ("us-east-1c",)),
        ((*MARKET_ZONES, UNNAMED), OF_ANOTHER_ACCOUNT, ("use1-az4", "use1-az1"), {"us-east-1a", "us-east-1c"},
         ("us-east-1c",)),
    ], ids=["named by the account", "unknown, so everything is offered", "another account"])  # fmt: skip
    def test_zones_without_an_id(
        self, zones: Any, names: Any, ids: tuple[str, ...], offering: set[str], assumed: tuple[str, ...]
    ) -> None:
        named = tuple(SubnetZone(*name) for name in names)
        market = live_market(REGION, zones, facts=facts(zone_ids_by_type={"m5.large": ids}, zones=named))
        assert market.zones_by_type == {"m5.large": offering}
        assert market.zones_assumed == assumed

    def test_on_demand_prices_override_the_list_of_their_region_only(self) -> None:
        market = live_market(REGION, MARKET_ZONES, facts=facts(on_demand={"m5.large": 0.1}))
        assert market.on_demand.price_per_hour["m5.large"] == 0.1
        assert market.on_demand.price_per_hour["c5.large"] == price_list(REGION).price_per_hour["c5.large"]
        assert (market.on_demand.region, market.on_demand.date) == (REGION, "2026-11-21")
        result = msgspec.structs.replace(facts(on_demand={"m5.large": 0.1}), region="eu-west-1")
        market = live_market("eu-west-1", [SubnetZone("eu-west-1a", "euw1-az1")], facts=result)
        assert market.on_demand.price_per_hour == {"m5.large": 0.1}
        assert market.on_demand.region == "eu-west-1"

    def test_spot_prices_by_zone_id_and_reservations_by_what_is_left(self) -> None:
        reservation = AccountReservation("cr-1", "m5.large", "us-east-1a", "active", 10, 3)
        spot = {"m5.large": {"use1-az4": 0.03, "use1-az9": 0.01}}
        market = live_market(REGION, MARKET_ZONES, facts=facts(spot=spot, reservations=(reservation,)))
        assert market.spot_price_per_hour == {("m5.large", "us-east-1a"): 0.03}
        assert market.instances_left == {"cr-1": 3}

    def test_karpenters_prices_win(self) -> None:
        result = facts(on_demand={"m5.large": 0.1}, spot={"m5.large": {"use1-az4": 0.03}})
        market = live_market(REGION, MARKET_ZONES, facts=result, metrics=KARPENTER_SOURCE)
        assert market.price("on-demand", "m5.large", "us-east-1a") == 0.111
        assert market.price("spot", "m5.large", "us-east-1a") == 0.04
        assert market.price("spot", "c5.large", "us-east-1b") is None
        assert market.on_demand.label == "us-east-1 list price of 2026-11-21"

    def test_only_unavailability_is_read_from_metrics_with_overlays(self) -> None:
        for has_overlays in (False, True):
            market = live_market(REGION, MARKET_ZONES, metrics=KARPENTER_SOURCE, has_overlays=has_overlays)
            assert set(market.sold_out) == {OfferingKey("spot", "m5.large", "us-east-1b")}
        assert market.price("on-demand", "m5.large", "us-east-1a") == 0.096
        assert market.spot_price_per_hour is None

    def test_equal_metrics_share_a_market(self) -> None:
        result = market_metrics(("m5.large", "us-east-1a", "on-demand", 0.1, True))
        newer = market_metrics(("m5.large", "us-east-1a", "on-demand", 0.2, True))
        first = live_market(REGION, MARKET_ZONES, metrics=result)
        assert live_market(REGION, MARKET_ZONES, metrics=newer).price("on-demand", "m5.large", "us-east-1a") == 0.2
        assert live_market(REGION, MARKET_ZONES, metrics=result) is first
        a_minute_later = replace(result, read_at_ns=NOW + 60 * NS_PER_SECOND).after(result)
        assert live_market(REGION, MARKET_ZONES, metrics=a_minute_later) is first
        a_day_later = replace(result, read_at_ns=NOW + 86_400 * NS_PER_SECOND)
        assert live_market(REGION, MARKET_ZONES, metrics=a_day_later).on_demand.date == "2026-11-22"
        assert live_market(REGION, MARKET_ZONES, metrics=result, has_overlays=True) is not first
        assert live_market(REGION, MARKET_ZONES[:1], metrics=result) is not first

    @pytest.mark.parametrize("silent", [
        {},
        {"metrics": market_metrics()},
        {"metrics": market_metrics(("m5.large", "us-east-1a", "spot", 0.04, True))},
        {"facts": msgspec.structs.replace(facts(on_demand={"m5.large": 9.0}), region="eu-west-1")},
    ], ids=["nothing", "empty metrics", "spot alone", "another region"])  # fmt: skip
    def test_facts_without_on_demand_prices_of_the_region_leave_the_list(self, silent: dict[str, Any]) -> None:
        market = live_market(REGION, MARKET_ZONES, **silent)
        assert market.price("on-demand", "m5.large", "us-east-1a") == 0.096


class TestPrices:
    def test_prices_come_from_the_most_trusted_source(self) -> None:
        result = facts(on_demand={"m5.large": 0.1, "c5.large": 0.2}, spot={"c5.large": {"use1-az4": 0.07}})
        only_m5 = market_metrics(("m5.large", "us-east-1a", "on-demand", 0.111, True))
        book = live_prices(REGION, MARKET_ZONES, facts=result, metrics=only_m5)
        asked = [("m5.large", "on-demand"), ("c5.large", "on-demand"), ("c5.large", "spot"), ("r5.large", "on-demand")]
        prices = [book.price(name, "us-east-1a", usage) for name, usage in asked]
        assert [(price.per_hour, price.origin.source) for price in prices if price is not None] == [
            (0.111, PriceSource.KARPENTER),
            (0.2, PriceSource.AWS),
            (0.07, PriceSource.AWS),
            (0.126, PriceSource.BUILT_IN),
        ]
        assert [origin.source for origin in book.origins] == [
            "Karpenter's metrics", "AWS APIs", "AWS APIs", "built-in list",
        ]  # fmt: skip
        assert book.price("r5.large", "us-east-1a", "spot") is None


@pytest.mark.parametrize(("statuses", "sentence"), [
    ([], ""),
    ([FactStatus(phase=FactPhase.LIVE), FactStatus(phase=FactPhase.OFF, sentence="not asked for")], ""),
    ([FactStatus(phase=FactPhase.UNAVAILABLE, sentence="no credentials")] * 2, "no credentials"),
    ([FactStatus(phase=FactPhase.CACHED, sentence="a"), FactStatus(phase=FactPhase.UNAVAILABLE, sentence="b")], ""),
])  # fmt: skip
def test_one_message_per_cause(statuses: list[FactStatus], sentence: str) -> None:
    assert shared_sentence(statuses) == sentence
