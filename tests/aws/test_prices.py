from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.money import change_text, node_price_text, per_hour_text, per_month_text, total_text
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.prices import (
    NodePrices,
    PriceOrigin,
    PriceSettings,
    PriceSource,
    PriceTable,
    built_in_market,
    region_of,
    table_from_metrics,
)
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName
from karptui.kube.timestamps import parse_timestamp
from tests.aws.builders import ZONES, a_market
from tests.builders import present

NOW = parse_timestamp("2026-11-21T10:05:30Z")
KARPENTER = PriceOrigin(PriceSource.KARPENTER, NOW)


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
def test_senseless_settings_are_refused(name: str, value: float) -> None:
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
def test_karpenters_price_as_the_price_paid(settings: PriceSettings, paid: float | None, saved: float) -> None:
    assert settings.paid(2.0) == paid
    assert settings.saved(2.0, 2) == saved
    assert [settings.paid(unknown) for unknown in (None, 0.0)] == [None, None]


@pytest.mark.parametrize(("currency", "price", "total"), [
    ("USD", "$0.0960", "$25.08/h · $18,308/mo"),
    ("CNY", "¥0.0960", "¥25.08/h · ¥18,308/mo"),
    ("EUR", "EUR 0.0960", "EUR 25.08/h · EUR 18,308/mo"),
])  # fmt: skip
def test_four_digits_for_one_node_and_two_for_sums(currency: str, price: str, total: str) -> None:
    assert node_price_text(0.096, currency) == price
    assert total_text(25.08, currency) == total
    assert f"{per_hour_text(25.08, currency)} · {per_month_text(25.08, currency)}" == total


def test_a_change_has_its_sign() -> None:
    assert [change_text(amount) for amount in (5.42, -1234.5)] == ["+5.42 $/h", "-1,234.50 $/h"]


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


def test_zones_that_the_catalogue_cannot_tell_are_assumed_and_named() -> None:
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
