from __future__ import annotations

from karptui.aws.catalogue import instance_type_facts, price_list, region_zones, sources


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


def test_a_region_without_a_list_gets_that_of_us_east_1_under_its_name() -> None:
    assert price_list("eu-west-1").region == "us-east-1"


def test_types_with_a_price_but_without_facts_keep_their_price() -> None:
    assert "p3.2xlarge" in price_list("us-east-1").price_per_hour
    assert "p3.2xlarge" not in instance_type_facts()


def test_zones_are_known_by_id() -> None:
    zones = region_zones("us-east-1")
    assert zones is not None
    assert len(zones.zone_ids) == 6
    assert zones.by_type["a1.medium"] == {"use1-az2", "use1-az4", "use1-az6"}
    assert zones.by_type["g4ad.xlarge"]  # from the older list: the newer one has lost it
