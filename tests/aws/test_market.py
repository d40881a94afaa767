from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from karptui.aws.catalogue import instance_type_facts, price_list
from karptui.aws.market import live_instance_types, live_market, live_prices
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.prices import OfferingKey, PriceSource
from karptui.aws.region import AccountReservation, Dated, FactPhase, FactStatus, RegionFacts, shared_sentence
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName
from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp

REGION = "us-east-1"
NOW = parse_timestamp("2026-11-21T10:05:30Z")
ZONES = (SubnetZone("us-east-1a", "use1-az4"), SubnetZone("us-east-1b", "use1-az6"))
UNNAMED = SubnetZone("us-east-1c", "")
OF_ANOTHER_ACCOUNT = (("us-east-1a", "use1-az6"), ("us-east-1c", "use1-az1"))


def facts(**result: Any) -> RegionFacts:
    return RegionFacts(region=REGION, **{name: Dated(value, NOW) for name, value in result.items()})


def metrics(*rows: tuple[str, str, str, float | None, bool | None]) -> ControllerMetrics:
    offerings = {OfferingName(t, z, usage): OfferingMetrics(price, available) for t, z, usage, price, available in rows}
    return ControllerMetrics(read_at_ns=NOW, endpoint="pod a/b", offerings=offerings)


KARPENTER = metrics(
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
        ((*ZONES, UNNAMED), OF_ANOTHER_ACCOUNT, ("use1-az4", "use1-az1"), {"us-east-1a", "us-east-1c"},
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
        market = live_market(REGION, ZONES, facts=facts(on_demand={"m5.large": 0.1}))
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
        market = live_market(REGION, ZONES, facts=facts(spot=spot, reservations=(reservation,)))
        assert market.spot_price_per_hour == {("m5.large", "us-east-1a"): 0.03}
        assert market.instances_left == {"cr-1": 3}

    def test_karpenters_prices_win(self) -> None:
        result = facts(on_demand={"m5.large": 0.1}, spot={"m5.large": {"use1-az4": 0.03}})
        market = live_market(REGION, ZONES, facts=result, metrics=KARPENTER)
        assert market.price("on-demand", "m5.large", "us-east-1a") == 0.111
        assert market.price("spot", "m5.large", "us-east-1a") == 0.04
        assert market.price("spot", "c5.large", "us-east-1b") is None
        assert market.on_demand.label == "us-east-1 list price of 2026-11-21"

    def test_unavailable_offerings_in_used_zones_are_sold_out_and_with_overlays_nothing_else_is_taken(self) -> None:
        for has_overlays in (False, True):
            market = live_market(REGION, ZONES, metrics=KARPENTER, has_overlays=has_overlays)
            assert set(market.sold_out) == {OfferingKey("spot", "m5.large", "us-east-1b")}
        assert market.price("on-demand", "m5.large", "us-east-1a") == 0.096
        assert market.spot_price_per_hour is None

    def test_equal_metrics_share_a_market(self) -> None:
        result = metrics(("m5.large", "us-east-1a", "on-demand", 0.1, True))
        newer = metrics(("m5.large", "us-east-1a", "on-demand", 0.2, True))
        first = live_market(REGION, ZONES, metrics=result)
        assert live_market(REGION, ZONES, metrics=newer).price("on-demand", "m5.large", "us-east-1a") == 0.2
        assert live_market(REGION, ZONES, metrics=result) is first
        a_minute_later = replace(result, read_at_ns=NOW + 60 * NS_PER_SECOND).after(result)
        assert live_market(REGION, ZONES, metrics=a_minute_later) is first
        a_day_later = replace(result, read_at_ns=NOW + 86_400 * NS_PER_SECOND)
        assert live_market(REGION, ZONES, metrics=a_day_later).on_demand.date == "2026-11-22"
        assert live_market(REGION, ZONES, metrics=result, has_overlays=True) is not first
        assert live_market(REGION, ZONES[:1], metrics=result) is not first

    @pytest.mark.parametrize("silent", [
        {},
        {"metrics": metrics()},
        {"metrics": metrics(("m5.large", "us-east-1a", "spot", 0.04, True))},
        {"facts": msgspec.structs.replace(facts(on_demand={"m5.large": 9.0}), region="eu-west-1")},
    ], ids=["nothing", "empty metrics", "spot alone", "another region"])  # fmt: skip
    def test_facts_without_on_demand_prices_of_the_region_leave_the_list(self, silent: dict[str, Any]) -> None:
        market = live_market(REGION, ZONES, **silent)
        assert market.price("on-demand", "m5.large", "us-east-1a") == 0.096


class TestPrices:
    def test_in_the_order_of_trust(self) -> None:
        result = facts(on_demand={"m5.large": 0.1, "c5.large": 0.2}, spot={"c5.large": {"use1-az4": 0.07}})
        only_m5 = metrics(("m5.large", "us-east-1a", "on-demand", 0.111, True))
        book = live_prices(REGION, ZONES, facts=result, metrics=only_m5)
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
