"""Karpenter's requirements: the label values that a pod, NodePool, NodeClaim, type or offering allows, per key.

Rules: ``pkg/scheduling/requirement.go`` and ``pkg/scheduling/requirements.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

import msgspec

from karptui.karpenter.labels import AUTO_MODE_GROUP, AUTO_MODE_LABELS, AWS_GROUP, HOSTNAME, KEY_ALIASES, WELL_KNOWN
from karptui.kube.selectors import NodeSelectorRequirement

MAX_INT64: Final = 2**63 - 1
MIN_INT64: Final = -(2**63)

IN: Final = "In"
NOT_IN: Final = "NotIn"
EXISTS: Final = "Exists"
_BOUNDS: Final = re.compile(r" Exists (?=[<>])")
DOES_NOT_EXIST: Final = "DoesNotExist"
GTE: Final = "Gte"
LTE: Final = "Lte"
OPERATORS: Final = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, "Gt", "Lt", GTE, LTE)
"""Operators that objects may use."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS: Final = 20
"""Enough to detect overflow; Python refuses to parse thousands of digits."""
_NOTHING: Final[frozenset[str]] = frozenset()
_AUTO_MODE_CLASS: Final = f"{AUTO_MODE_GROUP}/nodeclass"
_AUTO_MODE_WELL_KNOWN: Final = AUTO_MODE_LABELS | {key for key in WELL_KNOWN if not key.startswith(f"{AWS_GROUP}/")}


def plain_bounds(text: str) -> str:
    """Return the text of a requirement with its bounds alone: ``cpu >=4`` for Karpenter's ``cpu Exists >=4``."""
    return _BOUNDS.sub(" ", text)


def parse_integer(text: str) -> int | None:
    """Return a base-10 64-bit integer, or None: no blanks, no underscores, no overflow."""
    value = _truncated_integer(text)
    return value if value is not None and MIN_INT64 <= value <= MAX_INT64 else None


def _bound(text: str) -> int:
    """Return a bound: 0 for text that is not a number, the nearest 64-bit integer if out of range."""
    return max(MIN_INT64, min(MAX_INT64, _truncated_integer(text) or 0))


def _truncated_integer(text: str) -> int | None:
    """Return an integer, truncated to its first digits if far out of range; None for other text."""
    if _INTEGER.fullmatch(text) is None:
        return None
    if len(text) <= _MOST_DIGITS:
        return int(text)
    digits = text.lstrip("+-0")[:_MOST_DIGITS] or "0"
    return -int(digits) if text.startswith("-") else int(digits)


