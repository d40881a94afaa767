"""Questions to EC2, STS and Pricing, which raise `AwsError`; importing this module imports boto3.

On-demand list prices have the same queries as Karpenter. Source: pkg/providers/pricing/pricing.go of Karpenter's AWS
provider.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, assert_never

import msgspec

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.facts import SUPPORTED_ARCHITECTURES, InstanceTypeFacts, facts_from_ec2, is_usable
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.prices import currency_of
from karptui.aws.region import AccountReservation, AccountSubnet, FactKind
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.aws.calls import Caller, Wait
from karptui.sources.aws.clients import AwsClients
from karptui.sources.aws.facts import RULES
from karptui.sources.aws.trouble import AwsError, Trouble

_PRODUCTS: Final = RULES[FactKind.ON_DEMAND_PRICES].action
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
        fields = {"regionCode": region, **_COMMON, **question}
        filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in fields.items()]
        for text in caller.items(
            _PRODUCTS, pricing.get_products, "PriceList", ServiceCode="AmazonEC2", Filters=filters, MaxResults=100
        ):
            prices.update(_price_of(text, currency))
    if not prices:
        raise AwsError(Trouble.OTHER, f"{_PRODUCTS} returned no price for {region}")
    return dict(sorted(prices.items()))


def _price_of(text: str, currency: str) -> dict[str, float]:
    """Return the price of one product; empty if it has none, as for types that are only reserved."""
    try:
        item = _ITEM.decode(text)
    except msgspec.DecodeError as error:
        raise AwsError(Trouble.OTHER, f"{_PRODUCTS} returned an unreadable product: {error}") from error
    results: dict[str, float] = {}
    for term in item.terms.on_demand.values():
        for dimension in term.price_dimensions.values():
            try:
                price = float(dimension.price_per_unit.get(currency, ""))
            except ValueError:
                continue
            if item.product.attributes.instance_type and price > 0 and math.isfinite(price):
                results[item.product.attributes.instance_type] = price
    return results


SPOT_PRODUCTS: Final = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")


def account(caller: Caller, sts: Any) -> str:
    """Return the account of the credentials; needs no permission."""
    return str(caller.call("sts:GetCallerIdentity", sts.get_caller_identity).get("Account", ""))


def instance_types(caller: Caller, ec2: Any) -> dict[str, InstanceTypeFacts]:
    """Return the region's types by name. Rule: pkg/providers/instancetype/instancetype.go.

    Fields that EC2 omits (network baseline, branch interfaces, Windows addresses) come from the catalogue if it has
    them.

    Raises:
        AwsError: if EC2 does not answer as documented.
    """
    action = RULES[FactKind.INSTANCE_TYPES].action
    built_in = instance_type_facts()
    facts: dict[str, InstanceTypeFacts] = {}
    filters = [
        {"Name": "supported-virtualization-type", "Values": ["hvm"]},
        {"Name": "processor-info.supported-architecture", "Values": sorted(SUPPORTED_ARCHITECTURES)},
    ]
    for info in caller.items(action, ec2.describe_instance_types, "InstanceTypes", Filters=filters, MaxResults=100):
        try:
            name = info["InstanceType"]
            if not is_usable(info):
                continue
            type_facts = built_in.get(name)
            facts[name] = facts_from_ec2(
                info,
                network_mbps=type_facts.network_mbps if type_facts is not None else None,
                branch_enis=type_facts.branch_enis if type_facts is not None else 0,
                windows_ipv4=type_facts.windows_ipv4 if type_facts is not None else 0,
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise _unreadable(action, info.get("InstanceType", "?"), error) from error
    return _some(action, facts)


def zones_by_type(caller: Caller, ec2: Any) -> dict[str, tuple[str, ...]]:
    """Return the ids of the zones that offer each type."""
    action = RULES[FactKind.OFFERINGS].action
    by_type: dict[str, set[str]] = {}
    offerings = caller.items(
        action,
        ec2.describe_instance_type_offerings,
        "InstanceTypeOfferings",
        LocationType="availability-zone-id",
        MaxResults=1000,
    )
    for offering in offerings:
        by_type.setdefault(offering["InstanceType"], set()).add(offering["Location"])
    return _some(action, {name: tuple(sorted(ids)) for name, ids in sorted(by_type.items())})


def zones(caller: Caller, ec2: Any) -> tuple[SubnetZone, ...]:
    """Return the account's zones, opted-in Local Zones included, by name."""
    answer = caller.call(RULES[FactKind.ZONES].action, ec2.describe_availability_zones)
    named = (SubnetZone(zone["ZoneName"], zone["ZoneId"]) for zone in answer.get("AvailabilityZones") or ())
    return tuple(sorted(named, key=lambda zone: zone.name))


