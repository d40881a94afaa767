"""Index of the labels, offerings and prices of instance types as bit sets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.labels import CAPACITY_TYPE, RESERVATION_ID, RESERVED, WELL_KNOWN
from karptui.karpenter.requirements import Requirement, Requirements
from karptui.karpenter.rules import NEWEST, Rules
from karptui.kube.selectors import NodeSelectorRequirement

_MOST_KEPT: Final = 4_096
"""Maximum number of cached results of a kind."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class KeyIndex:
    """Requirements of types for a label key."""

    __slots__ = ("by_value", "complements", "distinct", "undefined")

    def __init__(self, distinct: dict[Requirement, int], everything: int) -> None:
        self.distinct = distinct
        self.by_value: dict[str, int] = {}
        self.complements: list[tuple[Requirement, int]] = []
        defined = 0
        for requirement, mask in distinct.items():
            defined |= mask
            if requirement.complement:
                self.complements.append((requirement, mask))
            else:
                for value in requirement.values:
                    self.by_value[value] = self.by_value.get(value, 0) | mask
        self.undefined = everything & ~defined

    def meeting(self, requirement: Requirement) -> int:
        """Return the types compatible with this requirement, including those without the key."""
        mask = self.undefined
        if requirement.values and not requirement.complement:
            for value in requirement.values:
                mask |= self.by_value.get(value, 0)
            for type_requirement, types in self.complements:
                if not type_requirement.clashes(requirement):
                    mask |= types
        else:
            for type_requirement, types in self.distinct.items():
                if not type_requirement.clashes(requirement):
                    mask |= types
        return mask

    def value_masks(self) -> Iterator[tuple[str, int]]:
        """Yield each value in types' requirements, including excluded ones, with these types."""
        if not self.complements:
            yield from self.by_value.items()
            return
        masks: dict[str, int] = dict(self.by_value)
        for requirement, types in self.complements:
            for value in requirement.values:
                masks[value] = masks.get(value, 0) | types
        yield from masks.items()


class LabelIndex:
    """Index of the labels of a list of types."""

    def __init__(self, types: Sequence[InstanceType]) -> None:
        self._requirements = [instance_type.requirements for instance_type in types]
        self.everything = (1 << len(types)) - 1
        self._requirement_cache: dict[NodeSelectorRequirement, Requirement] = {}
        self.keys = self._index_requirements()
        self.negative_keys = frozenset(
            key for key, index in self.keys.items() if any(requirement.is_negative for requirement in index.distinct)
        )
        """Keys with a NotIn or DoesNotExist of some type: more types may match as claims are narrowed."""
        self._meeting: dict[Requirement, int] = {}

    def suits(self, types: Sequence[InstanceType]) -> bool:
        """Return whether these types have the same label objects; equal copies do not count."""
        return len(types) == len(self._requirements) and all(
            instance_type.requirements is requirements
            for instance_type, requirements in zip(types, self._requirements, strict=True)
        )

    def _requirement(self, selector: NodeSelectorRequirement) -> Requirement:
        requirement = Requirement.of(selector.key, selector.operator, selector.values, selector.min_values)
        self._requirement_cache[selector] = requirement
        return requirement

    def _index_requirements(self) -> dict[str, KeyIndex]:
        by_key: dict[str, dict[Requirement, int]] = {}
        cached = self._requirement_cache
        for i, requirements in enumerate(self._requirements):
            bit = 1 << i
            seen: dict[str, Requirement] = {}
            for selector in requirements:
                requirement = cached.get(selector) or self._requirement(selector)
                present = seen.get(requirement.key)
                seen[requirement.key] = requirement if present is None else requirement.intersect(present)
            for key, requirement in seen.items():
                masks = by_key.get(key)
                if masks is None:
                    masks = by_key[key] = {}
                masks[requirement] = masks.get(requirement, 0) | bit
        return {key: KeyIndex(masks, self.everything) for key, masks in by_key.items()}

    def meeting(self, requirement: Requirement) -> int:
        """Return the types compatible with a requirement, ignoring ``minValues``."""
        mask = self._meeting.get(requirement)
        if mask is None:
            index = self.keys.get(requirement.key)
            mask = self.everything if index is None else index.meeting(requirement)
            keep(self._meeting, requirement, mask)
        return mask


