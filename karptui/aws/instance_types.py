"""Instance types as the scheduler uses them: EC2's data combined with an EC2NodeClass, settings and a region's market.

Source: pkg/providers/instancetype/instancetype.go and types.go in Karpenter's AWS provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from karptui.aws.capacity import capacity
from karptui.aws.catalogue import instance_type_facts, with_provider_tables
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.kubelet import expressions, for_type
from karptui.aws.nodeclass import Ec2NodeClass, NodeClassError
from karptui.aws.offerings import PlacementGroup, SoldAs, sold_as
from karptui.aws.overhead import overhead
from karptui.aws.prices import Market
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
    """Return every instance type for a NodeClass; incompatible ones have only unavailable offerings.

    Args:
        nodeclass: Determines zones, operating system, disks and reserved resources.
        settings: VM_MEMORY_OVERHEAD_PERCENT, RESERVED_ENIS and the gate ReservedCapacity are used.
        discovered_memory_bytes: Memory reported by nodes, by type; see `karptui.aws.cluster_types`.
        before: Result for the same facts, NodeClass and settings with another market or other reports. Unchanged
            capacity, overhead and offerings are reused.

    Raises:
        NodeClassError: The NodeClass has no subnets, or a value that Karpenter rejects or crashes on.
    """
    if not nodeclass.zones:
        raise NodeClassError(f"{EC2_KIND} {nodeclass.name}: status.subnets is empty: Karpenter finds no instance types")
    catalogue = instance_type_facts().values() if facts is None else facts
    chosen = with_provider_tables(catalogue, settings.rules.provider_tables)
    held = _types_of_class(chosen, nodeclass, settings, discovered_memory_bytes, before)
    sold_before = tuple(SoldAs(old.requirements, old.offerings) for old in before.types) if before is not None else ()
    sold_as_of_each = sold_as(chosen, nodeclass, settings, market, placement_group, before=sold_before)
    return tuple(
        InstanceType(
            name=type_facts.name,
            requirements=sold.requirements,
            capacity=amounts,
            overhead=reserved,
            offerings=sold.offerings,
        )
        for type_facts, (amounts, reserved), sold in zip(chosen, held, sold_as_of_each, strict=True)
    )


class Resolved(NamedTuple):
    """An earlier result."""

    types: tuple[InstanceType, ...]
    discovered_memory_bytes: Mapping[str, int]


_Held: TypeAlias = tuple[Mapping[str, Quantity], Overhead]
"""Capacity and overhead of a node."""


def _types_of_class(
    facts: Iterable[InstanceTypeFacts],
    nodeclass: Ec2NodeClass,
    settings: Settings,
    discovered_memory_bytes: Mapping[str, int],
    before: Resolved | None,
) -> Iterable[_Held]:
    has_expressions = settings.rules.evaluates_kubelet and bool(expressions(nodeclass.kubelet))
    previous = {old.name: old for old in before.types} if before is not None else {}
    reported_before = before.discovered_memory_bytes if before is not None else _NOTHING
    for type_facts in facts:
        reported, old = discovered_memory_bytes.get(type_facts.name), previous.get(type_facts.name)
        if old is not None and reported == reported_before.get(type_facts.name):
            yield old.capacity, old.overhead
            continue
        nodeclass_for_type = for_type(type_facts, nodeclass, settings) if has_expressions else nodeclass
        amounts = capacity(type_facts, nodeclass_for_type, settings)
        reserved = overhead(type_facts, nodeclass_for_type, amounts)
        if reported is not None:
            amounts[MEMORY] = of_units(reported, QuantityFormat.BINARY_SI)
        yield amounts, reserved


def allocatable(instance_type: InstanceType) -> dict[str, Quantity]:
    """Return a node's allocatable resources; exact, and negative if more is reserved than exists."""
    reserved = instance_type.overhead
    return subtract(
        instance_type.capacity, add(reserved.kube_reserved, reserved.system_reserved, reserved.eviction_threshold)
    )
