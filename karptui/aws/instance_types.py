"""Instance types as the scheduler gets them: EC2's facts seen through an EC2NodeClass, settings and a region's market.

Source: pkg/providers/instancetype/instancetype.go and types.go of Karpenter's AWS provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from karptui.aws.capacity import capacity
from karptui.aws.catalogue import as_tables_say, instance_type_facts
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.kubelet import expressions, for_type
from karptui.aws.market import Market
from karptui.aws.nodeclass import Ec2NodeClass, NodeClassError
from karptui.aws.offerings import PlacementGroup, SoldAs, incompatibility, sold_as
from karptui.aws.overhead import overhead
from karptui.karpenter.instance_type import InstanceType, Overhead
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.karpenter.settings import Settings
from karptui.kube.quantity import Quantity, QuantityFormat, of_units
from karptui.kube.resources import MEMORY, add, subtract

_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


def instance_types(
    nodeclass: Ec2NodeClass,
    settings: Settings,
    market: Market,
    *,
    facts: Iterable[InstanceTypeFacts] | None = None,
    placement_group: PlacementGroup | None = None,
    discovered_memory_bytes: Mapping[str, int] = _NOTHING,
    before: Resolved | None = None,
) -> tuple[InstanceType, ...]:
    """Return every instance type for a NodeClass; unsuitable ones carry only unavailable offerings.

    Args:
        nodeclass: Decides zones, operating system, disks and what the kubelet keeps back.
        settings: VM_MEMORY_OVERHEAD_PERCENT, RESERVED_ENIS and the gate ReservedCapacity count.
        market: What the region sells, and at what price.
        facts: The types to resolve; the whole built-in catalogue by default.
        placement_group: The NodeClass's placement group, where it has one.
        discovered_memory_bytes: Memory that nodes of a type have reported, by type; see `karptui.aws.observed`.
        before: What the same facts, NodeClass and settings came to with another market or other reports: what types
            hold and keep back is taken over from it where nothing was reported anew, and what they are sold as where
            that is as it was.

    Raises:
        NodeClassError: The NodeClass has no subnets, or a value that Karpenter refuses or crashes on.
    """
    if not nodeclass.zones:
        raise NodeClassError(f"{EC2_KIND} {nodeclass.name}: status.subnets is empty: Karpenter finds no instance types")
    known = instance_type_facts().values() if facts is None else facts
    chosen = as_tables_say(known, settings.rules.provider_tables)
    held = _held(chosen, nodeclass, settings, discovered_memory_bytes, before)
    sold_before = tuple(SoldAs(one.requirements, one.offerings) for one in before.types) if before is not None else ()
    sold_as_of_each = sold_as(chosen, nodeclass, settings, market, placement_group, before=sold_before)
    return tuple(
        InstanceType(
            name=one.name,
            requirements=sold.requirements,
            capacity=amounts,
            overhead=kept,
            offerings=sold.offerings,
        )
        for one, (amounts, kept), sold in zip(chosen, held, sold_as_of_each, strict=True)
    )


class Resolved(NamedTuple):
    """What was worked out before."""

    types: tuple[InstanceType, ...]
    discovered_memory_bytes: Mapping[str, int]


_Held: TypeAlias = tuple[Mapping[str, Quantity], Overhead]
"""What a node has, and what of it is kept back."""


def _held(
    facts: Iterable[InstanceTypeFacts],
    nodeclass: Ec2NodeClass,
    settings: Settings,
    discovered_memory_bytes: Mapping[str, int],
    before: Resolved | None,
) -> Iterable[_Held]:
    has_expressions = settings.rules.evaluates_kubelet and bool(expressions(nodeclass.kubelet))
    known = {one.name: one for one in before.types} if before is not None else {}
    reported_before = before.discovered_memory_bytes if before is not None else _NOTHING
    for one in facts:
        reported, was = discovered_memory_bytes.get(one.name), known.get(one.name)
        if was is not None and reported == reported_before.get(one.name):
            yield was.capacity, was.overhead
            continue
        own = for_type(one, nodeclass, settings) if has_expressions else nodeclass
        amounts = capacity(one, own, settings)
        kept = overhead(one, own, amounts)
        if reported is not None:
            amounts[MEMORY] = of_units(reported, QuantityFormat.BINARY_SI)
        yield amounts, kept


def incompatible_types(
    nodeclass: Ec2NodeClass,
    facts: Iterable[InstanceTypeFacts] | None = None,
    placement_group: PlacementGroup | None = None,
) -> dict[str, str]:
    """Return the types that a NodeClass rules out, and why."""
    chosen = instance_type_facts().values() if facts is None else facts
    reasons = ((one.name, incompatibility(one, nodeclass, placement_group)) for one in chosen)
    return {name: reason for name, reason in reasons if reason is not None}


def allocatable(instance_type: InstanceType) -> dict[str, Quantity]:
    """Return what pods may request of a node: exact, and below zero where more is kept back than there is."""
    kept = instance_type.overhead
    return subtract(instance_type.capacity, add(kept.kube_reserved, kept.system_reserved, kept.eviction_threshold))
