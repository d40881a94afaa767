from __future__ import annotations

import json
from typing import Any

import pytest

from karptui.sources.aws.calls import Caller
from karptui.sources.aws.clients import AwsClients
from karptui.sources.aws.questions import on_demand_prices, pricing_region
from karptui.sources.aws.trouble import AwsError, Trouble

from .conftest import REGION, FakeAws


def product(name: str, *prices: str, currency: str = "USD") -> str:
    """Return a product as the Pricing API gives it: a document inside a string."""
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
def test_what_has_no_price_in_the_currency_of_the_region_is_left_out(
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
def test_the_endpoint_that_answers_for_a_region(region: str, endpoint: str) -> None:
    assert pricing_region(region) == endpoint


def test_govcloud_has_none() -> None:
    with pytest.raises(AwsError, match="no Pricing API for GovCloud") as caught:
        pricing_region("us-gov-west-1")
    assert caught.value.trouble is Trouble.NOT_OFFERED
