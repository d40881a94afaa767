"""The facts about a region and account: question, lifetime and shape of the answer, and their cache on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.region import AccountReservation, AccountSubnet, Dated, FactKind
from karptui.files import check_allowed, read_file, write_file

_MINUTE: Final = 60
_HOUR: Final = 3600


class KindRule(msgspec.Struct, frozen=True):
    """One kind of fact."""

    field: str
    """Of RegionFacts."""
    action: str
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


FORMAT: Final = 1
"""Version of the format: files of another version are ignored and fetched again."""

MOST_BYTES: Final = 64 << 20

T = TypeVar("T")


class _Envelope(msgspec.Struct):
    format: int
    as_of_ns: int
    value: msgspec.Raw


class FactCache:
    """A folder of facts; a file that cannot be read or written is as good as none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, name: str, shape: type[T] | Any) -> Dated[T] | None:
        """Return a fact; None if it is not in the cache or unreadable.

        Args:
            name: Such as ``us-east-1/spot-prices``.
        """
        try:
            envelope = msgspec.json.decode(read_file(self._path(name), MOST_BYTES), type=_Envelope)
            if envelope.format != FORMAT:
                return None
            return Dated(msgspec.json.decode(envelope.value, type=shape), envelope.as_of_ns)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def store(self, name: str, fact: Dated[Any]) -> None:
        """Keep a fact: whole or not at all, whoever else writes or reads it."""
        path = self._path(name)
        content = msgspec.json.encode(_Envelope(FORMAT, fact.as_of_ns, msgspec.Raw(msgspec.json.encode(fact.value))))
        with contextlib.suppress(OSError):
            check_allowed()
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_file(path, content, may_replace=True, is_private=True)

    def _path(self, name: str) -> Path:
        return self._folder.joinpath(*name.split("/")).with_suffix(".json")
