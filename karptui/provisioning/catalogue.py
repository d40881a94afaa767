"""Instance types as bit sets: type *i* is bit *i*, so filtering all types takes a few integer operations.

Rules: ``pkg/cloudprovider/types.go`` and the filter in ``pkg/controllers/provisioning/scheduling/nodeclaim.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.karpenter.labels import WELL_KNOWN
from karptui.karpenter.requirements import Requirement, Requirements
from karptui.karpenter.rules import NEWEST, Rules
from karptui.kube import resources
from karptui.kube.recent import Recent
from karptui.kube.resources import HUGEPAGES_PREFIX, MEMORY
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.provisioning.amounts import AmountIndex
from karptui.provisioning.type_index import TypeIndex


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits, ascending."""
    digits = bin(mask)[:1:-1]
    position = digits.find("1")
    while position >= 0:
        yield position
        position = digits.find("1", position + 1)


class Catalogue:
    """A list of instance types with its indexes; masks are integers with a bit per type.

    Args:
        index: Index of its labels and offerings, if available from a list that differs only in capacity.
    """

    def __init__(self, types: Sequence[InstanceType], index: TypeIndex | None = None, rules: Rules = NEWEST) -> None:
        self.types = tuple(types)
        self.rules = rules
        self.index = index = TypeIndex(self.types, rules=rules) if index is None else index
        self.everything = index.labels.everything
        self.keys = index.labels.keys
        self.row_types = [i for i, _ in index.overrides]
        """Type of each row after the first ``len(types)``, for offerings that change allocatable."""
        self.reservation_capacity = index.reservation_capacity
        self.offering_kinds = index.offering_kinds
        self.reserved_kinds = index.reserved_kinds
        self.offering_keys = index.offering_keys
        self.has_custom_offering_keys = not self.offering_keys <= WELL_KNOWN
        self.negative_keys = index.labels.negative_keys
        self.volume_limits = tuple(
            (1 << i, instance_type.volume_limits)
            for i, instance_type in enumerate(self.types)
            if rules.types_limit_volumes and instance_type.volume_limits
        )
        """Types that limit attached volumes, each with its limits by driver."""
        rows = [allocatable_nano(instance_type) for instance_type in self.types]
        rows += [allocatable_nano(self.types[i], offering, rules) for i, offering in index.overrides]
        self.usable_rows = sum(1 << i for i, amounts in enumerate(rows) if min(amounts.values(), default=0) >= 0)
        """Rows without negative allocatable; nothing fits on the others."""
        self.allocatable = _indexes(rows)
        self.capacity = _indexes(
            {name: amount.nano for name, amount in instance_type.capacity.items()} for instance_type in self.types
        )

    def __len__(self) -> int:
        return len(self.types)

    def requirements_of(self, selectors: tuple[NodeSelectorRequirement, ...]) -> Requirements:
        """Return the requirements of an offering; equal ones are the same object."""
        return self.index.requirements_of(selectors)

    def meeting(self, requirement: Requirement) -> int:
        """Return the types compatible with a requirement, ignoring ``minValues``."""
        return self.index.labels.meeting(requirement)

    def compatible(self, requirements: Iterable[Requirement]) -> int:
        """Return the types compatible with all of these requirements."""
        mask, meeting = self.everything, self.index.labels.meeting
        for requirement in requirements:
            mask &= meeting(requirement)
        return mask

    def offering_rows(self, requirements: Requirements) -> int:
        """Return the rows with an available offering that the requirements allow."""
        rows, allowed = 0, self.index.allowed(requirements)
        for i, kind in enumerate(self.offering_kinds):
            if allowed >> i & 1:
                rows |= kind.rows
        return rows

    def fitting_rows(self, needs_nano: Iterable[tuple[str, int]]) -> int:
        """Return the rows with enough allocatable for these amounts."""
        rows = self.usable_rows
        for name, amount in needs_nano:
            if amount > 0:
                amount_index = self.allocatable.get(name)
                rows &= amount_index.at_least(amount) if amount_index is not None else 0
        return rows

    def allocatable_of(self, i: int) -> dict[str, int]:
        """Return the allocatable of a type in nano-units, without changes by its offerings."""
        return allocatable_nano(self.types[i])

    def types_of_rows(self, rows: int) -> int:
        """Return the types that have any of these rows."""
        if not self.row_types:
            return rows
        mask = rows & self.everything
        for row in bits((rows & ~self.everything) >> len(self.types)):
            mask |= 1 << self.row_types[row]
        return mask

    def prices(self, requirements: Requirements) -> Sequence[float]:
        """Return for each type the lowest price per hour of an available offering that the requirements allow."""
        return self.index.price_order(requirements).prices

    def within_limits(self, remaining_nano: Iterable[tuple[str, int]]) -> int:
        """Return the types whose capacity is within a NodePool's remaining limits."""
        mask = self.everything
        for name, amount in remaining_nano:
            amount_index = self.capacity.get(name)
            if amount < 0:
                return 0
            if amount_index is not None:
                mask &= ~amount_index.at_least(amount + 1)
        return mask


