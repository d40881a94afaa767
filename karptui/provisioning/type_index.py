"""Labels and offerings of instance types, each value and kind with the types that have it as a bit set, and prices."""

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
"""Answers of one kind that are remembered."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class KeyIndex:
    """The requirements that types have on one label key."""

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
        """Return the types whose requirement does not clash with this one; undefined never does."""
        mask = self.undefined
        if requirement.values and not requirement.complement:
            for value in requirement.values:
                mask |= self.by_value.get(value, 0)
            for own, types in self.complements:
                if not own.clashes(requirement):
                    mask |= types
        else:
            for own, types in self.distinct.items():
                if not own.clashes(requirement):
                    mask |= types
        return mask

    def value_masks(self) -> Iterator[tuple[str, int]]:
        """Yield each value that types name, excluded ones too, with the types that name it."""
        if not self.complements:
            yield from self.by_value.items()
            return
        masks: dict[str, int] = dict(self.by_value)
        for requirement, types in self.complements:
            for value in requirement.values:
                masks[value] = masks.get(value, 0) | types
        yield from masks.items()


class LabelIndex:
    """The labels of one list of types."""

    def __init__(self, types: Sequence[InstanceType]) -> None:
        self._requirements = [one.requirements for one in types]
        self.everything = (1 << len(types)) - 1
        self._requirement_cache: dict[NodeSelectorRequirement, Requirement] = {}
        self.keys = self._index_requirements()
        self.negative_keys = frozenset(
            key for key, index in self.keys.items() if any(own.is_negative for own in index.distinct)
        )
        """Keys that some type answers with NotIn or DoesNotExist: meeting them may become easier as claims narrow."""
        self._meeting: dict[Requirement, int] = {}

    def suits(self, types: Sequence[InstanceType]) -> bool:
        """Return whether these have the same labels; equal ones that are other objects do not."""
        return len(types) == len(self._requirements) and all(
            one.requirements is requirements for one, requirements in zip(types, self._requirements, strict=True)
        )

    def _requirement(self, selector: NodeSelectorRequirement) -> Requirement:
        made = Requirement.of(selector.key, selector.operator, selector.values, selector.min_values)
        self._requirement_cache[selector] = made
        return made

    def _index_requirements(self) -> dict[str, KeyIndex]:
        by_key: dict[str, dict[Requirement, int]] = {}
        cached = self._requirement_cache
        for i, requirements in enumerate(self._requirements):
            bit = 1 << i
            seen: dict[str, Requirement] = {}
            for selector in requirements:
                requirement = cached.get(selector) or self._requirement(selector)
                known = seen.get(requirement.key)
                seen[requirement.key] = requirement if known is None else requirement.intersect(known)
            for key, requirement in seen.items():
                masks = by_key.get(key)
                if masks is None:
                    masks = by_key[key] = {}
                masks[requirement] = masks.get(requirement, 0) | bit
        return {key: KeyIndex(masks, self.everything) for key, masks in by_key.items()}

    def meeting(self, requirement: Requirement) -> int:
        """Return the types that a requirement leaves; ``minValues`` does not matter here."""
        mask = self._meeting.get(requirement)
        if mask is None:
            index = self.keys.get(requirement.key)
            mask = self.everything if index is None else index.meeting(requirement)
            keep(self._meeting, requirement, mask)
        return mask


def keep(kept: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Remember an answer; all are forgotten before there are too many of them."""
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    kept[key] = value


NO_PRICE: Final = float("inf")
"""Price of a type without a usable offering, for ordering."""


class OfferingKind:
    """Offerings of any types that have the same requirements and are available."""

    __slots__ = ("capacity_type", "may_be_reserved", "prices", "requirements", "reservation_id", "roomy", "rows")

    def __init__(self, requirements: Requirements) -> None:
        self.requirements = requirements
        self.rows = 0
        """Rows (types, and overrides of types) that have such an offering."""
        self.roomy = 0
        """Types whose offering a node can be launched into."""
        self.prices: list[tuple[int, float]] = []
        """Type and price per hour of each that a node can be launched into."""
        self.capacity_type = single_value(requirements, CAPACITY_TYPE)
        self.reservation_id = single_value(requirements, RESERVATION_ID)
        asked = requirements.find(CAPACITY_TYPE)
        self.may_be_reserved = asked is not None and asked.allows(RESERVED)
        """Whether it is held to the room of a reservation: ``Launchable`` asks whether the capacity type allows one."""


def single_value(requirements: Requirements, key: str) -> str:
    """Return a value of a key, empty where it is undefined; of several the first in text order.

    Of a key that may be anything, or anything but some values, Karpenter draws a number: that equals none it looks for.
    """
    requirement = requirements.find(key)
    if requirement is None or requirement.complement:
        return ""
    return min(requirement.values, default="")


class PriceOrder:
    """Types in order of what they cost under some requirements."""

    __slots__ = ("_steps", "_upto", "prices")

    def __init__(self, prices: tuple[float, ...]) -> None:
        self.prices = prices
        """The least price per hour of each type, `NO_PRICE` where there is none."""
        alike: dict[float, int] = {}
        for i, price in enumerate(prices):
            alike[price] = alike.get(price, 0) | 1 << i
        self._upto: list[int] = []
        """Types that cost no more than each price, ascending."""
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
        """Return the so many cheapest of some types; None where types of one price vie for the last places."""
        if types.bit_count() <= count:
            return types
        step = bisect_left(self._upto, count, key=lambda upto: (upto & types).bit_count())
        found = self._upto[step] & types
        return found if found.bit_count() == count else None


class TypeIndex:
    """Labels and offerings of one list of types, whatever these hold: lists that differ in capacity alone share one.

    Args:
        types: The list.
        labels: Of these types, where they are known from a list that differs in offerings.
        rules: How this version of Karpenter reads offerings.
    """

    def __init__(self, types: Sequence[InstanceType], labels: LabelIndex | None = None, rules: Rules = NEWEST) -> None:
        self._rules = rules
        self._sold_as = [(one.name, one.offerings) for one in types]
        self.labels = LabelIndex(types) if labels is None else labels
        self._offering_cache: dict[tuple[NodeSelectorRequirement, ...], Requirements] = {}
        self.overrides: list[tuple[int, Offering]] = []
        """Type and an offering of each row after the first ``len(types)``: allocatable differs there by offering."""
        self.reservation_capacity: dict[str, int] = {}
        self.offering_kinds: tuple[OfferingKind, ...] = self._index_offerings()
        self.reserved_kinds = [kind for kind in self.offering_kinds if kind.capacity_type == RESERVED]
        self.offering_keys = frozenset(own.key for kind in self.offering_kinds for own in kind.requirements)
        self._allowed: dict[Requirements, int] = {}
        self._price_orders: dict[int, PriceOrder] = {}

    def suits(self, types: Sequence[InstanceType], rules: Rules) -> bool:
        """Return whether these have the same names, labels and offerings; equal ones that are other objects do not."""
        return (
            rules == self._rules
            and self.labels.suits(types)
            and all(
                one.offerings is offerings and one.name == name
                for one, (name, offerings) in zip(types, self._sold_as, strict=True)
            )
        )

    def requirements_of(self, selectors: tuple[NodeSelectorRequirement, ...]) -> Requirements:
        """Return the requirements of an offering, shared between equal ones."""
        made = self._offering_cache.get(selectors)
        if made is None:
            made = self._offering_cache[selectors] = Requirements.from_selectors(selectors)
        return made

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
        """Return the types in order of the least price of an available offering that these requirements allow."""
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
