"""Karpenter's set of requirements: what labels a pod, pool, claim, type or offering allows.

The rules are those of ``pkg/scheduling/requirements.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

import msgspec

from karptui.karpenter.labels import HOSTNAME
from karptui.karpenter.requirement import IN, Requirement
from karptui.kube.node_selector import NodeSelectorRequirement

_NOTHING: Final[frozenset[str]] = frozenset()


class UndefinedKey(msgspec.Struct, frozen=True):
    """A requirement on a label that the other side does not define."""

    key: str
    hint: str = ""
    """A known label that the key may be a misspelling of; empty if none."""

    def __str__(self) -> str:
        """Return the wording of Karpenter's messages."""
        typo = f' (typo of "{self.hint}"?)' if self.hint else ""
        return f'label "{self.key}" does not have known values{typo}'


class KeyConflict(msgspec.Struct, frozen=True):
    """Two requirements on one label that no value meets."""

    incoming: Requirement
    existing: Requirement

    @property
    def key(self) -> str:
        """Label key of both."""
        return self.existing.key

    def __str__(self) -> str:
        """Return the wording of Karpenter's messages."""
        return f"key {self.key}, {self.incoming} not in {self.existing}"


class Requirements:
    """An immutable set of requirements, one per label key.

    Equal sets compare and hash equal, whatever the order in which they were put together.
    """

    __slots__ = ("_by_key", "_hash")

    _by_key: dict[str, Requirement]
    _hash: int | None

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        by_key: dict[str, Requirement] = {}
        for requirement in requirements:
            known = by_key.get(requirement.key)
            by_key[requirement.key] = requirement if known is None else requirement.intersect(known)
        self._by_key = by_key
        self._hash = None

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Requirements:
        """Return ``key In [value]`` for every label; aliases are read as the key they stand for."""
        return cls(Requirement.of(key, IN, (value,)) for key, value in labels.items())

    @classmethod
    def from_selectors(cls, selectors: Iterable[NodeSelectorRequirement]) -> Requirements:
        """Return the requirements that objects spell; several on one key are intersected."""
        return cls(Requirement.of(entry.key, entry.operator, entry.values, entry.min_values) for entry in selectors)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Requirements) and self._by_key == other._by_key)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._by_key.values()))
        return self._hash

    def __repr__(self) -> str:
        return f"Requirements({', '.join(sorted(map(str, self)))})"

    def __str__(self) -> str:
        """Return the wording of Karpenter's messages: sorted, comma-separated, without the host name."""
        return ", ".join(sorted(str(requirement) for requirement in self if requirement.key != HOSTNAME))

    def keys(self) -> AbstractSet[str]:
        """Return the label keys that are defined."""
        return self._by_key.keys()

    def get(self, key: str) -> Requirement:
        """Return the requirement of a key; an undefined key allows any value."""
        return self._by_key.get(key) or Requirement.exists(key)

    def find(self, key: str) -> Requirement | None:
        """Return the requirement of a key, or None where it is undefined."""
        return self._by_key.get(key)

    def add(self, *requirements: Requirement) -> Requirements:
        """Return these requirements narrowed by more, key by key."""
        return self.merge(requirements)

    def merge(self, requirements: Iterable[Requirement]) -> Requirements:
        """Return these requirements narrowed by another set, key by key."""
        by_key = dict(self._by_key)
        for requirement in requirements:
            known = by_key.get(requirement.key)
            by_key[requirement.key] = requirement if known is None else requirement.intersect(known)
        return _owning(by_key)

    def replace(self, requirement: Requirement) -> Requirements:
        """Return these requirements with the one of this key exchanged, not narrowed."""
        return _owning({**self._by_key, requirement.key: requirement})

    def without(self, *keys: str) -> Requirements:
        """Return these requirements with some keys undefined."""
        return _owning({key: value for key, value in self._by_key.items() if key not in keys})

    def only(self, keys: AbstractSet[str]) -> Requirements:
        """Return the requirements of some keys."""
        return _owning({key: value for key, value in self._by_key.items() if key in keys})

    def has_min_values(self) -> bool:
        """Return whether some key must offer a number of values."""
        return any(requirement.min_values is not None for requirement in self)

    def conflicts(self, incoming: Requirements) -> list[KeyConflict]:
        """Return a conflict per key that both define and no value meets, by key; undefined keys never conflict."""
        mine, theirs = self._by_key, incoming._by_key
        few = mine if len(mine) <= len(theirs) else theirs
        found = [
            KeyConflict(theirs[key], mine[key])
            for key in few
            if key in mine and key in theirs and mine[key].clashes(theirs[key])
        ]
        found.sort(key=lambda conflict: conflict.key)
        return found

    def intersects(self, incoming: Requirements) -> bool:
        """Return whether every key that both define has a value for both."""
        mine, theirs = self._by_key, incoming._by_key
        if len(mine) <= len(theirs):
            return not any(key in theirs and value.clashes(theirs[key]) for key, value in mine.items())
        return not any(key in mine and mine[key].clashes(value) for key, value in theirs.items())

    def incompatibilities(
        self, incoming: Requirements, allow_undefined: AbstractSet[str] = _NOTHING
    ) -> list[UndefinedKey] | list[KeyConflict]:
        """Return why ``incoming`` cannot be met beside these, empty if it can.

        A key that these do not define is an error unless it is in ``allow_undefined`` or its operator is NotIn or
        DoesNotExist; only the first such key is reported, and then no conflict is looked for.

        Args:
            incoming: What is asked for, such as a pod's requirements.
            allow_undefined: The well-known labels for NodePools and claims, nothing for nodes.
        """
        for requirement in sorted(incoming, key=lambda r: r.key):
            if requirement.key in self._by_key or requirement.key in allow_undefined or requirement.is_negative:
                continue
            return [UndefinedKey(requirement.key, self._hint(requirement.key, allow_undefined))]
        return self.conflicts(incoming)

    def compatible(self, incoming: Requirements, allow_undefined: AbstractSet[str] = _NOTHING) -> bool:
        """Return whether ``incoming`` can be met beside these; see `incompatibilities`."""
        mine = self._by_key
        for key, requirement in incoming._by_key.items():
            known = mine.get(key)
            if known is None:
                if key not in allow_undefined and not requirement.is_negative:
                    return False
            elif known.clashes(requirement):
                return False
        return True

    def _hint(self, key: str, allow_undefined: AbstractSet[str]) -> str:
        ending = key.partition("/")[2] if "/" in key else key
        for known in (*sorted(allow_undefined), *sorted(self._by_key)):
            if key in known or known.endswith(ending):
                return known
        return ""

    def as_selectors(self) -> list[dict[str, Any]]:
        """Return the entries of a NodeClaim's ``spec.requirements``, by key and operator."""
        entries = [entry for requirement in self for entry in requirement.as_selectors()]
        entries.sort(key=lambda entry: (entry["key"], entry["operator"]))
        return entries


def _owning(by_key: dict[str, Requirement]) -> Requirements:
    """Wrap a dictionary without copying or intersecting it."""
    made = Requirements()
    made._by_key = by_key  # noqa: SLF001 - a second constructor
    return made
