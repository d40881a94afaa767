"""The table of the Churn screen: a row for each NodePool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karptui.kube.objects import EMPTY_LABELS
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.kube.units import count_text
from karptui.views.churn.entry import PoolEntry, per_hour
from karptui.views.churn.words import LOOP_WORDS, rate_text, reasons_text, span_text
from karptui.views.column import Column, Heading
from karptui.views.fields import Field, FieldKind
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone, text_cell
from karptui.views.table import Sort, TableSpec, natural_key


def _count(count: int, tone: Tone = Tone.NORMAL) -> Cell:
    return Cell(count_text(count), tone if count else Tone.MUTED)


def _rate(entry: PoolEntry) -> Cell:
    if per_hour(0, entry.window) is None:
        return NOT_AVAILABLE
    return Cell(rate_text(entry.figures.removed, entry.window), Tone.NORMAL if entry.figures.removed else Tone.MUTED)


def _life(entry: PoolEntry) -> Cell:
    if not entry.figures.removed:
        return NOT_APPLICABLE
    median_ns = entry.figures.median_life_ns
    return NOT_AVAILABLE if median_ns is None else Cell(span_text(median_ns))


def _loop(entry: PoolEntry) -> Cell:
    words = ", ".join(LOOP_WORDS[loop.kind] for loop in entry.figures.loops)
    return Cell(f"⟳ {words}", Tone.WARNING) if words else NOT_APPLICABLE


def _counters(entry: PoolEntry) -> Cell:
    counters = entry.counters
    if counters is None:
        return NOT_AVAILABLE
    return Cell(f"{count_text(counters.created)} created, {count_text(counters.terminated)} terminated")


COLUMNS: Final[tuple[Column[PoolEntry], ...]] = (
    Column(
        Heading("name", "POOL", "The NodePool.", 8, 32),
        lambda entry, _: text_cell(entry.name, Tone.STRONG),
        lambda entry: natural_key(entry.name),
    ),
    Column(
        Heading("nodes", "NODES", "NodeClaims that are there and stay.", 5, 7, drop_order=4, is_right_aligned=True),
        lambda entry, _: _count(entry.figures.nodes),
        lambda entry: float(entry.figures.nodes),
    ),
    Column(
        Heading(
            "created", "CREATED", "NodeClaims created in the time that is known.", 7, 8, drop_order=2,
            is_right_aligned=True, is_descending_first=True,
        ),
        lambda entry, _: _count(entry.figures.created),
        lambda entry: float(entry.figures.created),
    ),
    Column(
        Heading(
            "removed", "REMOVED", "NodeClaims removed in the time that is known.", 7, 8,
            is_right_aligned=True, is_descending_first=True,
        ),
        lambda entry, _: _count(entry.figures.removed),
        lambda entry: float(entry.figures.removed),
    ),
    Column(
        Heading(
            "rate", "/H", "Removed per hour; n/a over less than ten minutes.", 4, 7, drop_order=5,
            is_right_aligned=True, is_descending_first=True,
        ),
        lambda entry, _: _rate(entry),
        lambda entry: float(entry.figures.removed),
    ),
    Column(
        Heading("why", "WHY", "Why they were removed, the most frequent first.", 15, 60),
        lambda entry, _: text_cell(reasons_text(entry.figures.reasons)),
        lambda entry: reasons_text(entry.figures.reasons) or None,
    ),
    Column(
        Heading(
            "life", "LIVED", "Median from creation until deletion, of those removed.", 5, 7, drop_order=3,
            is_right_aligned=True,
        ),
        lambda entry, _: _life(entry),
        lambda entry: None if entry.figures.median_life_ns is None else float(entry.figures.median_life_ns),
    ),
    Column(
        Heading(
            "short", "<30M", "Taken away by Karpenter within half an hour of their creation.", 4, 6, drop_order=6,
            is_right_aligned=True, is_descending_first=True,
        ),
        lambda entry, _: _count(entry.figures.short, Tone.WARNING),
        lambda entry: float(entry.figures.short),
    ),
    Column(
        Heading(
            "again", "AGAIN", "Underutilized or empty, and one of the same type came in its place or within 15 m.", 5,
            6, drop_order=7, is_right_aligned=True, is_descending_first=True,
        ),
        lambda entry, _: _count(entry.figures.again, Tone.WARNING),
        lambda entry: float(entry.figures.again),
    ),
    Column(
        Heading(
            "moved", "MOVED", "Pods seen to leave nodes of the pool that were leaving.", 5, 7, drop_order=8,
            is_right_aligned=True, is_descending_first=True,
        ),
        lambda entry, _: _count(entry.figures.moves),
        lambda entry: float(entry.figures.moves),
    ),
    Column(
        Heading("loop", "LOOP", "What goes round in circles, at least three times.", 8, 32),
        lambda entry, _: _loop(entry),
        lambda entry: -float(sum(loop.times for loop in entry.figures.loops)) if entry.figures.loops else None,
    ),
    Column(
        Heading("counters", "KARPENTER", "Its own counters, since its controller began.", 12, 40, is_wide_only=True),
        lambda entry, _: _counters(entry),
        lambda entry: float(entry.counters.created) if entry.counters is not None else None,
    ),
)  # fmt: skip
"""Every column in order."""

FIELDS: Final[Mapping[str, Field[PoolEntry]]] = {
    "name": Field(FieldKind.TEXT, lambda entry, _: entry.name, help="NodePool"),
    "why": Field(
        FieldKind.TEXT,
        lambda entry, _: tuple(str(reason) for reason, _ in entry.figures.reasons),
        help="Drifted, Empty…",
    ),
    "created": Field(FieldKind.COUNT, lambda entry, _: entry.figures.created, help="NodeClaims created"),
    "removed": Field(FieldKind.COUNT, lambda entry, _: entry.figures.removed, help="NodeClaims removed"),
    "short": Field(FieldKind.COUNT, lambda entry, _: entry.figures.short, help="gone within half an hour"),
    "again": Field(FieldKind.COUNT, lambda entry, _: entry.figures.again, help="the same type came back"),
    "life": Field(
        FieldKind.DURATION,
        lambda entry, _: None if entry.figures.median_life_ns is None else entry.figures.median_life_ns / NS_PER_SECOND,
        help="median life of those removed",
    ),
    "loop": Field(
        FieldKind.TEXT, lambda entry, _: tuple(str(loop.kind) for loop in entry.figures.loops), help="short-lived…"
    ),
}

TABLE: Final[TableSpec[PoolEntry]] = TableSpec(
    noun="NodePools",
    columns=COLUMNS,
    text=lambda entry: f"{entry.name} {reasons_text(entry.figures.reasons)}".lower(),
    more_filters=FIELDS,
    labels=lambda entry: entry.pool.labels if entry.pool is not None else EMPTY_LABELS,
    key=lambda entry: entry.key,
    default_sort=Sort("removed", is_descending=True),
    is_notable=lambda entry, _: bool(entry.figures.loops),
)
"""The table of the Churn screen."""


def pool_values(entry: PoolEntry) -> dict[str, Any]:
    """Return a NodePool's churn as plain values; None is what is not known, or does not apply."""
    figures, counters = entry.figures, entry.counters
    rates = [per_hour(count, entry.window) for count in (figures.created, figures.removed, figures.moves)]
    return {
        "pool": figures.pool or None,
        "nodes": figures.nodes,
        "created": figures.created,
        "removed": figures.removed,
        "created_per_hour": _rounded(rates[0]),
        "removed_per_hour": _rounded(rates[1]),
        "reasons": {str(reason): count for reason, count in figures.reasons},
        "median_life_seconds": None if figures.median_life_ns is None else figures.median_life_ns // NS_PER_SECOND,
        "lives_known": figures.lives_known,
        "removed_within_30m": figures.short,
        "same_type_again": figures.again,
        "pods_moved": figures.moves,
        "pods_moved_per_hour": _rounded(rates[2]),
        "loops": [str(loop.kind) for loop in figures.loops],
        "karpenter_since": format_timestamp(counters.since_ns) if counters is not None and counters.since_ns else None,
        "karpenter_created": counters.created if counters is not None else None,
        "karpenter_disrupted": dict(counters.disrupted) if counters is not None else None,
        "karpenter_terminated": counters.terminated if counters is not None else None,
    }


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 2)
