"""How each kind of fact is asked for and kept: how long it holds, what it belongs to, which permission it needs."""

from __future__ import annotations

import hashlib
import os
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
    """How long it is taken for true without asking again."""
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

PRICES: Final = frozenset({FactKind.ON_DEMAND_PRICES, FactKind.SPOT_PRICES})
"""What ``--disable-pricing`` does without."""

_IDENTITY_VARIABLES: Final = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_ROLE_ARN",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
)


def cache_name(kind: FactKind, region: str, profile: str) -> str:
    """Return the name under which a fact is kept.

    What belongs to an account is kept per way of logging in, of which the name holds a digest: without a network there
    is nobody to ask which account it is.
    """
    name = f"aws/{region}/{kind.replace(' ', '-')}"
    if not RULES[kind].is_of_account:
        return name
    parts = [profile, *(os.environ.get(variable, "") for variable in _IDENTITY_VARIABLES)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{name}-{digest[:16]}"
