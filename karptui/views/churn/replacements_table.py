"""The table of replacements: NodeClaims that were removed, in time order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karptui.disruption.churn.life import FAILED, VOLUNTARY, Removal
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.kube.units import age_text, clock_text, count_text
from karptui.views.churn.entry import Replacement
from karptui.views.churn.words import came, span_text, successors_text
from karptui.views.column import Column, Heading
from karptui.views.fields import Field, FieldKind
from karptui.views.names import short_name
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone, text_cell
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec, natural_key

_CAPACITY_TONES: Final = {"spot": Tone.SPOT, "reserved": Tone.RESERVED}
_CAPACITY_SHORT: Final = {"on-demand": "od", "spot": "sp", "reserved": "rs"}


def _why_tone(why: Removal | None) -> Tone:
    if why in FAILED or why is Removal.INTERRUPTED or why is Removal.REPAIRED:
        return Tone.FAULT
    return Tone.LEAVING if why in VOLUNTARY else Tone.NORMAL


def _lived(item: Replacement) -> Cell:
    lived_ns = item.life.lived_ns
    if lived_ns is None:
        return NOT_AVAILABLE
    return Cell(span_text(lived_ns), Tone.WARNING if item.is_short else Tone.NORMAL)


def _unknown(text: str, tone: Tone = Tone.NORMAL, *, short: str = "") -> Cell:
    return text_cell(text, tone, short=short) if text else NOT_AVAILABLE


def _successors(item: Replacement) -> Cell:
    text = successors_text(item)
    if not text:
        return NOT_APPLICABLE
    short = ", ".join(clean(one.claim) for one in came(item))
    is_same = item.is_same_type
    return Cell(text, Tone.WARNING if is_same else Tone.NORMAL, f"= {short}" if is_same else short)


def _pods(item: Replacement) -> Cell:
    if item.life.is_by_events:
        return NOT_AVAILABLE
    return Cell(count_text(item.moves), Tone.NORMAL if item.moves else Tone.MUTED)


COLUMNS: Final[tuple[Column[Replacement], ...]] = (
    Column(
        Heading("age", "AGO", "How long ago its deletion began.", 5, 7, is_right_aligned=True),
        lambda item, now_ns: Cell(age_text(item.life.removed_ns, now_ns)),
        lambda item: -float(item.life.removed_ns),
    ),
    Column(
        Heading("time", "TIME", "The same as the time of day.", 9, 9, drop_order=4),
        lambda item, _: Cell(clock_text(item.life.removed_ns)),
        lambda item: -float(item.life.removed_ns),
    ),
    Column(
        Heading("name", "NODECLAIM", "The NodeClaim that was removed.", 13, 40, is_name=True),
        lambda item, _: text_cell(item.life.claim, Tone.STRONG),
        lambda item: natural_key(item.life.claim),
    ),
    Column(
        Heading("node", "NODE", "Its node.", 13, 48, drop_order=6, is_name=True),
        lambda item, _: _unknown(item.life.node, short=short_name(clean(item.life.node))),
        lambda item: natural_key(item.life.node) if item.life.node else None,
    ),
    Column(
        Heading("pool", "POOL", "Its NodePool.", 7, 24, drop_order=8),
        lambda item, _: _unknown(item.life.pool),
        lambda item: item.life.pool or None,
    ),
    Column(
        Heading("type", "TYPE", "Its instance type.", 10, 20, drop_order=5),
        lambda item, _: _unknown(item.life.instance_type),
        lambda item: natural_key(item.life.instance_type) if item.life.instance_type else None,
    ),
    Column(
        Heading("cap", "CAP", "Spot (sp), on-demand (od) or reserved (rs).", 3, 9, drop_order=7),
        lambda item, _: _unknown(
            item.life.capacity_type,
            _CAPACITY_TONES.get(item.life.capacity_type, Tone.NORMAL),
            short=_CAPACITY_SHORT.get(item.life.capacity_type, ""),
        ),
        lambda item: item.life.capacity_type or None,
    ),
    Column(
        Heading("zone", "ZONE", "Its zone.", 10, 16, is_wide_only=True),
        lambda item, _: _unknown(item.life.zone),
        lambda item: item.life.zone or None,
    ),
    Column(
        Heading("status", "WHY", "Why it was removed.", 13, 16),
        lambda item, _: text_cell(str(item.life.why), _why_tone(item.life.why)),
        lambda item: str(item.life.why),
    ),
    Column(
        Heading("lived", "LIVED", "From its creation until its deletion.", 5, 7, is_right_aligned=True),
        lambda item, _: _lived(item),
        lambda item: None if item.life.lived_ns is None else float(item.life.lived_ns),
    ),
    Column(
        Heading(
            "moved", "PODS", "Pods seen to leave it.", 4, 6, drop_order=3, is_right_aligned=True,
            is_descending_first=True,
        ),
        lambda item, _: _pods(item),
        lambda item: float(item.moves),
    ),
    Column(
        Heading("by", "IN ITS PLACE", "What came, by times and reasons; = is the same type.", 14, 120, drop_order=2),
        lambda item, _: _successors(item),
        lambda item: successors_text(item) or None,
    ),
)  # fmt: skip
"""Every column in order."""

FIELDS: Final[Mapping[str, Field[Replacement]]] = {
    "name": Field(FieldKind.TEXT, lambda item, _: item.life.claim, help="NodeClaim"),
    "node": Field(FieldKind.TEXT, lambda item, _: item.life.node, help="node"),
    "pool": Field(FieldKind.TEXT, lambda item, _: item.life.pool, help="NodePool"),
    "type": Field(FieldKind.TEXT, lambda item, _: item.life.instance_type, help="instance type"),
    "cap": Field(FieldKind.TEXT, lambda item, _: item.life.capacity_type, help="spot, on-demand, reserved"),
    "why": Field(FieldKind.TEXT, lambda item, _: str(item.life.why), help="Drifted, Underutilized, Expired…"),
    "lived": Field(
        FieldKind.DURATION,
        lambda item, _: None if item.life.lived_ns is None else item.life.lived_ns / NS_PER_SECOND,
        help="from creation until deletion",
    ),
    "pods": Field(FieldKind.COUNT, lambda item, _: item.moves, help="pods seen to leave it"),
    "age": Field(
        FieldKind.DURATION, lambda item, now_ns: (now_ns - item.life.removed_ns) / NS_PER_SECOND, help="since its end"
    ),
}


def _text(item: Replacement) -> str:
    life = item.life
    parts = (life.claim, life.node, life.pool, life.instance_type, str(life.why), successors_text(item))
    return " ".join(parts).lower()


TABLE: Final[TableSpec[Replacement]] = TableSpec(
    noun="replacements",
    columns=COLUMNS,
    text=_text,
    more_filters=FIELDS,
    key=lambda item: item.key,
    default_sort=Sort("age"),
    is_notable=lambda item, _: item.is_short or item.back is not None or item.life.why in FAILED,
)
"""The table of replacements, the latest first."""


def replacement_values(item: Replacement) -> dict[str, Any]:
    """Return a removal as plain values; None is what is not known."""
    life = item.life
    return {
        "removed": format_timestamp(life.removed_ns // NS_PER_SECOND * NS_PER_SECOND),
        "nodeclaim": life.claim,
        "node": life.node or None,
        "pool": life.pool or None,
        "type": life.instance_type or None,
        "capacity_type": life.capacity_type or None,
        "zone": life.zone or None,
        "created": format_timestamp(life.created_ns) if life.created_ns else None,
        "reason": str(life.why),
        "lived_seconds": None if life.lived_ns is None else life.lived_ns // NS_PER_SECOND,
        "pods_moved": item.moves,
        "successors": [one.claim for one in item.successors],
        "same_type": item.is_same_type,
        "by_events": life.is_by_events,
    }
