from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.aws.nodeclass import SubnetZone
from karptui.aws.prices import built_in_market, region_of
from tests.aws.builders import ZONES, a_market


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("us-east-1a", "us-east-1"),
        ("us-gov-west-1b", "us-gov-west-1"),
        ("us-east-1-bos-1a", "us-east-1"),
        ("ap-southeast-5c", "ap-southeast-5"),
        ("zone-a", ""),
        ("", ""),
    ],
)
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
