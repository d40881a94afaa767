"""What changed between two moments: the table, and the sentence above it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from karptui.aws.money import per_hour_text
from karptui.changes.row import COST, ObjectChange, What
from karptui.kube.timestamps import DAY_NS
from karptui.kube.units import clock_text, counted, instant_text, span_text
from karptui.views.column import INSTANT_OR_NULL, Column, Heading, Value, one_of, text_column
from karptui.views.instants import second_value
from karptui.views.row import NOT_APPLICABLE, Cell, Tone
from karptui.views.table import Sort, TableSpec

if TYPE_CHECKING:
    from karptui.session.changes import ChangeSet


def value_text(value: Any) -> str:
    """Return a field's value as one line; empty if it is absent."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(value_text, value))
        case {"operator": operator, **rest}:
            return " ".join(filter(None, (str(operator), *map(value_text, rest.values()))))
        case dict():
            return " ".join(f"{name}={value_text(part)}" for name, part in value.items())
        case _:
            return str(value)


def change_text(row: ObjectChange) -> str:
    """Return the field that changed, or what happened to the object or the folded objects."""
    if row.what is What.CAME_AND_GONE:
        counts = ((row.added, "added"), (row.removed, "removed"), (row.moved, "moved"))
        return ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return row.field or str(row.what)


def _side_text(row: ObjectChange, value: Any) -> str:
    return per_hour_text(value) if row.kind == COST and value is not None else value_text(value)


def headline(change_set: ChangeSet) -> str:
    """Return the compared time range, and the number of changes."""
    took = span_text(change_set.to_ns - change_set.from_ns)
    return (
        f"{instant_text(change_set.from_ns)} to {instant_text(change_set.to_ns)} ({took}):"
        f" {counted(len(change_set.changes), 'change') if change_set.changes else 'nothing changed'}"
    )


def _when(row: ObjectChange, now_ns: int) -> Cell:
    if not row.at_ns:
        return NOT_APPLICABLE
    is_recent = 0 <= now_ns - row.at_ns < DAY_NS
    return Cell(clock_text(row.at_ns) if is_recent else instant_text(row.at_ns)[5:])


def _tone(row: ObjectChange) -> Tone:
    if row.what is What.BEGAN:
        return Tone.FAULT
    if row.what is What.ENDED:
        return Tone.GOOD
    return Tone.LEAVING if row.what is What.REMOVED else Tone.NORMAL


_ANYTHING: Final[dict[str, Any]] = {}
_KIND: Final[Column[ObjectChange]] = text_column(
    Heading("kind", "KIND", "Kind of the object; or Settings, Verdict, Cost.", 8, 19),
    lambda row: row.kind,
    json="kind",
)
TABLE: Final[TableSpec[ObjectChange]] = TableSpec(
    "changes",
    (
        # In the order of importance, not of the alphabet.
        msgspec.structs.replace(_KIND, sort=lambda row: row.place),
        text_column(
            Heading("name", "NAME", "The object, or the NodePool of nodes or owner of pods.", 12, 44, is_name=True),
            lambda row: row.name,
            tone=lambda _: Tone.STRONG,
            json="name",
        ),
        text_column(
            Heading("change", "CHANGE", "The field that changed, or what happened to the object.", 12, 60),
            change_text,
            tone=_tone,
            values=(
                Value("change", lambda row, _: str(row.what), one_of(*What), "What happened."),
                Value("field", lambda row, _: row.field or None, str | None, "Path of the field that changed."),
            ),
        ),
        text_column(
            Heading("before", "BEFORE", "Its value before.", 8, 60),
            lambda row: _side_text(row, row.before),
            values=Value(
                "before", lambda row, _: row.before, _ANYTHING, "Value before; null is absent.", flat=value_text
            ),
        ),
        text_column(
            Heading("after", "AFTER", "Its value after.", 8, 60),
            lambda row: _side_text(row, row.after),
            values=Value("after", lambda row, _: row.after, _ANYTHING, "Value after; null is absent.", flat=value_text),
        ),
        Column(
            Heading("when", "WHEN", "When it last changed, in UTC; a dash if that is unknown.", 9, 15, drop_order=1),
            _when,
            lambda row: float(row.at_ns) or None,
            values=Value("at", lambda row, _: second_value(row.at_ns), INSTANT_OR_NULL, "Null if that is unknown."),
        ),
        text_column(
            Heading("by", "BY", "Field manager of the last change: who made it.", 6, 28, drop_order=2),
            lambda row: row.by,
            values=Value("by", lambda row, _: row.by or None, str | None, "Field manager of that change."),
        ),
    ),
    key=lambda row: row.key,
    default_sort=Sort("kind"),
    text=lambda row: f"{row.kind} {row.name} {row.field} {row.by}".lower(),
    more_values=(
        Value("came", lambda row, _: row.added, int, "Folded objects that were added."),
        Value("gone", lambda row, _: row.removed, int, "Folded objects that were removed."),
        Value("moved", lambda row, _: row.moved, int, "Pods that are on another node."),
    ),
    is_notable=lambda row, _: row.what is What.BEGAN,
)