def _indexes(rows: Iterable[Mapping[str, int]]) -> dict[str, AmountIndex]:
    by_resource: dict[str, dict[int, int]] = {}
    for i, amounts in enumerate(rows):
        bit = 1 << i
        for name, amount in amounts.items():
            masks = by_resource.setdefault(name, {})
            masks[amount] = masks.get(amount, 0) | bit
    return {name: AmountIndex(masks) for name, masks in by_resource.items()}


_cache: Final[Recent[tuple[tuple[InstanceType, ...], Rules], Catalogue]] = Recent(most=16, patience=256)
"""Indexed lists; those no longer used are dropped."""


def catalogue_of(types: tuple[InstanceType, ...], rules: Rules = NEWEST) -> Catalogue:
    """Return an indexed list of types, cached between runs.

    Lists that differ only in capacity share the index of labels and offerings; lists that differ only in offerings
    share the index of labels.
    """
    return _cache.get((types, rules), lambda: _catalogue(types, rules))


def _catalogue(types: tuple[InstanceType, ...], rules: Rules) -> Catalogue:
    indexes = [catalogue.index for catalogue in _cache.values()]
    index = next((index for index in indexes if index.suits(types, rules)), None)
    if index is None:
        index = TypeIndex(types, next((index.labels for index in indexes if index.labels.suits(types)), None), rules)
    return Catalogue(types, index, rules)


def allocatable_nano(
    instance_type: InstanceType, offering: Offering | None = None, rules: Rules = NEWEST
) -> dict[str, int]:
    """Return capacity minus reservations in nano-units; huge pages are subtracted from memory.

    An offering's capacity and overhead replace the type's; before 1.15 they were added. Rule: ``computeAllocatable``.
    """
    capacity = dict(instance_type.capacity)
    overhead = instance_type.overhead
    reserved = [overhead.kube_reserved, overhead.system_reserved, overhead.eviction_threshold]
    if offering is not None:
        override, extra_overhead = offering.capacity_override or {}, offering.overhead_override or Overhead()
        extra = [extra_overhead.kube_reserved, extra_overhead.system_reserved, extra_overhead.eviction_threshold]
        if rules.overrides_replace:
            capacity |= override
            reserved = [{**whole, **part} for whole, part in zip(reserved, extra, strict=True)]
        else:
            capacity = resources.add(capacity, override)
            reserved += extra
    amounts = {name: amount.nano for name, amount in capacity.items()}
    pages = [amount for name, amount in amounts.items() if name.startswith(HUGEPAGES_PREFIX)]
    for part in reserved:
        for name, amount in part.items():
            if name in amounts:
                amounts[name] -= amount.nano
    for amount_nano in pages:
        amounts[MEMORY] = max(0, amounts.get(MEMORY, 0) - amount_nano)
    return amounts
