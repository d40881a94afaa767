"""The built-in catalogue: complete, dated, small, and honest about what it does not know."""

from __future__ import annotations

from importlib import resources

import pytest

from karptui.aws.catalogue import instance_type_facts, price_list, region_zones, sources
from karptui.aws.facts import Gpu


def test_every_type_is_there_in_the_order_of_names() -> None:
    names = list(instance_type_facts())
    assert len(names) == 1392
    assert names == sorted(names)


def test_facts_of_a_type() -> None:
    facts = instance_type_facts()["p4d.24xlarge"]
    assert (facts.family, facts.size, facts.vcpus, facts.memory_mib) == ("p4d", "24xlarge", 96, 1_179_648)
    assert facts.card_enis == (15, 15, 15, 15)
    assert facts.gpus == (Gpu("NVIDIA", "A100", 8, 40_960),)
    assert (facts.efas, facts.branch_enis, facts.network_mbps, facts.store_gb) == (4, 62, 400_000, 8_000)
    assert facts.usage_classes == ("capacity-block", "on-demand", "spot")


def test_unknown_values_are_none() -> None:
    assert instance_type_facts()["m1.small"].network_mbps is None
    assert instance_type_facts()["c1.xlarge"].ebs_mbps is None
    assert instance_type_facts()["m5.large"].store_gb is None


def test_every_source_has_a_name_a_version_and_a_date() -> None:
    assert {source.what.split(" ")[0] for source in sources()} == {
        "instance",
        "GPUs",
        "EFA",
        "branch",
        "network",
        "zones",
        "on-demand",
    }
    assert all(source.name and source.version and source.date for source in sources())


def test_the_files_stay_small() -> None:
    folder = resources.files("karptui.aws").joinpath("data")
    assert sum(len(folder.joinpath(f"{name}.json.gz").read_bytes()) for name in ("types", "zones", "prices")) <= 30_000


def test_prices_are_labelled_with_region_and_date() -> None:
    own = price_list("us-east-1")
    assert own.price_per_hour["r5a.8xlarge"] == 1.808
    assert own.label == "us-east-1 list price of 2026-07-06"
    assert own.currency == "USD"


def test_a_region_without_a_list_gets_that_of_us_east_1_under_its_name() -> None:
    assert price_list("eu-west-1").region == "us-east-1"


@pytest.mark.parametrize(
    ("region", "currency", "count"),
    [
        ("us-east-1", "USD", 1361),
        ("us-gov-east-1", "USD", 503),
        ("us-gov-west-1", "USD", 724),
        ("cn-north-1", "CNY", 316),
    ],
)
def test_lists_of_prices(region: str, currency: str, count: int) -> None:
    prices = price_list(region)
    assert (prices.region, prices.currency, len(prices.price_per_hour)) == (region, currency, count)


def test_types_with_a_price_but_without_facts_keep_their_price() -> None:
    assert "p3.2xlarge" in price_list("us-east-1").price_per_hour
    assert "p3.2xlarge" not in instance_type_facts()


def test_zones_are_known_by_id() -> None:
    zones = region_zones("us-east-1")
    assert zones is not None
    assert len(zones.zone_ids) == 6
    assert zones.by_type["a1.medium"] == {"use1-az2", "use1-az4", "use1-az6"}
    assert zones.by_type["g4ad.xlarge"]  # from the older list: the newer one has lost it


def test_a_type_that_a_region_does_not_sell_is_missing() -> None:
    zones = region_zones("ap-southeast-5")
    assert zones is not None
    assert "a1.medium" not in zones.by_type
    assert len(zones.by_type) < 1392


def test_an_unknown_region_is_none() -> None:
    assert region_zones("us-gov-west-1") is None
