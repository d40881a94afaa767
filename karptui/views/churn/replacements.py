"""The table of removed NodeClaims: its columns, and everything that follows from them."""

from __future__ import annotations

from typing import Final

from karptui.disruption.churn.life import FAILED, VOLUNTARY, Removal
from karptui.kube.units import age_text, clock_text, count_text, span_text
from karptui.session.churn import ReplacedClaim
from karptui.views.churn.sentences import replacements_of, successors_text
from karptui.views.column import (
    INSTANT,
    INSTANT_OR_NULL,
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    text_column,
)
from karptui.views.instants import instant_value, second_value, seconds_of, seconds_since
from karptui.views.nodes.cells import CAPACITY_SHORT, capacity_tone
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone
from karptui.views.sanitize import clean, short_name
from karptui.views.table import Sort, TableSpec


def _why_tone(why: Removal | None) -> Tone:
    if why in FAILED or why is Removal.INTERRUPTED or why is Removal.REPAIRED:
        return Tone.FAULT
    return Tone.LEAVING if why in VOLUNTARY else Tone.NORMAL


def _lived(item: ReplacedClaim) -> Cell:
    lived_ns = item.life.lived_ns
    if lived_ns is None:
        return NOT_AVAILABLE
    return Cell(span_text(lived_ns), Tone.WARNING if item.is_short else Tone.NORMAL)


def _successors(item: ReplacedClaim) -> Cell:
    text = successors_text(item)
    if not text:
        return NOT_APPLICABLE
    short = ", ".join(clean(successor.claim) for successor in replacements_of(item))
    is_same = item.is_same_type
    return Cell(text, Tone.WARNING if is_same else Tone.NORMAL, f"= {short}" if is_same else short)


def _pods(item: ReplacedClaim) -> Cell:
    if item.life.is_by_events:
        return NOT_AVAILABLE
    return Cell(count_text(item.moves), Tone.NORMAL if item.moves else Tone.MUTED)


COLUMNS: Final[tuple[Column[ReplacedClaim], ...]] = (
    Column(
        Heading("age", "AGO", "How long ago its deletion began.", 5, 7, is_right_aligned=True),
        lambda item, now_ns: Cell(age_text(item.life.removed_ns, now_ns)),
        lambda item: -item.life.removed_ns,
        values=Value(
            "removed", lambda item, _: second_value(item.life.removed_ns), INSTANT, "When its deletion began."
        ),
        filters=Field(
            FieldKind.DURATION,
            lambda item, now_ns: seconds_since(item.life.removed_ns, now_ns),
            "since its end",
        ),
    ),
    Column(
        Heading("time", "TIME", "The same as the time of day.", 9, 9, drop_order=4),
        lambda item, _: Cell(clock_text(item.life.removed_ns)),
        lambda item: -item.life.removed_ns,
    ),
    text_column(
        Heading("name", "NODECLAIM", "The NodeClaim that was removed.", 13, 40, is_name=True),
        lambda item: item.life.claim,
        tone=lambda _: Tone.STRONG,
        json="nodeclaim",
    ),
    text_column(
        Heading("node", "NODE", "Its node.", 13, 48, drop_order=6, is_name=True),
        lambda item: item.life.node,
        short=lambda item: short_name(item.life.node),
        missing=NOT_AVAILABLE,
        or_null="node",
    ),
    text_column(
        Heading("pool", "POOL", "Its NodePool.", 7, 24, drop_order=8),
        lambda item: item.life.pool,
        missing=NOT_AVAILABLE,
        or_null="pool",
    ),
    text_column(
        Heading("type", "TYPE", "Its instance type.", 10, 20, drop_order=5),
        lambda item: item.life.instance_type,
        missing=NOT_AVAILABLE,
        or_null="type",
    ),
    text_column(
        Heading("cap", "CAP", "Spot (sp), on-demand (od) or reserved (rsv).", 3, 9, drop_order=7),
        lambda item: item.life.capacity_type,
        tone=lambda item: capacity_tone(item.life.capacity_type),
        short=lambda item: CAPACITY_SHORT.get(item.life.capacity_type, ""),
        missing=NOT_AVAILABLE,
        or_null="capacity_type",
    ),
    text_column(
        Heading("zone", "ZONE", "Its zone.", 10, 16, is_wide_only=True),
        lambda item: item.life.zone,
        missing=NOT_AVAILABLE,
        or_null="zone",
    ),
    text_column(
        Heading("status", "WHY", "Why it was removed.", 13, 16),
        lambda item: str(item.life.why),
        tone=lambda item: _why_tone(item.life.why),
        values=Value("reason", lambda item, _: str(item.life.why), str, after="created"),
        filters={"why": Field(FieldKind.TEXT, lambda item, _: str(item.life.why), "Drifted, Underutilized, Expired…")},
    ),
    Column(
        Heading("lived", "LIVED", "From its creation until its deletion.", 5, 7, is_right_aligned=True),
        lambda item, _: _lived(item),
        lambda item: item.life.lived_ns,
        values=(
            Value("created", lambda item, _: instant_value(item.life.created_ns), INSTANT_OR_NULL, after="zone"),
            Value("lived_seconds", lambda item, _: seconds_of(item.life.lived_ns), int | None, after="reason"),
        ),
        filters=Field(
            FieldKind.DURATION, lambda item, _: seconds_of(item.life.lived_ns), "from creation until deletion"
        ),
    ),
    Column(
        NumberHeading("moved", "PODS", "Pods seen to move off it.", 4, 6, drop_order=3),
        lambda item, _: _pods(item),
        lambda item: item.moves,
        values=Value("pods_moved", lambda item, _: item.moves, int),
        filters={"pods": Field(FieldKind.COUNT, lambda item, _: item.moves, "pods seen to move off it")},
    ),
    Column(
        Heading(
            "by",
            "REPLACED BY",
            "Replacements, inferred from times and reasons; = marks the same type.",
            14,
            120,
            drop_order=2,
        ),
        lambda item, _: _successors(item),
        lambda item: successors_text(item) or None,
        values=(
            Value(
                "successors",
                lambda item, _: [successor.claim for successor in item.successors],
                list[str],
                "Replacement NodeClaims, inferred from times and reasons.",
            ),
            Value(
                "same_type",
                lambda item, _: item.is_same_type,
                bool,
                "Whether a replacement has the same type and capacity type.",
            ),
            Value(
                "by_events",
                lambda item, _: item.life.is_by_events,
                bool,
                "Whether it is known only from events; its times are the events' times.",
            ),
        ),
    ),
)


def _text(item: ReplacedClaim) -> str:
    life = item.life
    parts = (life.claim, life.node, life.pool, life.instance_type, str(life.why), successors_text(item))
    return " ".join(parts).lower()


TABLE: Final[TableSpec[ReplacedClaim]] = TableSpec(
    noun="replacements",
    columns=COLUMNS,
    text=_text,
    key=lambda item: item.key,
    default_sort=Sort("age"),
    is_notable=lambda item, _: item.is_short or item.back is not None or item.life.why in FAILED,
)
