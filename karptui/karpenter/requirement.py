"""Karpenter's requirement on one label key: the values it allows (``pkg/scheduling/requirement.go``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from karptui.karpenter.labels import KEY_ALIASES

MAX_INT64: Final = 2**63 - 1
MIN_INT64: Final = -(2**63)

IN: Final = "In"
NOT_IN: Final = "NotIn"
EXISTS: Final = "Exists"
DOES_NOT_EXIST: Final = "DoesNotExist"
GTE: Final = "Gte"
LTE: Final = "Lte"
OPERATORS: Final = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, "Gt", "Lt", GTE, LTE)
"""Those that objects may spell."""

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NOTHING: Final[frozenset[str]] = frozenset()


def parse_integer(text: str) -> int | None:
    """Return the base-10 64-bit integer that ``text`` spells, or None: no blanks, no underscores, no overflow."""
    if _INTEGER.fullmatch(text) is None:
        return None
    value = int(text)
    return value if MIN_INT64 <= value <= MAX_INT64 else None


def _bound(text: str) -> int:
    """Read a bound leniently: text that is no number counts as 0, one out of range as the nearest 64-bit number."""
    if _INTEGER.fullmatch(text) is None:
        return 0
    return max(MIN_INT64, min(MAX_INT64, int(text)))


class Requirement(msgspec.Struct, frozen=True, cache_hash=True):
    """The values that one label key may have.

    A set of values or, with ``complement``, everything but these; the bounds hold for values that are integers.
    """

    key: str
    complement: bool
    """Whether ``values`` are the excluded ones."""
    values: frozenset[str] = _NOTHING
    gte: int | None = None
    """Least integer allowed; only a complement has bounds."""
    lte: int | None = None
    """Greatest integer allowed."""
    min_values: int | None = None
    """How many different values of this key the instance types of a claim must offer."""

    @classmethod
    def of(cls, key: str, operator: str, values: Iterable[str] = (), min_values: int | None = None) -> Requirement:
        """Build a requirement from the way objects spell it.

        Args:
            key: Label key; an alias (``beta.kubernetes.io/arch``) is read as the key it stands for.
            operator: In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte. Any other allows any value, as Karpenter's
                ``NewRequirementWithFlexibility`` has it: the API server refuses it, but a file may hold it.
            values: The operator's values; bounds use the first, and count as 0 without one.
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
        # Below the least 64-bit integer the count wraps around, as it does in Karpenter.
        return cls(key, True, _NOTHING, None, MAX_INT64 if bound == MIN_INT64 else bound - 1, min_values)

    @classmethod
    def exists(cls, key: str) -> Requirement:
        """Return the requirement that allows any value, which is also what an undefined key stands for."""
        return cls(key, True)

    @property
    def operator(self) -> str:
        """Operator read back: NotIn, Exists, In or DoesNotExist; bounds do not show."""
        if self.complement:
            return NOT_IN if self.values else EXISTS
        return IN if self.values else DOES_NOT_EXIST

    @property
    def is_negative(self) -> bool:
        """Whether the operator is NotIn or DoesNotExist: these two never clash with each other."""
        return self.complement is bool(self.values)

    def allows(self, value: str) -> bool:
        """Return whether a node whose label has this value meets the requirement."""
        return ((value in self.values) is not self.complement) and _within(value, self.gte, self.lte)

    def intersect(self, other: Requirement) -> Requirement:
        """Return what both allow; the key is this one's."""
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
        """Return whether some value is allowed by both; two complements always have one unless their bounds cross."""
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
        """Return whether ``incoming`` cannot be met beside this; two negative operators never clash."""
        return not self.has_intersection(incoming) and not (incoming.is_negative and self.is_negative)

    def with_min_values(self, min_values: int | None) -> Requirement:
        """Return the same values with another number of them to offer."""
        if self.min_values == min_values:
            return self
        return Requirement(self.key, self.complement, self.values, self.gte, self.lte, min_values)

    def as_selectors(self) -> list[dict[str, Any]]:
        """Return the entries of a NodeClaim's ``spec.requirements``: values sorted; bounds hide excluded values."""
        if self.gte is not None or self.lte is not None:
            entries = [(GTE, self.gte), (LTE, self.lte)]
            return [_selector(self.key, op, [str(n)], self.min_values) for op, n in entries if n is not None]
        return [_selector(self.key, self.operator, sorted(self.values), self.min_values)]

    def __str__(self) -> str:
        """Return the wording of Karpenter's messages: at most five values, then how many more."""
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
