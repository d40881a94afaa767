from __future__ import annotations

import json
from typing import Any

import pytest

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.region import AccountReservation
from karptui.kube.timestamps import parse_timestamp
from karptui.sources.aws import questions
from karptui.sources.aws.calls import Caller
from karptui.sources.aws.clients import AwsClients
from karptui.sources.aws.questions import on_demand_prices, pricing_region
from karptui.sources.aws.trouble import AwsError, Trouble

from .conftest import REGION, FakeAws

NOW = parse_timestamp("2026-11-21T10:05:30Z")
TYPES = ("r5a.8xlarge", "m8g.large", "c7i-flex.large", "p5.48xlarge", "inf2.xlarge", "i4i.metal")


@pytest.fixture
def types_of_some_families(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Reduce moto's types to one per fifth family, one per Mac family, and TYPES; return the families.

    Listing all thousand types takes moto ten seconds.
    """
    from moto.ec2.models.instance_types import InstanceTypeBackend

    by_family = {item["InstanceType"].partition(".")[0]: item for item in InstanceTypeBackend.instance_types}
    named = [item for item in InstanceTypeBackend.instance_types if item.get("InstanceType") in TYPES]
    macs = [item for family, item in by_family.items() if family.startswith("mac")]
    chosen = (*[*by_family.values()][::5], *macs, *named)
    left = {instance_type.get("InstanceType"): instance_type for instance_type in chosen}
    monkeypatch.setattr(InstanceTypeBackend, "instance_types", list(left.values()))
    return {str(name).partition(".")[0] for name in left}


@pytest.fixture
def few_offerings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce moto's offerings to every fiftieth and those of m5.large; listing all takes it seconds."""
    from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS

    for by_region in INSTANCE_TYPE_OFFERINGS.values():
        offerings = by_region[REGION]
        left = [offering for offering in offerings if offering["InstanceType"] == "m5.large"]
        monkeypatch.setitem(by_region, REGION, offerings[::50] + left)


class TestMoto:
    def test_types_agree_with_catalogue(
        self, moto: AwsClients, caller: Caller, types_of_some_families: set[str]
    ) -> None:
        facts = questions.instance_types(caller, moto.client("ec2", REGION))
        assert "mac2" in types_of_some_families
        assert len({name.partition(".")[0] for name in facts}) > 20
        assert all(name in instance_type_facts() for name in facts)
        assert {name for name in facts if name.startswith("mac")} == set()
        for name in TYPES:
            assert facts[name] == instance_type_facts()[name]

    def test_offerings_by_zone_id(self, moto: AwsClients, caller: Caller, few_offerings: None) -> None:
        zones = questions.zones_by_type(caller, moto.client("ec2", REGION))
        assert list(zones) == sorted(zones)
        assert "use1-az4" in zones["m5.large"]
        assert zones["m5.large"] == tuple(sorted(zones["m5.large"]))

    def test_subnets(self, moto: AwsClients, caller: Caller) -> None:
        subnets = questions.subnets(caller, moto.client("ec2", REGION))
        assert {(subnet.zone, subnet.zone_id) for subnet in subnets} >= {("us-east-1a", "use1-az6")}
        assert all(subnet.id.startswith("subnet-") and subnet.free_addresses > 0 for subnet in subnets)

    def test_spot_prices_have_the_accounts_zone_ids(
        self, moto: AwsClients, caller: Caller, few_offerings: None
    ) -> None:
        spot_prices = questions.spot_prices(caller, moto.client("ec2", REGION), now_ns=NOW)
        assert spot_prices["m5.large"]["use1-az6"] == 0.00001


TYPE = """<item><instanceType>m5.large</instanceType>
<supportedVirtualizationTypes><item>hvm</item></supportedVirtualizationTypes>
<supportedUsageClasses><item>on-demand</item></supportedUsageClasses>
<processorInfo><supportedArchitectures><item>{architecture}</item></supportedArchitectures></processorInfo>
<vCpuInfo><defaultVCpus>2</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>8192</sizeInMiB></memoryInfo>
<networkInfo>{network}<networkCards><item><networkCardIndex>0</networkCardIndex>
<maximumNetworkInterfaces>3</maximumNetworkInterfaces></item></networkCards></networkInfo></item>"""
ADDRESSES = "<ipv4AddressesPerInterface>10</ipv4AddressesPerInterface>"


class TestScripted:
    def test_instance_types_are_requested_with_karpenters_filters(
        self, session: AwsClients, caller: Caller, fake: FakeAws
    ) -> None:
        item = TYPE.format(architecture="x86_64", network=ADDRESSES)
        other = item.replace("m5.large", "z9.large")
        fake.xml("DescribeInstanceTypes", f"<instanceTypeSet>{item}{other}</instanceTypeSet>")
        facts = questions.instance_types(caller, session.client("ec2", REGION))
        assert facts["m5.large"].branch_enis == instance_type_facts()["m5.large"].branch_enis
        assert (facts["z9.large"].branch_enis, facts["z9.large"].network_mbps) == (0, None)
        (_, request) = fake.requests[-1]
        assert (request["Filter.1.Name"], request["Filter.1.Value.1"]) == ("supported-virtualization-type", "hvm")
        assert (request["Filter.2.Value.1"], request["Filter.2.Value.2"]) == ("arm64", "x86_64")

    def test_a_type_that_no_node_can_have_is_skipped(self, session: AwsClients, caller: Caller, fake: FakeAws) -> None:
        item = TYPE.format(architecture="i386", network=ADDRESSES)
        fake.xml("DescribeInstanceTypes", f"<instanceTypeSet>{item}</instanceTypeSet>")
        with pytest.raises(AwsError, match="ec2:DescribeInstanceTypes returned nothing"):
            questions.instance_types(caller, session.client("ec2", REGION))

    def test_a_type_that_cannot_be_read_is_named(self, session: AwsClients, caller: Caller, fake: FakeAws) -> None:
        item = TYPE.format(architecture="x86_64", network="")
        fake.xml("DescribeInstanceTypes", f"<instanceTypeSet>{item}</instanceTypeSet>")
        with pytest.raises(AwsError, match=r"returned an unreadable description of m5\.large") as caught:
            questions.instance_types(caller, session.client("ec2", REGION))
        assert caught.value.trouble is Trouble.OTHER

    def test_spot_prices_by_page(self, session: AwsClients, caller: Caller, fake: FakeAws) -> None:
        def price(zone_id: str, text: str, name: str = "m5.large") -> str:
            zone = f"<availabilityZoneId>{zone_id}</availabilityZoneId>" if zone_id else ""
            return f"<item><instanceType>{name}</instanceType>{zone}<spotPrice>{text}</spotPrice></item>"

        first = price("use1-az1", "0.0412") + price("use1-az2", "free") + price("use1-az3", "0") + price("", "0.5")
        second = price("use1-az1", "0.0413") + price("use1-az1", "2.5", "p5.xl")
        fake.xml(
            "DescribeSpotPriceHistory",
            f"<spotPriceHistorySet>{first}</spotPriceHistorySet><nextToken>t</nextToken>",
            f"<spotPriceHistorySet>{second}</spotPriceHistorySet>",
        )
        fake.xml("DescribeAvailabilityZones", "<availabilityZoneInfo/>")
        spot_prices = questions.spot_prices(caller, session.client("ec2", REGION), now_ns=NOW)
        assert spot_prices == {"m5.large": {"use1-az1": 0.0413}, "p5.xl": {"use1-az1": 2.5}}
        request = fake.requests[0][1]
        assert request["StartTime"] == "2026-11-21T10:05:30Z"
        assert {request["ProductDescription.1"], request["ProductDescription.2"]} == {
            "Linux/UNIX",
            "Linux/UNIX (Amazon VPC)",
        }

    def test_capacity_reservations(self, session: AwsClients, caller: Caller, fake: FakeAws) -> None:
        def item(name: str) -> str:
            return (
                f"<item><capacityReservationId>{name}</capacityReservationId><instanceType>p5.48xlarge</instanceType>"
                f"<availabilityZone>us-east-1a</availabilityZone><state>active</state>"
                f"<totalInstanceCount>4</totalInstanceCount><availableInstanceCount>1</availableInstanceCount></item>"
            )

        both = item("cr-2") + item("cr-1")
        fake.xml("DescribeCapacityReservations", f"<capacityReservationSet>{both}</capacityReservationSet>")
        first, second = questions.reservations(caller, session.client("ec2", REGION))
        assert first == AccountReservation("cr-1", "p5.48xlarge", "us-east-1a", "active", 4, 1)
        assert second.id == "cr-2"
        assert fake.requests[0][1]["Filter.1.Value.1"] == "active"


def product(name: str, *prices: str, currency: str = "USD") -> str:
    """Return a product as the Pricing API returns it: JSON in a string."""
    dimensions = {f"SKU.T.{n}": {"unit": "Hrs", "pricePerUnit": {currency: text}} for n, text in enumerate(prices)}
    document: Any = {
        "product": {"productFamily": "Compute Instance", "attributes": {"instanceType": name, "vcpu": "2"}, "sku": "S"},
        "serviceCode": "AmazonEC2",
        "terms": {"OnDemand": {"S.T": {"priceDimensions": dimensions, "sku": "S"}}, "Reserved": {}},
        "version": "20261112",
    }
    return json.dumps(document)


def prices(session: AwsClients, caller: Caller, region: str = REGION) -> dict[str, float]:
    return on_demand_prices(caller, session.client("pricing", pricing_region(region)), region)


def test_all_pages_of_both_questions(session: AwsClients, caller: Caller, fake: FakeAws) -> None:
    fake.json(
        "GetProducts",
        {"PriceList": [product("m5.large", "0.0960000000")], "NextToken": "t"},
        {"PriceList": [product("c5.large", "0.0850000000")]},
        {"PriceList": [product("m5.metal", "4.6080000000")]},
    )
    assert prices(session, caller) == {"c5.large": 0.085, "m5.large": 0.096, "m5.metal": 4.608}
    asked = [{item["Field"]: item["Value"] for item in request["Filters"]} for _, request in fake.requests]
    assert [(a["tenancy"], a["productFamily"]) for a in asked] == [
        ("Shared", "Compute Instance"),
        ("Shared", "Compute Instance"),
        ("Dedicated", "Compute Instance (bare metal)"),
    ]
    common = {"regionCode": REGION, "operatingSystem": "Linux", "preInstalledSw": "NA", "capacitystatus": "Used"}
    assert all(common.items() <= filters.items() for filters in asked)
    assert [request.get("NextToken") for _, request in fake.requests] == [None, "t", None]


NOTHING = [product("a", "0.0000000000"), product("b", "dear"), product("", "1"), product("c"), "{}"]


@pytest.mark.parametrize(("region", "listed", "expected"), [
    (REGION, [*NOTHING, product("d", "2")], {"d": 2.0}),
    ("cn-north-1", [product("m5.large", "0.9", currency="CNY"), product("c5.large", "0.1")], {"m5.large": 0.9}),
], ids=["dollars", "yuan"])  # fmt: skip
def test_products_without_a_price_in_the_regions_currency_are_skipped(
    session: AwsClients, caller: Caller, fake: FakeAws, *, region: str, listed: list[str], expected: dict[str, float]
) -> None:
    fake.json("GetProducts", {"PriceList": listed})
    assert prices(session, caller, region) == expected


@pytest.mark.parametrize(
    ("products", "sentence"),
    [([], "returned no price for us-east-1"), (['{"terms": []}'], "returned an unreadable product")],
    ids=["no price", "unreadable"],
)
def test_answers_without_prices_are_errors(
    session: AwsClients, caller: Caller, fake: FakeAws, products: list[str], sentence: str
) -> None:
    fake.json("GetProducts", {"PriceList": products})
    with pytest.raises(AwsError, match=f"pricing:GetProducts {sentence}"):
        prices(session, caller)


@pytest.mark.parametrize(("region", "endpoint"), [
    ("us-west-2", "us-east-1"),
    ("eu-west-1", "eu-central-1"),
    ("ap-southeast-2", "ap-south-1"),
    ("cn-north-1", "cn-northwest-1"),
    ("sa-east-1", "us-east-1"),
])  # fmt: skip
def test_the_pricing_endpoint_of_a_region(region: str, endpoint: str) -> None:
    assert pricing_region(region) == endpoint


def test_govcloud_has_none() -> None:
    with pytest.raises(AwsError, match="no Pricing API for GovCloud") as caught:
        pricing_region("us-gov-west-1")
    assert caught.value.trouble is Trouble.NOT_OFFERED