class Requirement(msgspec.Struct, frozen=True, cache_hash=True):
    """The values allowed for a label key.

    Either ``values``, or with ``complement`` everything else; bounds apply to values that are integers.
    """

    key: str
    complement: bool
    """Whether ``values`` are excluded."""
    values: frozenset[str] = _NOTHING
    gte: int | None = None
    """Minimum integer; only complements have bounds."""
    lte: int | None = None
    """Maximum integer."""
    min_values: int | None = None
    """Number of different values that the instance types of a claim must offer."""

    @classmethod
    def of(cls, key: str, operator: str, values: Iterable[str] = (), min_values: int | None = None) -> Requirement:
        """Create a requirement from an API object's fields.

        Args:
            key: Label key; aliases (``beta.kubernetes.io/arch``) are replaced.
            operator: In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte. Any other allows every value, as in
              Karpenter's ``NewRequirementWithFlexibility``: the API server rejects it, but a file may contain it.
            values: The operator's values; bounds use the first, or 0 without one.
            min_values: NodePools only.
        """
        key = KEY_ALIASES.get(key, key)
        match operator:
            case "In":
                return cls(key, False, frozenset(values), None, None, min_values)
            case "NotIn":
                return cls(key, True, frozenset(values), None, None, min_values)
            case "DoesNotExist":
                return cls(key, False, _NOTHING, None, None, min_values)
            case "Gt" | "Gte" | "Lt" | "Lte":
                return cls._bounded(key, operator, values, min_values)
        return cls(key, True, _NOTHING, None, None, min_values)

    @classmethod
    def _bounded(cls, key: str, operator: str, values: Iterable[str], min_values: int | None) -> Requirement:
        bound = _bound(next(iter(values), ""))
        match operator:
            case "Gte":
                return cls(key, True, _NOTHING, bound, None, min_values)
            case "Lte":
                return cls(key, True, _NOTHING, None, bound, min_values)
            case "Gt" if bound == MAX_INT64:
                return cls(key, False)
            case "Gt":
                return cls(key, True, _NOTHING, bound + 1, None, min_values)
        # Below the minimum 64-bit integer Karpenter overflows.
        return cls(key, True, _NOTHING, None, MAX_INT64 if bound == MIN_INT64 else bound - 1, min_values)

    @classmethod
    def exists(cls, key: str) -> Requirement:
        """Return a requirement that allows any value, as an undefined key does."""
        return cls(key, True)

    @property
    def operator(self) -> str:
        """NotIn, Exists, In or DoesNotExist; bounds are ignored."""
        if self.complement:
            return NOT_IN if self.values else EXISTS
        return IN if self.values else DOES_NOT_EXIST

    @property
    def is_negative(self) -> bool:
        """Whether the operator is NotIn or DoesNotExist, which never conflict with each other."""
        return self.complement is bool(self.values)

    def allows(self, value: str) -> bool:
        """Return whether a label value meets the requirement."""
        return ((value in self.values) is not self.complement) and _within(value, self.gte, self.lte)

    def intersect(self, other: Requirement) -> Requirement:
        """Return a requirement for the values that both allow, with this one's key."""
        if self == other:
            return self
        gte, lte = _greatest(self.gte, other.gte), _least(self.lte, other.lte)
        min_values = _greatest(self.min_values, other.min_values)
        if gte is not None and lte is not None and gte > lte:
            return Requirement(self.key, False, _NOTHING, None, None, min_values)
        if self.complement:
            values = self.values | other.values if other.complement else other.values - self.values
        else:
            values = self.values - other.values if other.complement else self.values & other.values
        if gte is not None or lte is not None:
            values = frozenset(value for value in values if _within(value, gte, lte))
        if self.complement and other.complement:
            return Requirement(self.key, True, values, gte, lte, min_values)
        return Requirement(self.key, False, values, None, None, min_values)

    def has_intersection(self, other: Requirement) -> bool:
        """Return whether both allow a common value; two complements always do unless their bounds exclude it."""
        gte, lte = _greatest(self.gte, other.gte), _least(self.lte, other.lte)
        if gte is not None and lte is not None and gte > lte:
            return False
        if self.complement:
            if other.complement:
                return True
            both = other.values - self.values
        elif other.complement:
            both = self.values - other.values
        else:
            return not self.values.isdisjoint(other.values)
        if gte is None and lte is None:
            return bool(both)
        return any(_within(value, gte, lte) for value in both)

    def clashes(self, incoming: Requirement) -> bool:
        """Return whether no value meets both; two negative operators never clash."""
        return not self.has_intersection(incoming) and not (incoming.is_negative and self.is_negative)

    def with_min_values(self, min_values: int | None) -> Requirement:
        """Return the requirement with another ``min_values``."""
        if self.min_values == min_values:
            return self
        return Requirement(self.key, self.complement, self.values, self.gte, self.lte, min_values)

    def as_selectors(self) -> list[dict[str, Any]]:
        """Return the entries of a NodeClaim's ``spec.requirements``, values sorted; bounds hide excluded values."""
        if self.gte is not None or self.lte is not None:
            entries = [(GTE, self.gte), (LTE, self.lte)]
            return [_selector(self.key, op, [str(n)], self.min_values) for op, n in entries if n is not None]
        return [_selector(self.key, self.operator, sorted(self.values), self.min_values)]

    def __str__(self) -> str:
        text = f"{self.key} {self.operator}"
        if self.values:
            shown = sorted(self.values)
            if len(shown) > 5:
                shown = [*shown[:5], f"and {len(shown) - 5} others"]
            text += f" [{' '.join(shown)}]"
        if self.gte is not None:
            text += f" >={self.gte}"
        if self.lte is not None:
            text += f" <={self.lte}"
        if self.min_values is not None:
            text += f" minValues {self.min_values}"
        return text


def _selector(key: str, operator: str, values: list[str], min_values: int | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"key": key, "operator": operator}
    if values:
        entry["values"] = values
    if min_values is not None:
        entry["minValues"] = min_values
    return entry


def _within(value: str, gte: int | None, lte: int | None) -> bool:
    if gte is None and lte is None:
        return True
    number = parse_integer(value)
    if number is None:
        return False
    return (gte is None or number >= gte) and (lte is None or number <= lte)


