"""Shapes of Go values, as far as Karpenter's hashes look at them."""

from __future__ import annotations

from enum import Enum, auto

import msgspec


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
    """A NodePool's duration, for which ``Never`` is the same as nothing."""


class TextMap(msgspec.Struct, frozen=True):
    """A map with text keys."""

    value: Shape


class ListOf(msgspec.Struct, frozen=True):
    """A slice; its order does not matter to the hash."""

    item: Shape


class Field(msgspec.Struct, frozen=True):
    """A field of a struct that is hashed."""

    go_name: str
    json_name: str
    shape: Shape
    is_pointer: bool = False
    """Whether a value of zero is told apart from an absent one."""


class Record(msgspec.Struct, frozen=True):
    """A struct."""

    go_name: str
    fields: tuple[Field, ...]
    """Those that are hashed, in Go's order."""


Shape = Scalar | TextMap | ListOf | Record
