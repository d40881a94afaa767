"""Shapes of Go values, as far as Karpenter's hashes look at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final, assert_never

import msgspec

from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.quantity import QuantityError, parse_quantity
from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp


class Scalar(Enum):
    """A value without parts."""

    TEXT = auto()
    """A string, or a named string type."""
    BOOL = auto()
    INT32 = auto()
    INT64 = auto()
    QUANTITY = auto()
    """A ``resource.Quantity`` that is hashed by its canonical text."""
    DURATION = auto()
    """A ``metav1.Duration``."""
    NILLABLE_DURATION = auto()
    """A NodePool's duration; ``Never`` equals nil."""
    TIME = auto()
    """A ``metav1.Time``."""


class TextMap(msgspec.Struct, frozen=True):
    """A map with text keys."""

    value: Shape


class ListOf(msgspec.Struct, frozen=True):
    """A slice; its order does not matter to the hash."""

    item: Shape


class GoField(msgspec.Struct, frozen=True):
    """A field of a struct that is hashed."""

    go_name: str
    json_name: str
    shape: Shape
    is_pointer: bool = False
    """Whether zero differs from absent."""


class GoStruct(msgspec.Struct, frozen=True):
    """A struct."""

    go_name: str
    fields: tuple[GoField, ...]
    """The hashed fields, in Go's order."""


Shape = Scalar | TextMap | ListOf | GoStruct
_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MASK: Final = (1 << 64) - 1
NEVER: Final = "Never"
_INT32: Final = 4
_INT64: Final = 8
_SECONDS_TO_1970: Final = 62_135_596_800
"""Seconds since the year 1, Go's epoch; a time is hashed as ``MarshalBinary`` writes it, in UTC."""


class HashError(ValueError):
    """A value that cannot be hashed as Karpenter would; names the field."""


def fnv(data: bytes) -> int:
    """Return the FNV-1 hash of bytes, 64 bits wide."""
    value = _OFFSET
    for byte in data:
        value = (value * _PRIME & _MASK) ^ byte
    return value


def text_hash(text: str) -> int:
    """Return the hash of a string."""
    return fnv(text.encode())


def value_hash(value: Any, shape: Shape, path: str = "") -> int:
    """Return the hash of a JSON value.

    Args:
        value: The value; None is its zero.

    Raises:
        HashError: if the value does not have that shape.
    """
    match shape:
        case Scalar():
            return _scalar(value, shape, path)
        case TextMap():
            return _map(value, shape, path)
        case ListOf():
            if not isinstance(value, Sequence) or isinstance(value, str):
                raise HashError(f"{path}: must be a list")
            combined = 0
            for index, item in enumerate(value):
                combined ^= value_hash(item, shape.item, f"{path}[{index}]")
            return combined
        case GoStruct():
            return _record(value, shape, path)
        case _:
            assert_never(shape)


def _record(value: Any, shape: GoStruct, path: str) -> int:
    if value is not None and not isinstance(value, Mapping):
        raise HashError(f"{path}: must be an object")
    combined = text_hash(shape.go_name)
    for field in shape.fields:
        present = None if value is None else value.get(field.json_name)
        where = f"{path}.{field.json_name}" if path else field.json_name
        if not is_zero(present, field, where):
            combined ^= _ordered(text_hash(field.go_name), value_hash(present, field.shape, where))
            combined = fnv(_bytes(combined))
    return combined


def is_zero(value: Any, field: GoField, path: str) -> bool:
    """Return whether a field is left out of the hash because Go has nothing in it."""
    if value is None:
        return True
    if field.is_pointer:
        return False
    match field.shape:
        case Scalar.NILLABLE_DURATION:
            return bool(value == NEVER)
        case Scalar():
            return not value
        case GoStruct():
            if not isinstance(value, Mapping):
                raise HashError(f"{path}: must be an object")
            return all(is_zero(value.get(g.json_name), g, f"{path}.{g.json_name}") for g in field.shape.fields)
        case _:
            # An empty list or map that is written down is not the same as none.
            return False


def _map(value: Any, shape: TextMap, path: str) -> int:
    if not isinstance(value, Mapping):
        raise HashError(f"{path}: must be an object")
    combined = 0
    for key, item in value.items():
        combined ^= _ordered(text_hash(str(key)), value_hash(item, shape.value, f"{path}.{key}"))
    return fnv(_bytes(combined))


def _scalar(value: Any, shape: Scalar, path: str) -> int:
    match shape:
        case Scalar.TEXT:
            if not isinstance(value, str):
                raise HashError(f"{path}: must be text")
            return text_hash(value)
        case Scalar.BOOL:
            if not isinstance(value, bool):
                raise HashError(f"{path}: must be true or false")
            return fnv(bytes((value,)))
        case Scalar.QUANTITY:
            try:
                return text_hash(str(parse_quantity(str(value))))
            except QuantityError:
                raise HashError(f"{path}: {value!r:.60} is not a quantity") from None
        case Scalar.DURATION:
            nanoseconds = _nanoseconds(value, path)
            return _duration("Duration", nanoseconds) if nanoseconds else text_hash("Duration")
        case Scalar.NILLABLE_DURATION:
            return _duration("NillableDuration", _nanoseconds(value, path))
        case Scalar.TIME:
            return _time(value, path)
        case _:
            if not isinstance(value, int) or isinstance(value, bool):
                raise HashError(f"{path}: must be a number")
            width = _INT32 if shape is Scalar.INT32 else _INT64
            return fnv((value & ((1 << 8 * width) - 1)).to_bytes(width, "little"))


def _duration(go_name: str, nanoseconds: int) -> int:
    field = _ordered(text_hash("Duration"), fnv((nanoseconds & _MASK).to_bytes(_INT64, "little")))
    return fnv(_bytes(text_hash(go_name) ^ field))


def _time(value: Any, path: str) -> int:
    try:
        seconds, nanoseconds = divmod(parse_timestamp(value), NS_PER_SECOND)
    except (ValueError, TypeError, AttributeError):
        raise HashError(f"{path}: {value!r:.60} is not a time") from None
    binary = b"\x01" + (seconds + _SECONDS_TO_1970).to_bytes(8, "big") + nanoseconds.to_bytes(4, "big") + bytes(2)
    return fnv(_bytes(text_hash("Time") ^ _ordered(text_hash("Time"), fnv(binary))))


def _nanoseconds(value: Any, path: str) -> int:
    try:
        return parse_duration(value)
    except (DurationError, TypeError, AttributeError):
        raise HashError(f"{path}: {value!r:.60} is not a duration") from None


def _ordered(left: int, right: int) -> int:
    return fnv(_bytes(left) + _bytes(right))


def _bytes(value: int) -> bytes:
    return value.to_bytes(8, "little")
