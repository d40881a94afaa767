"""Labels of instance types, each value with the types that have it as a bit set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.requirements import Requirement
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
