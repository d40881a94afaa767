"""The table of sources: how each kind of object stands, and who is asked for instance types, prices and usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.kube.units import age_text, count_text
from karptui.session.status import KindStatus
from karptui.views.column import Column, Field, FieldKind, Heading
from karptui.views.row import NOT_APPLICABLE, Cell, Tone, text_cell
from karptui.views.table import Sort, TableSpec

_TONES: Final = {
    "live": Tone.GOOD,
    "offline": Tone.RESERVED,
    "not installed": Tone.MUTED,
    "off": Tone.MUTED,
    "not available": Tone.MUTED,
    "connecting": Tone.ACTIVE,
    "syncing": Tone.ACTIVE,
    "stale": Tone.WARNING,
    "forbidden": Tone.WARNING,
    "disconnected": Tone.FAULT,
}


def _count(status: KindStatus, _: int) -> Cell:
    if status.phase in ("forbidden", "not installed", "not available", "off"):
        return NOT_APPLICABLE
    of = f" of about {count_text(status.total_estimate)}" if status.total_estimate and status.phase == "syncing" else ""
    return Cell(count_text(status.count) + of)


def _heard(status: KindStatus, now_ns: int) -> Cell:
    if not status.last_contact_ns:
        return NOT_APPLICABLE
    return Cell(f"{age_text(status.last_contact_ns, now_ns)} ago")


def _why_tone(status: KindStatus) -> Tone:
    """Return how loudly it is said; that a source of prices is not available is a normal state."""
    return Tone.MUTED if status.phase in ("not available", "off") else Tone.WARNING


FIELDS: Final[Mapping[str, Field[KindStatus]]] = {
    "kind": Field(FieldKind.TEXT, lambda status, _: status.kind, help="kind"),
    "phase": Field(FieldKind.TEXT, lambda status, _: status.phase, help="live, forbidden…"),
}

TABLE: Final[TableSpec[KindStatus]] = TableSpec(
    noun="kinds",
    columns=(
        Column(
            Heading("kind", "KIND", "What is read.", min_width=12),
            lambda status, _: text_cell(str(status.kind), Tone.STRONG),
            lambda status: str(status.kind),
        ),
        Column(
            Heading("phase", "PHASE", "How far the source has come.", min_width=13),
            lambda status, _: text_cell(str(status.phase), _TONES.get(status.phase, Tone.NORMAL)),
            lambda status: str(status.phase),
        ),
        Column(
            Heading("count", "OBJECTS", "How many are held.", is_right_aligned=True, is_descending_first=True),
            _count,
            lambda status: float(status.count),
        ),
        Column(
            Heading("since", "SINCE", "How long the phase has lasted.", is_right_aligned=True),
            lambda status, now_ns: Cell(age_text(status.since_ns, now_ns)),
            lambda status: -float(status.since_ns),
        ),
        Column(
            Heading("heard", "HEARD", "When the server last said anything.", is_right_aligned=True, drop_order=1),
            _heard,
            lambda status: -float(status.last_contact_ns) or None,
        ),
        Column(
            Heading("error", "WHY", "Why it is not live.", min_width=10, max_width=200),
            lambda status, _: text_cell(status.last_error, _why_tone(status)),
            lambda status: status.last_error or None,
        ),
    ),
    text=lambda status: f"{status.kind} {status.phase}".lower(),
    more_filters=FIELDS,
    key=lambda status: str(status.kind),
    default_sort=Sort("kind"),
    is_notable=lambda status, _: _TONES.get(status.phase) in (Tone.WARNING, Tone.FAULT),
)
"""One row per kind."""
