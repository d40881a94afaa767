from __future__ import annotations

from karptui.aws.evidence import Evidence, markets_of, offering_value, prices_of, table_from_types
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.place import NOWHERE, Place
from karptui.aws.prices import PriceSource
from karptui.karpenter.instance_type import InstanceType, Offering
from tests import builders

PLACE = Place("us-east-1", (SubnetZone("us-east-1a", "use1-az4"),))


def an_offering(zone: str, capacity_type: str, price: float) -> Offering:
    return Offering(
        requirements=(
            builders.a_requirement("topology.kubernetes.io/zone", "In", zone),
            builders.a_requirement("karpenter.sh/capacity-type", "In", capacity_type),
        ),
        price_per_hour=price,
    )


TYPES = (
    InstanceType(
        name="m5.large",
        requirements=(),
        capacity={},
        offerings=(
            an_offering("z-1", "on-demand", 0.5),
            an_offering("z-2", "on-demand", 0.5),
            an_offering("z-1", "spot", 0.2),
            an_offering("z-1", "reserved", 0.00000005),
        ),
    ),
    InstanceType(
        name="m5.xlarge",
        requirements=(),
        capacity={},
        offerings=(an_offering("z-1", "on-demand", 1.0), an_offering("z-2", "on-demand", 1.1)),
    ),
)


def test_a_snapshots_own_prices_come_first() -> None:
    book = prices_of(Evidence(instance_types=TYPES, taken_at_ns=builders.NOW_NS), PLACE)
    assert [origin.source for origin in book.origins] == [PriceSource.SNAPSHOT, PriceSource.BUILT_IN]
    price = book.price("m5.large", "z-9", "on-demand")
    assert price is not None
    assert (price.per_hour, price.origin.label) == (0.5, "snapshot, 2026-11-20 12:00 UTC")


def test_prices_of_types_by_zone() -> None:
    table = table_from_types(TYPES, "us-east-1", builders.NOW_NS)
    assert table.on_demand == {"m5.large": 0.5}
    assert table.per_hour("m5.xlarge", "z-2", "on-demand") == 1.1
    assert table.per_hour("m5.large", "z-1", "spot") == 0.2
    assert table.per_hour("m5.large", "z-2", "spot") is None
    assert table.per_hour("m5.large", "z-1", "reserved") is None


def test_off_aws_nothing_has_a_price() -> None:
    assert prices_of(Evidence(), NOWHERE).price("m5.large", "", "on-demand") is None


def test_the_market_of_a_region() -> None:
    market = markets_of(Evidence())("us-east-1", PLACE.zones)
    assert market.zones_by_type["m5.large"] == {"us-east-1a"}


def test_a_value_is_one_or_none() -> None:
    offering = Offering(requirements=(builders.a_requirement("k", "In", "a", "b"),), price_per_hour=1.0)
    assert offering_value(offering, "k") == ""
    assert offering_value(offering, "other") == ""
