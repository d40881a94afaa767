"""What columns that are not on the screen would say of a row, in words: for the line below the table."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Final, Generic

import msgspec

from karptui.views.fields import ItemT
from karptui.views.row import NOT_APPLICABLE, Cell, Pieces, Tone

NOTHING: Final = ("", Tone.NORMAL)
"""What is told where there is no such value."""
_URGENT: Final = frozenset({Tone.WARNING, Tone.FAULT})


class Told(msgspec.Struct, Generic[ItemT], frozen=True):
    """A column in words."""

    column_id: str
    tell: Callable[[ItemT, int], tuple[str, Tone]]
    """From an item and now (nanoseconds since the epoch) to words with their unit; ``NOTHING`` where there are none."""
    joins: bool = False
    """Whether it is one fact with the column before: an instance type, its capacity type and its zone."""


def unseen_facts(told: Iterable[Told[ItemT]], unseen: Container[str], item: ItemT, now_ns: int) -> tuple[Pieces, ...]:
    """Return what columns say that are not drawn, the most important first and what warns before all of it.

    Args:
        told: columns in words, the most important first.
        unseen: ids of the columns that are not drawn.
        item: what the row stands for.
        now_ns: the present instant: nanoseconds since the epoch.
    """
    facts: list[Pieces] = []
    is_open = False
    for one in told:
        is_open = is_open and one.joins
        if one.column_id not in unseen:
            continue
        said = one.tell(item, now_ns)
        if not said[0]:
            continue
        if is_open:
            facts[-1] = (*facts[-1], (" ", Tone.NORMAL), said)
        else:
            facts.append((said,))
        is_open = True
    return tuple(sorted(facts, key=lambda fact: all(tone not in _URGENT for _, tone in fact)))


def cell_words(cell: Cell, before: str = "", after: str = "") -> tuple[str, Tone]:
    """Return a cell between words that name it; nothing where the column does not apply."""
    if cell == NOT_APPLICABLE:
        return NOTHING
    return f"{before}{' '.join(cell.text.split())}{after}", cell.tone