def spot_prices(caller: Caller, ec2: Any, *, now_ns: int) -> dict[str, dict[str, float]]:
    """Return the current spot price of Linux by type and zone id. Rule: pkg/providers/pricing/pricing.go."""
    ids: Mapping[str, str] | None = None
    prices: dict[str, dict[str, float]] = {}
    history = caller.items(
        RULES[FactKind.SPOT_PRICES].action,
        ec2.describe_spot_price_history,
        "SpotPriceHistory",
        ProductDescriptions=list(SPOT_PRODUCTS),
        # History from this moment on is the price that holds now.
        StartTime=datetime.fromtimestamp(now_ns / NS_PER_SECOND, UTC),
        MaxResults=1000,
    )
    for entry in history:
        zone_id = entry.get("AvailabilityZoneId") or ""
        if not zone_id:
            ids = {zone.name: zone.zone_id for zone in zones(caller, ec2)} if ids is None else ids
            zone_id = ids.get(entry.get("AvailabilityZone", ""), "")
        price = _number(entry.get("SpotPrice"))
        if zone_id and price is not None:
            prices.setdefault(entry["InstanceType"], {})[zone_id] = price
    return prices


def subnets(caller: Caller, ec2: Any) -> tuple[AccountSubnet, ...]:
    """Return the account's subnets in the region, by id."""
    items = caller.items(RULES[FactKind.SUBNETS].action, ec2.describe_subnets, "Subnets", MaxResults=1000)
    return tuple(
        sorted(
            (
                AccountSubnet(
                    subnet["SubnetId"],
                    subnet.get("AvailabilityZone", ""),
                    subnet.get("AvailabilityZoneId", ""),
                    int(subnet.get("AvailableIpAddressCount", 0)),
                )
                for subnet in items
            ),
            key=lambda subnet: subnet.id,
        )
    )


def reservations(caller: Caller, ec2: Any) -> tuple[AccountReservation, ...]:
    """Return the active capacity reservations that the account may use, by id."""
    items = caller.items(
        RULES[FactKind.RESERVATIONS].action,
        ec2.describe_capacity_reservations,
        "CapacityReservations",
        Filters=[{"Name": "state", "Values": ["active"]}],
        MaxResults=1000,
    )
    return tuple(
        sorted(
            (
                AccountReservation(
                    id=reservation["CapacityReservationId"],
                    instance_type=reservation.get("InstanceType", ""),
                    zone=reservation.get("AvailabilityZone", ""),
                    state=reservation.get("State", ""),
                    total_instances=int(reservation.get("TotalInstanceCount", 0)),
                    instances_left=int(reservation.get("AvailableInstanceCount", 0)),
                )
                for reservation in items
            ),
            key=lambda reservation: reservation.id,
        )
    )


def _number(text: object) -> float | None:
    try:
        price = float(str(text))
    except ValueError:
        return None
    return price if math.isfinite(price) and price > 0 else None


def _some(action: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that cannot rightly be empty."""
    if not document:
        raise AwsError(Trouble.OTHER, f"{action} returned nothing")
    return document


def _unreadable(action: str, name: str, error: Exception) -> AwsError:
    return AwsError(Trouble.OTHER, f"{action} returned an unreadable description of {name}: {error!r}")


class Questions:
    """One conversation with AWS under one set of credentials."""

    def __init__(self, clients: AwsClients, *, now_ns: Callable[[], int], wait: Wait | None = None) -> None:
        self._clients = clients
        self._caller = Caller(wait=wait, profile=clients.profile)
        self._now_ns = now_ns

    def region(self) -> str:
        """Return the configured region, empty for none."""
        return self._clients.region()

    def account(self, region: str) -> str:
        """Return the account of the credentials."""
        return account(self._caller, self._clients.client("sts", region))

    def close(self) -> None:
        """Close connections."""
        self._clients.close()

    def ask(self, kind: FactKind, region: str) -> Any:
        """Return the value of a fact, of the type in `RULES`."""
        try:
            return self._ask(kind, region)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            sentence = f"{RULES[kind].action} returned an unreadable answer: {error!r}"
            raise AwsError(Trouble.OTHER, sentence) from error

    def _ask(self, kind: FactKind, region: str) -> Any:
        if kind is FactKind.ON_DEMAND_PRICES:
            client = self._clients.client("pricing", pricing_region(region))
            return on_demand_prices(self._caller, client, region)
        client = self._clients.client("ec2", region)
        match kind:
            case FactKind.INSTANCE_TYPES:
                return instance_types(self._caller, client)
            case FactKind.OFFERINGS:
                return zones_by_type(self._caller, client)
            case FactKind.SPOT_PRICES:
                return spot_prices(self._caller, client, now_ns=self._now_ns())
            case FactKind.ZONES:
                return zones(self._caller, client)
            case FactKind.SUBNETS:
                return subnets(self._caller, client)
            case FactKind.RESERVATIONS:
                return reservations(self._caller, client)
            case _:
                assert_never(kind)
