"""Labels and offerings of instance types, each with the types that have them as a bit set."""

from __future__ import annotations

from collections.abc import Iterator

from karptui.karpenter.labels import CAPACITY_TYPE, RESERVATION_ID
from karptui.karpenter.requirement import Requirement
from karptui.karpenter.requirements import Requirements


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


class OfferingKind:
    """Offerings of any types that have the same requirements and are available."""

    __slots__ = ("capacity_type", "prices", "requirements", "reservation_id", "rows")

    def __init__(self, requirements: Requirements) -> None:
        self.requirements = requirements
        self.rows = 0
        """Rows (types, and overrides of types) that have such an offering."""
        self.prices: list[tuple[int, float]] = []
        """Type and price per hour of each."""
        self.capacity_type = single_value(requirements, CAPACITY_TYPE)
        self.reservation_id = single_value(requirements, RESERVATION_ID)


def single_value(requirements: Requirements, key: str) -> str:
    """Return a value of a key, empty where it is undefined; of several the first in text order."""
    requirement = requirements.find(key)
    return min(requirement.values, default="") if requirement is not None else ""
