"""The ``-l`` part of a filter: label selectors written as kubectl takes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

_SET_BASED: Final = re.compile(r"^(?P<key>[^\s=!,()]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)$")
_COMMA: Final = re.compile(r",(?![^()]*\))")
_QUOTES: Final = re.compile(r"[\"'`“”‘’]")
_VALUE: Final = re.compile(r"^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$")
"""What Kubernetes allows; nothing else can ever match."""
_KEY: Final = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$")


class LabelTest(msgspec.Struct, frozen=True):
    """One requirement on labels."""

    key: str
    values: frozenset[str]
    """Allowed (or, negated, refused) values; empty asks only whether the label is there."""
    negated: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels satisfy it. As in Kubernetes, ``!=`` and ``notin`` hold for a missing label."""
        value = labels.get(self.key)
        if not self.values:
            return (value is None) is self.negated
        return (value in self.values) is not self.negated


def parse_label_query(text: str) -> tuple[LabelTest, ...]:
    """Parse ``k=v,k!=v,k,!k,k in (a,b),k notin (a,b)``.

    Raises:
        ValueError: a sentence saying which part cannot be read.
    """
    parts = [part.strip() for part in _COMMA.split(text)]
    return tuple(_parse_part(part) for part in parts if part)


def _parse_part(part: str) -> LabelTest:
    if match := _SET_BASED.match(part):
        key = _key(match["key"], part)
        values = frozenset(_value(value.strip(), part) for value in match["values"].split(","))
        return LabelTest(key, values, negated=match["operator"] == "notin")
    for operator, negated in (("!=", True), ("==", False), ("=", False)):
        key, found, value = part.partition(operator)
        if found:
            return LabelTest(_key(key.strip(), part), frozenset({_value(value.strip(), part)}), negated=negated)
    if part.startswith("!"):
        return LabelTest(_key(part[1:].strip(), part), frozenset(), negated=True)
    return LabelTest(_key(part, part), frozenset())


def _key(key: str, part: str) -> str:
    if not _KEY.match(key):
        _refuse_quotes(part)
        raise ValueError(f"{part!r} is not a label selector: write k=v, k!=v, k, !k or 'k in (a,b)'")
    return key


def _value(value: str, part: str) -> str:
    if not _VALUE.match(value):
        _refuse_quotes(part)
        raise ValueError(f"{value!r} in {part!r} cannot be the value of a label: letters, digits, '-', '_' and '.' can")
    return value


def _refuse_quotes(part: str) -> None:
    """Refuse quotes that a shell or a script left standing."""
    bare = _QUOTES.sub("", part)
    if bare != part:
        raise ValueError(f"{part} has quotes in it, which no label has: write {bare}")
