"""The fields a filter can ask about, and how the words of a filter are read for each kind of amount."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, Generic, TypeAlias, TypeVar

import msgspec

from karptui.kube.quantity import QuantityError, parse_quantity

ItemT = TypeVar("ItemT")
FieldValue: TypeAlias = float | str | tuple[str, ...] | None

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d|w|y)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_536_000}


class FieldKind(StrEnum):
    """What a field holds, which decides how the value in a filter is read."""

    TEXT = "text"
    CPU = "cpu"
    """Millicores; ``2`` and ``2000m`` are the same."""
    BYTES = "bytes"
    """Bytes; ``4Gi`` and ``4294967296`` are the same."""
    COUNT = "count"
    DURATION = "duration"
    """Seconds; ``90s``, ``2h``, ``1d12h``."""
    MONEY = "money"
    """US dollars per hour."""


class Field(msgspec.Struct, Generic[ItemT], frozen=True):
    """One thing a filter can ask about an item."""

    kind: FieldKind
    value: Callable[[ItemT, int], FieldValue]
    """From the item and now (nanoseconds since the epoch) to the value in the unit of the kind.

    None when there is none.
    """
    share: Callable[[ItemT], float | None] | None = None
    """The same as a percentage, for fields that have one: ``cpu>80%``."""
    help: str = ""
    """What it is, for the help screen."""


Fields: TypeAlias = Mapping[str, Field[ItemT]]

_EXAMPLES: Final = {
    FieldKind.TEXT: "spot*",
    FieldKind.CPU: "500m or 2",
    FieldKind.BYTES: "4Gi",
    FieldKind.COUNT: "10",
    FieldKind.DURATION: "2h",
    FieldKind.MONEY: "0.5",
}


def example(kind: FieldKind, *, has_share: bool) -> str:
    """Return values that a field of this kind understands, for help and errors."""
    return f"{_EXAMPLES[kind]} or 80%" if has_share else _EXAMPLES[kind]


def parse_amount(kind: FieldKind, text: str) -> float:
    """Return the amount in the unit of the kind.

    Raises:
        ValueError: when the text is not such an amount.
    """
    if kind is FieldKind.DURATION:
        return parse_duration(text)
    if kind is FieldKind.MONEY:
        return float(text.removeprefix("$"))
    try:
        quantity = parse_quantity(text)
    except QuantityError as error:
        raise ValueError(str(error)) from error
    return quantity.nano / 1_000_000 if kind is FieldKind.CPU else quantity.nano / 1_000_000_000


def parse_duration(text: str) -> float:
    """Return the seconds of ``45s``, ``2h``, ``1d12h``; a plain number is seconds.

    Raises:
        ValueError: when the text is not a duration.
    """
    if text.isdecimal():
        return float(text)
    position, seconds = 0, 0.0
    for match in _DURATION.finditer(text):
        if match.start() != position:
            break
        seconds += float(match[1]) * _SECONDS[match[2]]
        position = match.end()
    if not text or position != len(text):
        raise ValueError(f"{text!r} is not a duration")
    return seconds
