"""The table of churn by NodePool: its columns, and everything that follows from them."""

from __future__ import annotations

from typing import Final

from karptui.kube.objects import EMPTY_LABELS
from karptui.kube.units import count_text, span_text
from karptui.session.churn import ChurnEntry, Counters
from karptui.views.churn.sentences import LOOP_WORDS, per_hour, rate_text, reasons_text
from karptui.views.column import (
    INSTANT_OR_NULL,
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    count_column,
    lifted,
    number_heading,
    text_column,
)
from karptui.views.instants import second_value, seconds_of
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, ZERO, Cell, Tone
from karptui.views.table import Sort, TableSpec


def _rate(entry: ChurnEntry) -> Cell:
    if per_hour(0, entry.window) is None:
        return NOT_AVAILABLE
    return Cell(rate_text(entry.figures.removed, entry.window), Tone.NORMAL if entry.figures.removed else Tone.MUTED)


def _life(entry: ChurnEntry) -> Cell:
    if not entry.figures.removed:
        return NOT_APPLICABLE
    median_ns = entry.figures.median_life_ns
    return NOT_AVAILABLE if median_ns is None else Cell(span_text(median_ns))


def _loop(entry: ChurnEntry) -> Cell:
    words = ", ".join(LOOP_WORDS[loop.kind] for loop in entry.figures.loops)
    return Cell(f"⟳ {words}", Tone.WARNING) if words else NOT_APPLICABLE


def _loop_kinds(entry: ChurnEntry) -> list[str]:
    return [str(loop.kind) for loop in entry.figures.loops]


def _counters(entry: ChurnEntry) -> Cell:
    counters = entry.counters
    if counters is None:
        return NOT_AVAILABLE
    return Cell(f"{count_text(counters.created)} created, {count_text(counters.terminated)} terminated")


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 2)