def _greatest(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


class UndefinedKey(msgspec.Struct, frozen=True):
    """A requirement for a label that the other side does not define."""

    incoming: Requirement
    hint: str = ""
    """Known label that the key may be a typo of; empty if none."""

    @property
    def key(self) -> str:
        """The label."""
        return self.incoming.key

    def __str__(self) -> str:
        typo = f' (typo of "{self.hint}"?)' if self.hint else ""
        return f'label "{self.key}" does not have known values{typo}'


class KeyConflict(msgspec.Struct, frozen=True):
    """Two requirements for a label without a common value."""

    incoming: Requirement
    existing: Requirement

    @property
    def key(self) -> str:
        """Label key of both."""
        return self.existing.key

    def __str__(self) -> str:
        return f"key {self.key}, {self.incoming} not in {self.existing}"


class Requirements:
    """An immutable set of requirements, one per label key; equal sets hash equal in any order."""

    __slots__ = ("_by_key", "_hash")

    _by_key: dict[str, Requirement]
    _hash: int | None

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        by_key: dict[str, Requirement] = {}
        for requirement in requirements:
            present = by_key.get(requirement.key)
            by_key[requirement.key] = requirement if present is None else requirement.intersect(present)
        self._by_key = by_key
        self._hash = None

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Requirements:
        """Return ``key In [value]`` for every label; aliases are replaced."""
        return cls(Requirement.of(key, IN, (value,)) for key, value in labels.items())

    @classmethod
    def from_selectors(cls, selectors: Iterable[NodeSelectorRequirement]) -> Requirements:
        """Return requirements from API objects; several for a key are intersected."""
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
        """Return text as in Karpenter's messages: sorted, comma-separated, without the hostname."""
        return ", ".join(sorted(str(requirement) for requirement in self if requirement.key != HOSTNAME))

    def keys(self) -> AbstractSet[str]:
        """Return the defined label keys."""
        return self._by_key.keys()

    def get(self, key: str) -> Requirement:
        """Return the requirement for a key; an undefined key allows any value."""
        return self._by_key.get(key) or Requirement.exists(key)

    def find(self, key: str) -> Requirement | None:
        """Return the requirement for a key, or None if it is undefined."""
        return self._by_key.get(key)

    def add(self, *requirements: Requirement) -> Requirements:
        """Return the intersection with further requirements, key by key."""
        return self.merge(requirements)

    def merge(self, requirements: Iterable[Requirement]) -> Requirements:
        """Return the intersection with another set, key by key."""
        by_key = dict(self._by_key)
        for requirement in requirements:
            present = by_key.get(requirement.key)
            by_key[requirement.key] = requirement if present is None else requirement.intersect(present)
        return _owning(by_key)

    def replace(self, requirement: Requirement) -> Requirements:
        """Return the set with the requirement for a key replaced."""
        return _owning({**self._by_key, requirement.key: requirement})

    def without(self, *keys: str) -> Requirements:
        """Return the set without some keys."""
        return _owning({key: value for key, value in self._by_key.items() if key not in keys})

    def has_min_values(self) -> bool:
        """Return whether any requirement has ``min_values``."""
        return any(requirement.min_values is not None for requirement in self)

    def conflicts(self, incoming: Requirements) -> list[KeyConflict]:
        """Return the conflicts of keys that both sets define, sorted by key."""
        mine, theirs = self._by_key, incoming._by_key
        few = mine if len(mine) <= len(theirs) else theirs
        conflicts = [
            KeyConflict(theirs[key], mine[key])
            for key in few
            if key in mine and key in theirs and mine[key].clashes(theirs[key])
        ]
        conflicts.sort(key=lambda conflict: conflict.key)
        return conflicts

    def intersects(self, incoming: Requirements) -> bool:
        """Return whether all keys that both sets define have a common value."""
        mine, theirs = self._by_key, incoming._by_key
        if len(mine) <= len(theirs):
            return not any(key in theirs and value.clashes(theirs[key]) for key, value in mine.items())
        return not any(key in mine and mine[key].clashes(value) for key, value in theirs.items())

    @property
    def well_known(self) -> frozenset[str]:
        """Labels that a NodePool or claim with these requirements need not define, including EKS Auto Mode's."""
        return _AUTO_MODE_WELL_KNOWN if _AUTO_MODE_CLASS in self._by_key else WELL_KNOWN

    def incompatibilities(
        self, incoming: Requirements, allow_undefined: AbstractSet[str] = _NOTHING
    ) -> list[UndefinedKey] | list[KeyConflict]:
        """Return the reasons why ``incoming`` cannot be met together with these, empty if it can.

        An undefined key is an error unless it is in ``allow_undefined`` or its operator is NotIn or DoesNotExist. Only
        the first undefined key is reported, and then no conflicts.

        Args:
            incoming: Requested requirements, such as a pod's.
            allow_undefined: Well-known labels for NodePools and claims; nothing for nodes.
        """
        for requirement in sorted(incoming, key=lambda r: r.key):
            if requirement.key in self._by_key or requirement.key in allow_undefined or requirement.is_negative:
                continue
            return [UndefinedKey(requirement, self._hint(requirement.key, allow_undefined))]
        return self.conflicts(incoming)

    def compatible(self, incoming: Requirements, allow_undefined: AbstractSet[str] = _NOTHING) -> bool:
        """Return whether ``incoming`` can be met together with these; see `incompatibilities`."""
        mine = self._by_key
        for key, requirement in incoming._by_key.items():
            present = mine.get(key)
            if present is None:
                if key not in allow_undefined and not requirement.is_negative:
                    return False
            elif present.clashes(requirement):
                return False
        return True

    def _hint(self, key: str, allow_undefined: AbstractSet[str]) -> str:
        ending = key.partition("/")[2] if "/" in key else key
        for label in (*sorted(allow_undefined), *sorted(self._by_key)):
            if key in label or label.endswith(ending):
                return label
        return ""

    def as_selectors(self) -> list[dict[str, Any]]:
        """Return the entries of a NodeClaim's ``spec.requirements``, sorted by key and operator."""
        entries = [entry for requirement in self for entry in requirement.as_selectors()]
        entries.sort(key=lambda entry: (entry["key"], entry["operator"]))
        return entries


def _owning(by_key: dict[str, Requirement]) -> Requirements:
    """Wrap a dictionary without copying or intersecting."""
    requirements = Requirements()
    requirements._by_key = by_key  # noqa: SLF001 - a second constructor
    return requirements
