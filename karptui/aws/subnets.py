"""Free IPv4 addresses in the subnets of an EC2NodeClass."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from karptui.aws.evidence import Evidence
from karptui.aws.nodeclass import Subnet


class SubnetRoom(msgspec.Struct, frozen=True):
    """A subnet and its free addresses."""

    id: str
    zone: str
    free_addresses: int | None = None
    """From EC2's DescribeSubnets; None if EC2 was not queried, or does not have the subnet."""
    is_refused: bool = False
    """Whether EC2 refused a launch in the last three minutes because the subnet had no free address."""


def subnet_rooms(subnets: Iterable[Subnet], evidence: Evidence) -> tuple[SubnetRoom, ...]:
    """Return the subnets in an EC2NodeClass's status, which does not include the number of free addresses."""
    described = evidence.facts.subnets
    free = {subnet.id: subnet.free_addresses for subnet in described.value} if described is not None else {}
    return tuple(
        SubnetRoom(subnet.id, subnet.zone, free.get(subnet.id), subnet.id in evidence.refused.subnets)
        for subnet in subnets
    )
