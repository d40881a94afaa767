"""Columns as data: a screen's table is a list of them, and adding a column is adding an entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeAlias

import msgspec

from karptui.views.fields import ItemT
from karptui.views.row import Cell

SortKey: TypeAlias = float | str | tuple[float | str, ...] | None


class Heading(msgspec.Struct, frozen=True):
    """What a table needs to know about a column to lay it out."""

    id: str
    """Stable name: snake_case, the key of the headless output and of ``:sort``."""
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


class Column(msgspec.Struct, Generic[ItemT], frozen=True):
    """A column of items."""

    heading: Heading
    cell: Callable[[ItemT, int], Cell]
    """From an item and now (nanoseconds since the epoch) to the cell."""
    sort: Callable[[ItemT], SortKey]
    """The item's place among the others; None sorts last in both directions."""
    sort_at: Callable[[ItemT, int], SortKey] | None = None
    """The same for a place that changes with time; goes before ``sort``."""
