"""What types are sold as, their labels and offerings: all of a type but how much of everything a node of it has."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from karptui.aws.compatibility import incompatibility
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.labels import PLACEMENT_GROUP_ID, PLACEMENT_GROUP_PARTITION, has_value, requirements
from karptui.aws.market import Market
from karptui.aws.nodeclass import Ec2NodeClass
from karptui.aws.offerings import offerings
from karptui.aws.placement import PlacementGroup
from karptui.karpenter.instance_type import Offering
from karptui.karpenter.settings import Settings
from karptui.kube.selectors import NodeSelectorRequirement

_MOST_KNOWN: Final = 8


class SoldAs(NamedTuple):
    """One type's."""

    requirements: tuple[NodeSelectorRequirement, ...]
    offerings: tuple[Offering, ...]


_known: Final[list[tuple[Any, tuple[SoldAs, ...]]]] = []
"""What the last inputs came to, and which these were."""


def sold_as(
    facts: tuple[InstanceTypeFacts, ...],
    nodeclass: Ec2NodeClass,
    settings: Settings,
    market: Market,
    placement_group: PlacementGroup | None,
) -> tuple[SoldAs, ...]:
    """Return labels and offerings of these types: the same objects where only what nodes hold or keep back changes.

    Args:
        facts: The types.
        nodeclass: Decides zones, operating system, reservations, and which types it rules out.
        settings: The gate ReservedCapacity counts.
        market: What the region sells, and at what price.
        placement_group: The NodeClass's, where it has one.
    """
    has_reserved_capacity = settings.gate("ReservedCapacity")
    inputs = (
        facts,
        nodeclass.family,
        nodeclass.zones,
        nodeclass.reservations,
        # Of the rest of the spec, these decide capacity and overhead alone.
        msgspec.structs.replace(
            nodeclass.spec, kubelet=None, block_device_mappings=None, instance_store_policy=None, user_data=None
        ),
        has_reserved_capacity,
        msgspec.structs.astuple(market),
        placement_group,
    )
    for known, found in tuple(_known):
        if known == inputs:
            return found
    found = tuple(
        _sold_as(one, nodeclass, market, placement_group, has_reserved_capacity=has_reserved_capacity) for one in facts
    )
    _known[:] = ((inputs, found), *_known[: _MOST_KNOWN - 1])
    return found


def _sold_as(
    facts: InstanceTypeFacts,
    nodeclass: Ec2NodeClass,
    market: Market,
    placement_group: PlacementGroup | None,
    *,
    has_reserved_capacity: bool,
) -> SoldAs:
    sold_in = market.zones_by_type.get(facts.name, frozenset())
    zones = [zone for zone in nodeclass.zones if zone.name in sold_in]
    reservations = nodeclass.reservations.get(facts.name, ())
    return SoldAs(
        requirements=(
            *requirements(facts, nodeclass.family, market.region, zones, reservations),
            *_placement_requirements(placement_group),
        ),
        offerings=offerings(
            facts,
            nodeclass,
            market,
            is_compatible=incompatibility(facts, nodeclass, placement_group) is None,
            has_reserved_capacity=has_reserved_capacity,
            placement_group=placement_group,
        ),
    )


def _placement_requirements(group: PlacementGroup | None) -> tuple[NodeSelectorRequirement, ...]:
    if group is None:
        return ()
    own = has_value(PLACEMENT_GROUP_ID, group.id)
    partitions = group.partition_names
    return (own, has_value(PLACEMENT_GROUP_PARTITION, *partitions)) if partitions else (own,)
