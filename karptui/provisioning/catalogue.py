"""Instance types indexed by bit sets: type *i* is bit *i*, so that a filter over all types is a few integer operations.

Rules: ``pkg/cloudprovider/types.go`` and the filter in ``pkg/controllers/provisioning/scheduling/nodeclaim.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.karpenter.labels import CAPACITY_TYPE, RESERVATION_ID, RESERVED, WELL_KNOWN
from karptui.karpenter.requirement import Requirement
from karptui.karpenter.requirements import Requirements
from karptui.kube.node_selector import NodeSelectorRequirement
from karptui.kube.resources import HUGEPAGES_PREFIX, MEMORY, ResourceList
from karptui.provisioning.ladder import Ladder
from karptui.provisioning.type_index import KeyIndex, OfferingKind, single_value

NO_PRICE: Final = float("inf")
"""Price of a type without a usable offering, for ordering."""


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Catalogue:
    """One list of instance types with its indexes; masks are Python integers with a bit per type."""

    def __init__(self, types: Sequence[InstanceType]) -> None:
        self.types = tuple(types)
        self.everything = (1 << len(self.types)) - 1
        self._requirement_cache: dict[NodeSelectorRequirement, Requirement] = {}
        self._offering_cache: dict[tuple[NodeSelectorRequirement, ...], Requirements] = {}
        self.keys = self._index_requirements()
        self.row_types: list[int] = []
        """Type of each row after the first ``len(types)``: allocatable differs there by offering."""
        self.reservation_capacity: dict[str, int] = {}
        self.offering_kinds: list[OfferingKind] = []
        self._override_allocatable: list[dict[str, int]] = []
        self._index_offerings()
        self.reserved_kinds = [kind for kind in self.offering_kinds if kind.capacity_type == RESERVED]
        self.offering_keys = frozenset(own.key for kind in self.offering_kinds for own in kind.requirements)
        self.has_custom_offering_keys = not self.offering_keys <= WELL_KNOWN
        self.negative_keys = frozenset(
            key for key, index in self.keys.items() if any(own.is_negative for own in index.distinct)
        )
        """Keys that some type answers with NotIn or DoesNotExist: meeting them may become easier as claims narrow."""
        self.usable_rows = 0
        """Rows without a negative allocatable: in the others nothing fits."""
        self.allocatable = self._index_allocatable()
        self.capacity = self._index_capacity()
        self._meeting: dict[Requirement, int] = {}

    def __len__(self) -> int:
        return len(self.types)

    def _requirement(self, selector: NodeSelectorRequirement) -> Requirement:
        made = Requirement.of(selector.key, selector.operator, selector.values, selector.min_values)
        self._requirement_cache[selector] = made
        return made

    def _index_requirements(self) -> dict[str, KeyIndex]:
        by_key: dict[str, dict[Requirement, int]] = {}
        cached = self._requirement_cache
        for i, instance_type in enumerate(self.types):
            bit = 1 << i
            seen: dict[str, Requirement] = {}
            for selector in instance_type.requirements:
                requirement = cached.get(selector) or self._requirement(selector)
                known = seen.get(requirement.key)
                seen[requirement.key] = requirement if known is None else requirement.intersect(known)
            for key, requirement in seen.items():
                masks = by_key.get(key)
                if masks is None:
                    masks = by_key[key] = {}
                masks[requirement] = masks.get(requirement, 0) | bit
        return {key: KeyIndex(masks, self.everything) for key, masks in by_key.items()}

    def requirements_of(self, selectors: tuple[NodeSelectorRequirement, ...]) -> Requirements:
        """Return the requirements of an offering, shared between equal ones."""
        made = self._offering_cache.get(selectors)
        if made is None:
            made = self._offering_cache[selectors] = Requirements.from_selectors(selectors)
        return made

    def _index_offerings(self) -> None:
        kinds: dict[Requirements, OfferingKind] = {}
        for i, instance_type in enumerate(self.types):
            rows: dict[tuple[str, str], int] = {}
            for offering in instance_type.offerings:
                requirements = self.requirements_of(offering.requirements)
                if not offering.is_available:
                    self._note_reservation(requirements, offering)
                    continue
                kind = kinds.get(requirements)
                if kind is None:
                    kind = kinds[requirements] = OfferingKind(requirements)
                if kind.capacity_type == RESERVED:
                    self._note_reservation(requirements, offering)
                if offering.capacity_override or offering.overhead_override is not None:
                    kind.rows |= 1 << self._override_row(i, offering, rows)
                else:
                    kind.rows |= 1 << i
                kind.prices.append((i, offering.price_per_hour))
        self.offering_kinds = list(kinds.values())

    def _note_reservation(self, requirements: Requirements, offering: Offering) -> None:
        if single_value(requirements, CAPACITY_TYPE) == RESERVED:
            reservation = single_value(requirements, RESERVATION_ID)
            least = self.reservation_capacity.get(reservation, offering.reservation_capacity)
            self.reservation_capacity[reservation] = min(least, offering.reservation_capacity)

    def _override_row(self, i: int, offering: Offering, rows: dict[tuple[str, str], int]) -> int:
        key = (str(offering.capacity_override), str(offering.overhead_override))
        row = rows.get(key)
        if row is None:
            row = rows[key] = len(self.types) + len(self.row_types)
            self.row_types.append(i)
            self._override_allocatable.append(
                allocatable_nano(self.types[i], offering.capacity_override, offering.overhead_override)
            )
        return row

    def _index_allocatable(self) -> dict[str, Ladder]:
        by_resource: dict[str, dict[int, int]] = {}
        rows = [allocatable_nano(instance_type) for instance_type in self.types] + self._override_allocatable
        self.usable_rows = (1 << len(rows)) - 1
        for i, amounts in enumerate(rows):
            bit = 1 << i
            for name, amount in amounts.items():
                if amount < 0:
                    self.usable_rows &= ~bit
                masks = by_resource.get(name)
                if masks is None:
                    masks = by_resource[name] = {}
                masks[amount] = masks.get(amount, 0) | bit
        return {name: Ladder(masks) for name, masks in by_resource.items()}

    def _index_capacity(self) -> dict[str, Ladder]:
        by_resource: dict[str, dict[int, int]] = {}
        for i, instance_type in enumerate(self.types):
            for name, amount in instance_type.capacity.items():
                masks = by_resource.setdefault(name, {})
                masks[amount.nano] = masks.get(amount.nano, 0) | 1 << i
        return {name: Ladder(masks) for name, masks in by_resource.items()}

    def meeting(self, requirement: Requirement) -> int:
        """Return the types that a requirement leaves; ``minValues`` does not matter here."""
        mask = self._meeting.get(requirement)
        if mask is None:
            index = self.keys.get(requirement.key)
            mask = self._meeting[requirement] = self.everything if index is None else index.meeting(requirement)
        return mask

    def compatible(self, requirements: Iterable[Requirement]) -> int:
        """Return the types whose own requirements do not clash with any of these."""
        mask = self.everything
        for requirement in requirements:
            mask &= self.meeting(requirement)
        return mask

    def offering_rows(self, requirements: Requirements) -> int:
        """Return the rows with an available offering that these requirements allow."""
        rows = 0
        for kind in self.offering_kinds:
            if requirements.compatible(kind.requirements, WELL_KNOWN):
                rows |= kind.rows
        return rows

    def fitting_rows(self, needs_nano: Iterable[tuple[str, int]]) -> int:
        """Return the rows that have room for these amounts; an amount of zero always has."""
        rows = self.usable_rows
        for name, amount in needs_nano:
            if amount > 0:
                ladder = self.allocatable.get(name)
                rows &= ladder.at_least(amount) if ladder is not None else 0
        return rows

    def allocatable_of(self, i: int) -> dict[str, int]:
        """Return the allocatable of a type in nano-units, whatever its offerings change about it."""
        return allocatable_nano(self.types[i])

    def types_of_rows(self, rows: int) -> int:
        """Return the types of which some row is among these."""
        if not self.row_types:
            return rows
        mask = rows & self.everything
        for row in bits((rows & ~self.everything) >> len(self.types)):
            mask |= 1 << self.row_types[row]
        return mask

    def prices(self, requirements: Requirements) -> list[float]:
        """Return for each type the least price per hour of an available offering that these requirements allow."""
        prices = [NO_PRICE] * len(self.types)
        for kind in self.offering_kinds:
            if requirements.compatible(kind.requirements, WELL_KNOWN):
                for i, price in kind.prices:
                    prices[i] = min(prices[i], price)
        return prices

    def within_limits(self, remaining_nano: Iterable[tuple[str, int]]) -> int:
        """Return the types whose whole capacity is within what a NodePool's limits leave."""
        mask = self.everything
        for name, amount in remaining_nano:
            ladder = self.capacity.get(name)
            if amount < 0:
                return 0
            if ladder is not None:
                mask &= ~ladder.at_least(amount + 1)
        return mask


@lru_cache(maxsize=16)
def catalogue_of(types: tuple[InstanceType, ...]) -> Catalogue:
    """Return the index of a list of types, kept between runs over the same types."""
    return Catalogue(types)


def allocatable_nano(
    instance_type: InstanceType, capacity_override: ResourceList | None = None, overhead: Overhead | None = None
) -> dict[str, int]:
    """Return capacity less overheads in nano-units; huge pages take from memory.

    Overrides add to the base, which is what ``computeAllocatable`` does.
    """
    amounts = {name: amount.nano for name, amount in instance_type.capacity.items()}
    for name, amount in (capacity_override or {}).items():
        amounts[name] = amounts.get(name, 0) + amount.nano
    capacity = dict(amounts)
    overheads = (instance_type.overhead,) if overhead is None else (instance_type.overhead, overhead)
    for held in overheads:
        for reserved in (held.kube_reserved, held.system_reserved, held.eviction_threshold):
            for name, amount in reserved.items():
                if name in amounts:
                    amounts[name] -= amount.nano
    for name, pages in capacity.items():
        if name.startswith(HUGEPAGES_PREFIX):
            amounts[MEMORY] = max(0, amounts.get(MEMORY, 0) - pages)
    return amounts