_COUNTERS: Final[tuple[Value[Counters], ...]] = (
    Value(
        "karpenter_since",
        lambda counters, _: second_value(counters.since_ns),
        INSTANT_OR_NULL,
        "When Karpenter's own counters started.",
    ),
    Value("karpenter_created", lambda counters, _: counters.created, int | None),
    Value(
        "karpenter_disrupted",
        lambda counters, _: dict(counters.disrupted),
        {"type": ["object", "null"], "additionalProperties": int},
        "By Karpenter's reason in lower case.",
    ),
    Value("karpenter_terminated", lambda counters, _: counters.terminated, int | None),
)
COLUMNS: Final[tuple[Column[ChurnEntry], ...]] = (
    text_column(
        Heading("name", "POOL", "The NodePool.", 8, 32),
        lambda entry: entry.name,
        tone=lambda _: Tone.STRONG,
        values=Value(
            "pool",
            lambda entry, _: entry.figures.pool or None,
            str | None,
            "Null for NodeClaims whose NodePool is unknown.",
        ),
    ),
    count_column(
        Heading(
            "nodes",
            "STAY",
            "NodeClaims that exist and are not being deleted.",
            5,
            7,
            drop_order=4,
            is_right_aligned=True,
        ),
        lambda entry: entry.figures.nodes,
        zero=ZERO,
        json="nodes",
    ),
    count_column(
        number_heading("created", "CREATED", "NodeClaims created in the observed period.", 8, drop_order=2),
        lambda entry: entry.figures.created,
        zero=ZERO,
        values=(
            Value("created", lambda entry, _: entry.figures.created, int),
            Value(
                "created_per_hour",
                lambda entry, _: _rounded(per_hour(entry.figures.created, entry.window)),
                float | None,
                "Null over less than ten minutes.",
                after="removed",
            ),
        ),
    ),
    count_column(
        number_heading("removed", "REMOVED", "NodeClaims removed in the observed period.", 8),
        lambda entry: entry.figures.removed,
        zero=ZERO,
        values=Value("removed", lambda entry, _: entry.figures.removed, int, after="created"),
    ),
    Column(
        NumberHeading("rate", "/H", "Removed per hour; n/a over less than ten minutes.", 4, 7, drop_order=5),
        lambda entry, _: _rate(entry),
        lambda entry: entry.figures.removed,
        values=Value(
            "removed_per_hour",
            lambda entry, _: _rounded(per_hour(entry.figures.removed, entry.window)),
            float | None,
            after="created_per_hour",
        ),
    ),
    text_column(
        Heading("why", "WHY", "Why they were removed, the most frequent first.", 15, 60),
        lambda entry: reasons_text(entry.figures.reasons),
        values=Value(
            "reasons",
            lambda entry, _: {str(reason): count for reason, count in entry.figures.reasons},
            dict[str, int],
            "By reason: Underutilized, Empty, Drifted, Expired, Interrupted, Repaired, LaunchFailed, "
            "NeverRegistered, NodePoolDeleted, ScaledDown, Deleted, Unknown.",
        ),
        filters=Field(
            FieldKind.TEXT,
            lambda entry, _: tuple(str(reason) for reason, _ in entry.figures.reasons),
            "Drifted, Empty…",
        ),
    ),
    Column(
        Heading(
            "life", "LIVED", "Median lifetime of the removed NodeClaims.", 5, 7, drop_order=3, is_right_aligned=True
        ),
        lambda entry, _: _life(entry),
        lambda entry: entry.figures.median_life_ns,
        values=(
            Value(
                "median_life_seconds",
                lambda entry, _: seconds_of(entry.figures.median_life_ns),
                int | None,
                "Median lifetime of the removed NodeClaims.",
            ),
            Value(
                "lives_known",
                lambda entry, _: entry.figures.lives_known,
                int,
                "Number of removed NodeClaims with a known creation time.",
            ),
        ),
        filters=Field(
            FieldKind.DURATION,
            lambda entry, _: seconds_of(entry.figures.median_life_ns),
            "median lifetime of removed nodes",
        ),
    ),
    count_column(
        number_heading("short", "<30M", "Removed by Karpenter within 30m of creation.", 6, drop_order=6),
        lambda entry: entry.figures.short,
        tone=lambda _: Tone.WARNING,
        zero=ZERO,
        values=Value(
            "removed_within_30m",
            lambda entry, _: entry.figures.short,
            int,
            "Underutilized, Empty or Drifted within half an hour of their creation.",
        ),
    ),
    count_column(
        number_heading(
            "again",
            "AGAIN",
            "Removed as underutilized or empty, then the same type launched again within 15m.",
            6,
            drop_order=7,
        ),
        lambda entry: entry.figures.again,
        tone=lambda _: Tone.WARNING,
        zero=ZERO,
        json="same_type_again",
    ),
    count_column(
        NumberHeading("moved", "MOVED", "Pods seen to move off the pool's nodes being removed.", 5, 7, drop_order=8),
        lambda entry: entry.figures.moves,
        zero=ZERO,
        is_at_least=lambda entry: entry.is_moves_partial,
        values=(
            Value(
                "pods_moved",
                lambda entry, _: entry.figures.moves,
                int,
                "Pods seen to move off the pool's nodes being removed.",
            ),
            Value(
                "pods_moved_per_hour",
                lambda entry, _: _rounded(per_hour(entry.figures.moves, entry.window)),
                float | None,
            ),
        ),
    ),
    Column(
        Heading("loop", "LOOP", "Churn loop, after at least three repetitions.", 8, 32),
        lambda entry, _: _loop(entry),
        lambda entry: -sum(loop.times for loop in entry.figures.loops) if entry.figures.loops else None,
        values=Value(
            "loops",
            lambda entry, _: _loop_kinds(entry),
            {"type": "array", "items": {"enum": ["short-lived", "same-type", "never-joined"]}},
        ),
        filters=Field(FieldKind.TEXT, lambda entry, _: tuple(_loop_kinds(entry)), "short-lived…"),
    ),
    Column(
        Heading("counters", "KARPENTER", "Karpenter's counters, since it started.", 12, 40, is_wide_only=True),
        lambda entry, _: _counters(entry),
        lambda entry: entry.counters.created if entry.counters is not None else None,
        values=lifted(_COUNTERS, lambda entry: entry.counters),
    ),
)

TABLE: Final[TableSpec[ChurnEntry]] = TableSpec(
    noun="NodePools",
    columns=COLUMNS,
    text=lambda entry: f"{entry.name} {reasons_text(entry.figures.reasons)}".lower(),
    labels=lambda entry: entry.pool.labels if entry.pool is not None else EMPTY_LABELS,
    key=lambda entry: entry.key,
    default_sort=Sort("removed", is_descending=True),
    is_notable=lambda entry, _: bool(entry.figures.loops),
)
