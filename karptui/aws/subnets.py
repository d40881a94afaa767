"""The subnets of an EC2NodeClass with the IPv4 addresses that are left in them, as far as anybody says."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from karptui.aws.evidence import Evidence
from karptui.aws.nodeclass import Subnet


class SubnetRoom(msgspec.Struct, frozen=True):
    """One subnet."""

    id: str
    zone: str
    free_addresses: int | None = None
    """By EC2's DescribeSubnets; None if EC2 was not asked, or does not know the subnet."""
    is_refused: bool = False
    """Whether EC2 refused a launch in it within the last three minutes, because no address was free."""


def subnet_rooms(subnets: Iterable[Subnet], evidence: Evidence) -> tuple[SubnetRoom, ...]:
    """Return the subnets that an EC2NodeClass's status names; its status does not say how many addresses are free."""
    told = evidence.facts.subnets
    free = {one.id: one.free_addresses for one in told.value} if told is not None else {}
    return tuple(SubnetRoom(one.id, one.zone, free.get(one.id), one.id in evidence.refused.subnets) for one in subnets)
