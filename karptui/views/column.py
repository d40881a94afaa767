"""Columns as data: table, sorting, filters, help, the line below, JSON, CSV and schema follow from one declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeAlias

import msgspec

from karptui.views.fields import Field, ItemT
from karptui.views.row import NOT_APPLICABLE, Cell, Tone

SortKey: TypeAlias = float | str | tuple[float | str, ...] | None
Schema: TypeAlias = Mapping[str, Any]
NOTHING: Final = ("", Tone.NORMAL)
"""The words of a column where there is no such value."""


class Heading(msgspec.Struct, frozen=True):
    """What a table needs to know about a column to lay it out."""

    id: str
    """Stable name: snake_case, the name for ``:sort`` and ``--sort-by``."""
    title: str
    help: str = ""
    """One sentence for the help screen."""
    min_width: int = 4
    """Cells below which the column is dropped rather than drawn."""
    max_width: int = 60
    """Cells above which it never grows."""
    fill_width: int = 0
    """Cells it grows to when room is left over; 0 does not grow. Columns with bars use it."""
    bar_min: int = 4
    """Cells below which a bar is left out of its column."""
    drop_order: int = 0
    """0 is never dropped; of the others the highest is dropped first when room is short."""
    is_right_aligned: bool = False
    is_name: bool = False
    """Holds names that differ at their end: those that do not fit are cut inside."""
    is_wide_only: bool = False
    """Shown only in the wide layout."""
    is_descending_first: bool = False
    """Sorting by it starts with the largest."""


class Value(msgspec.Struct, Generic[ItemT], frozen=True):
    """One value of ``-o json`` and ``-o csv``: what scripts read by its name."""

    name: str
    read: Callable[[ItemT, int], Any]
    """From an item and now (nanoseconds since the epoch) to the value; None is not known, or does not apply."""
    schema: Schema
    """What JSON may hold there, as JSON Schema says it."""
    about: str = ""
    """What it is, where the name does not say it."""
    after: str = ""
    """The value it stands behind; empty for the one declared before it. Published orders do not change."""
    flat: Callable[[Any], Any] | None = None
    """From the value to what CSV has instead of it; None where that is the same."""

    @property
    def described(self) -> Schema:
        """The schema with its description."""
        return {"description": self.about, **self.schema} if self.about else self.schema


class Words(msgspec.Struct, Generic[ItemT], frozen=True):
    """What the line below the table says of a column that has no room in it."""

    place: int
    """Its place among the columns; what is asked first in trouble comes first."""
    say: Callable[[ItemT, int], tuple[str, Tone]]
    """From an item and now (nanoseconds since the epoch) to words with their unit; ``NOTHING`` where there are none."""
    joins: bool = False
    """Whether it is one fact with the column before: an instance type, its capacity type and its zone."""


class Column(msgspec.Struct, Generic[ItemT], frozen=True):
    """A column of items, and everything else that tells what it shows."""

    heading: Heading
    cell: Callable[[ItemT, int], Cell]
    """From an item and now (nanoseconds since the epoch) to the cell."""
    sort: Callable[[ItemT], SortKey]
    """The item's place among the others; None sorts last in both directions."""
    sort_at: Callable[[ItemT, int], SortKey] | None = None
    """The same for a place that changes with time; goes before ``sort``."""
    values: tuple[Value[ItemT], ...] = ()
    """What it is for scripts."""
    filters: Mapping[str, Field[ItemT]] = {}
    """What a filter can ask of it, by name."""
    words: Words[ItemT] | None = None
    """What the line below the table says of it where it has no room; None where other lines say it anyway."""


def cell_words(cell: Cell, before: str = "", after: str = "") -> tuple[str, Tone]:
    """Return a cell between words that name it; nothing where the column does not apply."""
    if cell == NOT_APPLICABLE:
        return NOTHING
    return f"{before}{' '.join(cell.text.split())}{after}", cell.tone


def in_published_order(values: Iterable[Value[ItemT]]) -> tuple[Value[ItemT], ...]:
    """Return values with each behind the one it stands after.

    Raises:
        ValueError: when one stands after a value that there is not, or in a circle.
    """
    followers: dict[str, list[Value[ItemT]]] = {}
    before = ""
    for value in values:
        behind = followers.setdefault(value.after or before, [])
        behind.insert(0 if value.after else len(behind), value)
        before = value.name
    ordered: list[Value[ItemT]] = []
    waiting = followers.pop("", [])[::-1]
    while waiting:
        value = waiting.pop()
        ordered.append(value)
        waiting += followers.pop(value.name, [])[::-1]
    if followers:
        raise ValueError(f"no value is called {', '.join(followers)}, or values stand behind each other")
    return tuple(ordered)
