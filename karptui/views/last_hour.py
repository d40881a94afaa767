"""How many NodeClaims there were over the last hour: a line of blocks, a column, a few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from karptui.disruption.churn.last_hour import BIN_NS
from karptui.kube.timestamps import MINUTE_NS, NS_PER_SECOND
from karptui.kube.units import duration_text
from karptui.views.column import Column, Heading, ItemT, Schema, Value
from karptui.views.row import BLOCKS, NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone

_FLAT: Final = "─"
_LEAST_BINS: Final = 3
"""Of a line: two points are none."""
_COUNTS: Final[Schema] = {"type": "array", "items": int | None}


def sparkline(counts: Sequence[int | None]) -> str:
    """Return one block per count, scaled between minimum and maximum; a line if constant, blanks if unknown."""
    known_counts = [count for count in counts if count is not None]
    if len(known_counts) < _LEAST_BINS:
        return ""
    low, high = min(known_counts), max(known_counts)
    steps = len(BLOCKS) - 1

    def block(count: int | None) -> str:
        if count is None:
            return " "
        return _FLAT if high == low else BLOCKS[(count - low) * steps // (high - low)]

    return "".join(map(block, counts))


def trend(counts: Sequence[int | None]) -> int | None:
    """Return the growth of a group's node count since the first known moment; None if too little is known."""
    known_counts = [count for count in counts if count is not None]
    return known_counts[-1] - known_counts[0] if len(known_counts) >= _LEAST_BINS else None


def last_hour_text(counts: Sequence[int | None]) -> str:
    """Return the sparkline and the growth: ``▁▂▃▄█ +4``; empty if unknown or without nodes."""
    change = trend(counts)
    if change is None or not any(counts):
        return ""
    return f"{sparkline(counts)} {change:+d}" if change else f"{sparkline(counts)} ±0"


def last_hour_words(counts: Sequence[int | None]) -> str:
    """Return the same with the time that is known: ``last hour ▁▂▃▄█ +4``, ``last 10m ▁▂█ +4``."""
    text = last_hour_text(counts)
    total = sum(count is not None for count in counts)
    time = "hour" if total == len(counts) else duration_text((total - 1) * BIN_NS / NS_PER_SECOND)
    return f"last {time} {text.strip()}" if text else ""


def last_hour_column(
    read: Callable[[ItemT], Sequence[int | None]], *, drop_order: int, after: str = ""
) -> Column[ItemT]:
    """Return the column of a group's nodes over the last hour.

    Args:
        read: Reads the NodeClaim count at the end of each step; empty if unknown.
    """

    def cell(item: ItemT, _: int) -> Cell:
        counts = read(item)
        text = last_hour_text(counts)
        if not text:
            return NOT_AVAILABLE if counts and set(counts) == {None} else NOT_APPLICABLE
        return Cell(text, Tone.NORMAL if trend(counts) else Tone.MUTED)

    return Column(
        Heading(
            "hour",
            "LAST HOUR",
            "Number of NodeClaims every five minutes, scaled from lowest to highest, and the change over the hour.",
            15,
            drop_order=drop_order,
        ),
        cell,
        lambda item: trend(read(item)),
        values=Value(
            "nodes_last_hour",
            lambda item, _: list(read(item)),
            _COUNTS,
            f"NodeClaims every {BIN_NS // (MINUTE_NS)} minutes, the last is now; null if unknown.",
            after=after,
            flat=lambda counts: " ".join("-" if count is None else str(count) for count in counts),
        ),
    )