def keep(memory: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Cache a result; all results are dropped before there are too many."""
    if len(memory) >= _MOST_KEPT:
        memory.clear()
    memory[key] = value


NO_PRICE: Final = float("inf")
"""Price of a type without a usable offering, for sorting."""


class OfferingKind:
    """Available offerings with the same requirements, of any types."""

    __slots__ = ("capacity_type", "may_be_reserved", "prices", "requirements", "reservation_id", "roomy", "rows")

    def __init__(self, requirements: Requirements) -> None:
        self.requirements = requirements
        self.rows = 0
        """Rows (types, and types with overrides) that have such an offering."""
        self.roomy = 0
        """Types whose offering is launchable."""
        self.prices: list[tuple[int, float]] = []
        """Type and price per hour of each launchable offering."""
        self.capacity_type = single_value(requirements, CAPACITY_TYPE)
        self.reservation_id = single_value(requirements, RESERVATION_ID)
        capacity_types = requirements.find(CAPACITY_TYPE)
        self.may_be_reserved = capacity_types is not None and capacity_types.allows(RESERVED)
        """Whether it needs free capacity in a reservation: ``Launchable`` checks whether reserved is allowed."""


def single_value(requirements: Requirements, key: str) -> str:
    """Return the value of a key, empty if it is undefined; the first in text order of several.

    For a complement Karpenter generates a random value, which equals none it looks for.
    """
    requirement = requirements.find(key)
    if requirement is None or requirement.complement:
        return ""
    return min(requirement.values, default="")


class PriceOrder:
    """Types in order of price under some requirements."""

    __slots__ = ("_steps", "_upto", "prices")

    def __init__(self, prices: tuple[float, ...]) -> None:
        self.prices = prices
        """Lowest price per hour of each type, `NO_PRICE` without any."""
        alike: dict[float, int] = {}
        for i, price in enumerate(prices):
            alike[price] = alike.get(price, 0) | 1 << i
        self._upto: list[int] = []
        """Types that cost at most each price, ascending."""
        self._steps = sorted(alike)
        mask = 0
        for price in self._steps:
            mask |= alike[price]
            self._upto.append(mask)

    def below(self, ceiling: float) -> int:
        """Return the types that cost less than a price."""
        step = bisect_left(self._steps, ceiling)
        return self._upto[step - 1] if step else 0

    def cheapest(self, types: int, count: int) -> int | None:
        """Return the cheapest of some types; None if types with equal prices compete for the last places."""
        if types.bit_count() <= count:
            return types
        step = bisect_left(self._upto, count, key=lambda upto: (upto & types).bit_count())
        cheapest = self._upto[step] & types
        return cheapest if cheapest.bit_count() == count else None


class TypeIndex:
    """Labels and offerings of a list of types, shared between lists that differ only in capacity.

    Args:
        labels: Index of the labels, if available from a list that differs only in offerings.
    """

    def __init__(self, types: Sequence[InstanceType], labels: LabelIndex | None = None, rules: Rules = NEWEST) -> None:
        self._rules = rules
        self._sold_as = [(instance_type.name, instance_type.offerings) for instance_type in types]
        self.labels = LabelIndex(types) if labels is None else labels
        self._offering_cache: dict[tuple[NodeSelectorRequirement, ...], Requirements] = {}
        self.overrides: list[tuple[int, Offering]] = []
        """Type and offering of each row after the first ``len(types)``, for offerings that change allocatable."""
        self.reservation_capacity: dict[str, int] = {}
        self.offering_kinds: tuple[OfferingKind, ...] = self._index_offerings()
        self.reserved_kinds = [kind for kind in self.offering_kinds if kind.capacity_type == RESERVED]
        self.offering_keys = frozenset(
            requirement.key for kind in self.offering_kinds for requirement in kind.requirements
        )
        self._allowed: dict[Requirements, int] = {}
        self._price_orders: dict[int, PriceOrder] = {}

    def suits(self, types: Sequence[InstanceType], rules: Rules) -> bool:
        """Return whether types have the same names and the same objects as labels and offerings."""
        return (
            rules == self._rules
            and self.labels.suits(types)
            and all(
                instance_type.offerings is offerings and instance_type.name == name
                for instance_type, (name, offerings) in zip(types, self._sold_as, strict=True)
            )
        )

    def requirements_of(self, selectors: tuple[NodeSelectorRequirement, ...]) -> Requirements:
        """Return the requirements of an offering; equal ones are the same object."""
        requirements = self._offering_cache.get(selectors)
        if requirements is None:
            requirements = self._offering_cache[selectors] = Requirements.from_selectors(selectors)
        return requirements

    def _index_offerings(self) -> tuple[OfferingKind, ...]:
        kinds: dict[Requirements, OfferingKind] = {}
        for i, (_, offerings) in enumerate(self._sold_as):
            rows: dict[tuple[str, str], int] = {}
            for offering in offerings:
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
                is_full = kind.may_be_reserved and offering.reservation_capacity <= 0
                if not (is_full and self._rules.has_room_apart):
                    kind.prices.append((i, offering.price_per_hour))
                    kind.roomy |= 1 << i
        return tuple(kinds.values())

    def _note_reservation(self, requirements: Requirements, offering: Offering) -> None:
        if single_value(requirements, CAPACITY_TYPE) == RESERVED:
            reservation = single_value(requirements, RESERVATION_ID)
            least = self.reservation_capacity.get(reservation, offering.reservation_capacity)
            self.reservation_capacity[reservation] = min(least, offering.reservation_capacity)

    def _override_row(self, i: int, offering: Offering, rows: dict[tuple[str, str], int]) -> int:
        key = (str(offering.capacity_override), str(offering.overhead_override))
        row = rows.get(key)
        if row is None:
            row = rows[key] = len(self._sold_as) + len(self.overrides)
            self.overrides.append((i, offering))
        return row

    def allowed(self, requirements: Requirements) -> int:
        """Return the kinds of offerings that requirements allow, as bits in the order of ``offering_kinds``."""
        mask = self._allowed.get(requirements)
        if mask is None:
            mask = 0
            for i, kind in enumerate(self.offering_kinds):
                if requirements.compatible(kind.requirements, WELL_KNOWN):
                    mask |= 1 << i
            keep(self._allowed, requirements, mask)
        return mask

    def price_order(self, requirements: Requirements) -> PriceOrder:
        """Return the types in order of their lowest price for an available offering that the requirements allow."""
        allowed = self.allowed(requirements)
        order = self._price_orders.get(allowed)
        if order is None:
            prices = [NO_PRICE] * len(self._sold_as)
            for i, kind in enumerate(self.offering_kinds):
                if allowed >> i & 1:
                    for type_number, price in kind.prices:
                        prices[type_number] = min(prices[type_number], price)
            order = PriceOrder(tuple(prices))
            keep(self._price_orders, allowed, order)
        return order
