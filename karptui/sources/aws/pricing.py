"""On-demand list prices from the AWS Pricing API, with the same queries as Karpenter.

Source: pkg/providers/pricing/pricing.go of Karpenter's AWS provider.
"""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

from karptui.aws.prices import currency_of
from karptui.sources.aws.calls import Caller
from karptui.sources.aws.trouble import AwsError, Trouble

ACTION: Final = "pricing:GetProducts"
_COMMON: Final = {
    "serviceCode": "AmazonEC2",
    "preInstalledSw": "NA",
    "operatingSystem": "Linux",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}
_QUESTIONS: Final = (
    {"tenancy": "Shared", "productFamily": "Compute Instance"},
    {"tenancy": "Dedicated", "productFamily": "Compute Instance (bare metal)"},
)


class _Attributes(msgspec.Struct, rename="camel"):
    instance_type: str = ""


class _Product(msgspec.Struct):
    attributes: _Attributes = msgspec.field(default_factory=_Attributes)


class _Dimension(msgspec.Struct, rename="camel"):
    price_per_unit: dict[str, str] = {}


class _Term(msgspec.Struct, rename="camel"):
    price_dimensions: dict[str, _Dimension] = {}


class _Terms(msgspec.Struct, rename="pascal"):
    on_demand: dict[str, _Term] = {}


class _Item(msgspec.Struct):
    product: _Product = msgspec.field(default_factory=_Product)
    terms: _Terms = msgspec.field(default_factory=_Terms)


_ITEM: Final = msgspec.json.Decoder(_Item)


def pricing_region(region: str) -> str:
    """Return the region whose Pricing endpoint answers for a region.

    Raises:
        AwsError: in GovCloud, which has none.
    """
    if region.startswith("us-gov"):
        raise AwsError(Trouble.NOT_OFFERED, "there is no Pricing API for GovCloud")
    for prefix, endpoint in (("ap-", "ap-south-1"), ("cn-", "cn-northwest-1"), ("eu-", "eu-central-1")):
        if region.startswith(prefix):
            return endpoint
    return "us-east-1"


def on_demand_prices(caller: Caller, pricing: Any, region: str) -> dict[str, float]:
    """Return the list price per hour by instance type: Linux, shared tenancy, bare metal included.

    Raises:
        AwsError: when the API does not answer, or returned no price for the region.
    """
    currency = currency_of(region)
    prices: dict[str, float] = {}
    for question in _QUESTIONS:
        wanted = {"regionCode": region, **_COMMON, **question}
        filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
        for text in caller.items(
            ACTION, pricing.get_products, "PriceList", ServiceCode="AmazonEC2", Filters=filters, MaxResults=100
        ):
            prices.update(_price_of(text, currency))
    if not prices:
        raise AwsError(Trouble.OTHER, f"{ACTION} returned no price for {region}")
    return dict(sorted(prices.items()))


def _price_of(text: str, currency: str) -> dict[str, float]:
    """Return the price of one product; empty if it has none, as for types that are only reserved."""
    try:
        item = _ITEM.decode(text)
    except msgspec.DecodeError as error:
        raise AwsError(Trouble.OTHER, f"{ACTION} returned an unreadable product: {error}") from error
    found: dict[str, float] = {}
    for term in item.terms.on_demand.values():
        for dimension in term.price_dimensions.values():
            try:
                price = float(dimension.price_per_unit.get(currency, ""))
            except ValueError:
                continue
            if item.product.attributes.instance_type and price > 0 and math.isfinite(price):
                found[item.product.attributes.instance_type] = price
    return found
