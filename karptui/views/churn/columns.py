"""The table of churn by NodePool: its columns, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from karptui.kube.objects import EMPTY_LABELS
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import count_text, span_text
from karptui.session.churn import ChurnEntry
from karptui.views.churn.sentences import LOOP_WORDS, per_hour, rate_text, reasons_text
from karptui.views.column import (
    INSTANT_OR_NULL,
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    number_heading,
)
from karptui.views.instants import instant_value, seconds_of
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone, text_cell
from karptui.views.table import Sort, TableSpec, natural_key


def _count(count: int, tone: Tone = Tone.NORMAL) -> Cell:
    return Cell(count_text(count), tone if count else Tone.MUTED)


def _counts(
    heading: Heading,
    read: Callable[[ChurnEntry], int],
    values: tuple[Value[ChurnEntry], ...],
    *,
    filter_help: str,
    tone: Tone = Tone.NORMAL,
) -> Column[ChurnEntry]:
    """Return a column of counts; ``tone`` applies to counts above 0."""
    return Column(
        heading,
        lambda entry, _: _count(read(entry), tone),
        lambda entry: float(read(entry)),
        values=values,
        filters={heading.id: Field(FieldKind.COUNT, lambda entry, _: read(entry), help=filter_help)},
    )


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


def _since(entry: ChurnEntry) -> str | None:
    """Return the start of the counters, in whole seconds."""
    if entry.counters is None:
        return None
    return instant_value(entry.counters.since_ns // NS_PER_SECOND * NS_PER_SECOND)


def _counters(entry: ChurnEntry) -> Cell:
    counters = entry.counters
    if counters is None:
        return NOT_AVAILABLE
    return Cell(f"{count_text(counters.created)} created, {count_text(counters.terminated)} terminated")


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 2)


COLUMNS: Final[tuple[Column[ChurnEntry], ...]] = (
    Column(
        Heading("name", "POOL", "The NodePool.", 8, 32),
        lambda entry, _: text_cell(entry.name, Tone.STRONG),
        lambda entry: natural_key(entry.name),
        values=(
            Value(
                "pool",
                lambda entry, _: entry.figures.pool or None,
                str | None,
                "Null for NodeClaims whose NodePool is unknown.",
            ),
        ),
        filters={"name": Field(FieldKind.TEXT, lambda entry, _: entry.name, help="NodePool")},
    ),
    Column(
        Heading(
            "nodes",
            "STAY",
            "NodeClaims that exist and are not being deleted.",
            5,
            7,
            drop_order=4,
            is_right_aligned=True,
        ),
        lambda entry, _: _count(entry.figures.nodes),
        lambda entry: float(entry.figures.nodes),
        values=(Value("nodes", lambda entry, _: entry.figures.nodes, int, "NodeClaims that are there and stay."),),
    ),
    _counts(
        number_heading("created", "CREATED", "NodeClaims created in the observed period.", 8, drop_order=2),
        lambda entry: entry.figures.created,
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
        filter_help="NodeClaims created",
    ),
    _counts(
        number_heading("removed", "REMOVED", "NodeClaims removed in the observed period.", 8),
        lambda entry: entry.figures.removed,
        values=(Value("removed", lambda entry, _: entry.figures.removed, int, after="created"),),
        filter_help="NodeClaims removed",
    ),
    Column(
        NumberHeading("rate", "/H", "Removed per hour; n/a over less than ten minutes.", 4, 7, drop_order=5),
        lambda entry, _: _rate(entry),
        lambda entry: float(entry.figures.removed),
        values=(
            Value(
                "removed_per_hour",
                lambda entry, _: _rounded(per_hour(entry.figures.removed, entry.window)),
                float | None,
                after="created_per_hour",
            ),
        ),
    ),
    Column(
        Heading("why", "WHY", "Why they were removed, the most frequent first.", 15, 60),
        lambda entry, _: text_cell(reasons_text(entry.figures.reasons)),
        lambda entry: reasons_text(entry.figures.reasons) or None,
        values=(
            Value(
                "reasons",
                lambda entry, _: {str(reason): count for reason, count in entry.figures.reasons},
                dict[str, int],
                "By reason: Underutilized, Empty, Drifted, Expired, Interrupted, Repaired, LaunchFailed, "
                "NeverRegistered, NodePoolDeleted, ScaledDown, Deleted, Unknown.",
            ),
        ),
        filters={
            "why": Field(
                FieldKind.TEXT,
                lambda entry, _: tuple(str(reason) for reason, _ in entry.figures.reasons),
                help="Drifted, Empty…",
            )
        },
    ),
    Column(
        Heading(
            "life", "LIVED", "Median lifetime of the removed NodeClaims.", 5, 7, drop_order=3, is_right_aligned=True
        ),
        lambda entry, _: _life(entry),
        lambda entry: None if entry.figures.median_life_ns is None else float(entry.figures.median_life_ns),
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
        filters={
            "life": Field(
                FieldKind.DURATION,
                lambda entry, _: (
                    None if entry.figures.median_life_ns is None else entry.figures.median_life_ns / NS_PER_SECOND
                ),
                help="median lifetime of removed nodes",
            )
        },
    ),
    _counts(
        number_heading("short", "<30M", "Removed by Karpenter within 30m of creation.", 6, drop_order=6),
        lambda entry: entry.figures.short,
        values=(
            Value(
                "removed_within_30m",
                lambda entry, _: entry.figures.short,
                int,
                "Underutilized, Empty or Drifted within half an hour of their creation.",
            ),
        ),
        filter_help="removed within 30m",
        tone=Tone.WARNING,
    ),
    _counts(
        number_heading(
            "again",
            "AGAIN",
            "Removed as underutilized or empty, then the same type launched again within 15m.",
            6,
            drop_order=7,
        ),
        lambda entry: entry.figures.again,
        values=(
            Value(
                "same_type_again",
                lambda entry, _: entry.figures.again,
                int,
                "Removed as Underutilized or Empty, then the same type launched again within 15 minutes.",
            ),
        ),
        filter_help="launched again with the same type",
        tone=Tone.WARNING,
    ),
    Column(
        NumberHeading("moved", "MOVED", "Pods seen to leave nodes of the pool that were leaving.", 5, 7, drop_order=8),
        lambda entry, _: _count(entry.figures.moves),
        lambda entry: float(entry.figures.moves),
        values=(
            Value(
                "pods_moved",
                lambda entry, _: entry.figures.moves,
                int,
                "Pods seen to leave nodes of the pool that were leaving.",
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
        lambda entry: -float(sum(loop.times for loop in entry.figures.loops)) if entry.figures.loops else None,
        values=(
            Value(
                "loops",
                lambda entry, _: [str(loop.kind) for loop in entry.figures.loops],
                {"type": "array", "items": {"enum": ["short-lived", "same-type", "never-joined"]}},
            ),
        ),
        filters={
            "loop": Field(
                FieldKind.TEXT,
                lambda entry, _: tuple(str(loop.kind) for loop in entry.figures.loops),
                help="short-lived…",
            )
        },
    ),
    Column(
        Heading("counters", "KARPENTER", "Its own counters, since its controller began.", 12, 40, is_wide_only=True),
        lambda entry, _: _counters(entry),
        lambda entry: float(entry.counters.created) if entry.counters is not None else None,
        values=(
            Value(
                "karpenter_since",
                lambda entry, _: _since(entry),
                INSTANT_OR_NULL,
                "When Karpenter's own counters began.",
            ),
            Value(
                "karpenter_created",
                lambda entry, _: entry.counters.created if entry.counters is not None else None,
                int | None,
            ),
            Value(
                "karpenter_disrupted",
                lambda entry, _: dict(entry.counters.disrupted) if entry.counters is not None else None,
                {"type": ["object", "null"], "additionalProperties": int},
                "By Karpenter's reason in lower case.",
            ),
            Value(
                "karpenter_terminated",
                lambda entry, _: entry.counters.terminated if entry.counters is not None else None,
                int | None,
            ),
        ),
    ),
)
"""Every column in order."""

TABLE: Final[TableSpec[ChurnEntry]] = TableSpec(
    noun="NodePools",
    columns=COLUMNS,
    text=lambda entry: f"{entry.name} {reasons_text(entry.figures.reasons)}".lower(),
    labels=lambda entry: entry.pool.labels if entry.pool is not None else EMPTY_LABELS,
    key=lambda entry: entry.key,
    default_sort=Sort("removed", is_descending=True),
    is_notable=lambda entry, _: bool(entry.figures.loops),
)
"""The table of the Churn screen."""
