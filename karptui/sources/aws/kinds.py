"""The facts about a region and account: question, lifetime of the answer, and shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.region import AccountReservation, AccountSubnet, FactKind

_MINUTE: Final = 60
_HOUR: Final = 3600


class KindRule(msgspec.Struct, frozen=True):
    """One kind of fact."""

    field: str
    """Of RegionFacts."""
    action: str
    """The IAM action."""
    holds_seconds: int
    """Lifetime of the answer in seconds."""
    shape: Any
    """Type of the value, for msgspec."""
    is_of_account: bool = False
    """Whether another account would get another answer."""


RULES: Final[Mapping[FactKind, KindRule]] = {
    # Karpenter asks for the first three every 12 hours (pkg/controllers/providers).
    FactKind.INSTANCE_TYPES: KindRule(
        "instance_types", "ec2:DescribeInstanceTypes", 12 * _HOUR, dict[str, InstanceTypeFacts]
    ),
    FactKind.OFFERINGS: KindRule(
        "zone_ids_by_type", "ec2:DescribeInstanceTypeOfferings", 12 * _HOUR, dict[str, tuple[str, ...]]
    ),
    FactKind.ON_DEMAND_PRICES: KindRule("on_demand", "pricing:GetProducts", 12 * _HOUR, dict[str, float]),
    FactKind.SPOT_PRICES: KindRule("spot", "ec2:DescribeSpotPriceHistory", 30 * _MINUTE, dict[str, dict[str, float]]),
    FactKind.ZONES: KindRule(
        "zones", "ec2:DescribeAvailabilityZones", 24 * _HOUR, tuple[SubnetZone, ...], is_of_account=True
    ),
    FactKind.SUBNETS: KindRule(
        "subnets", "ec2:DescribeSubnets", 10 * _MINUTE, tuple[AccountSubnet, ...], is_of_account=True
    ),
    FactKind.RESERVATIONS: KindRule(
        "reservations",
        "ec2:DescribeCapacityReservations",
        5 * _MINUTE,
        tuple[AccountReservation, ...],
        is_of_account=True,
    ),
}
