"""The events table, and the texts of an event."""

from __future__ import annotations

from datetime import tzinfo
from operator import attrgetter
from typing import Final

from karptui.kube.objects import Condition
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, clock_text, count_text, instant_text
from karptui.session.events import DELETED, EventEntry
from karptui.views.column import INSTANT_OR_NULL, Column, Field, FieldKind, Heading, NumberHeading, Value
from karptui.views.instants import instant_value, seconds_since
from karptui.views.row import NOT_AVAILABLE, TONE_RANKS, Cell, Pieces, Tone, text_cell
from karptui.views.sanitize import clean, clean_lines, short_name
from karptui.views.table import Sort, TableSpec

_GOOD: Final = ("Ready", "Launched", "Registered", "Initialized")
_LEAVING: Final = ("Drained", "VolumesDetached", "InstanceTerminating", "DisruptionReason")


def event_tone(entry: EventEntry) -> Tone:
    """Return the severity of an event."""
    if not entry.is_transition:
        return Tone.WARNING if entry.is_warning else Tone.NORMAL
    if entry.condition is None:
        return Tone.WARNING if entry.is_warning else Tone.LEAVING if entry.reason == DELETED else Tone.NORMAL
    return _condition_tone(entry.condition)


def _condition_tone(condition: Condition) -> Tone:
    kind, is_true = condition.type, condition.status == "True"
    if kind in _LEAVING:
        return Tone.LEAVING
    if kind in _GOOD:
        return Tone.GOOD if is_true else Tone.ACTIVE if _is_starting(condition) else Tone.FAULT
    if kind == "Drifted" or (condition.is_good_when_false and is_true):
        return Tone.WARNING
    return Tone.NORMAL if is_true else Tone.WARNING


def _is_starting(condition: Condition) -> bool:
    return condition.status == "Unknown" and condition.type in ("Registered", "Initialized")


def event_sentences(entry: EventEntry, now_ns: int) -> tuple[Pieces, ...]:
    """Return the source, reason and time of an event, with its full message below."""
    between = (" · ", Tone.MUTED)
    text = (
        "recorded by the object itself" if entry.is_transition else f"reported by {entry.source or 'an unnamed source'}"
    )
    head: list[tuple[str, Tone]] = [(f"{entry.kind} {entry.object_key}", Tone.STRONG), between]
    head += [(entry.reason, event_tone(entry)), between, (text, Tone.NORMAL)]
    if entry.last_ns:
        head += [between, (f"{clock_text(entry.last_ns)}, {age_text(entry.last_ns, now_ns)} ago", Tone.NORMAL)]
    if entry.count > 1:
        since = f" in {age_text(entry.first_ns, entry.last_ns)}" if 0 < entry.first_ns < entry.last_ns else ""
        head += [between, (f"{count_text(entry.count)} times{since}", Tone.NORMAL)]
    return tuple(head), ((entry.message or "no message", Tone.NORMAL if entry.message else Tone.MUTED),)


def event_text(entry: EventEntry, now_ns: int, local: tzinfo | None = None) -> str:
    """Return everything about a row as text, every different message in full."""
    first, last = (
        f"{instant_text(at_ns, local)}, {age_text(at_ns, now_ns)} ago" if at_ns else ""
        for at_ns in (entry.first_ns, entry.last_ns)
    )
    rows = (
        ("Object", f"{entry.kind} {entry.object_key}"),
        ("Reason", entry.reason),
        ("Source", "a condition of the object" if entry.is_transition else entry.source),
        ("Times", count_text(entry.count)),
        ("First", first),
        ("Last", last),
    )
    lines = [f"{title + ':':<9}{clean(text)}" for title, text in rows if text]
    for message in entry.messages:
        lines += ["", *clean_lines(message)]
    return "\n".join(lines)


_LIFE: Final = ("Created", "Launched", "Registered", "Initialized")


def _age(at_ns: int, now_ns: int) -> Cell:
    return Cell(age_text(at_ns, now_ns)) if at_ns else NOT_AVAILABLE


def _newest_first(entry: EventEntry) -> tuple[float, ...] | None:
    """Return the sort key: newest first; lifecycle steps of one instant in their order."""
    if not entry.last_ns:
        return None
    return -float(entry.last_ns), -float(_LIFE.index(entry.reason) if entry.reason in _LIFE else len(_LIFE))


COLUMNS: Final[tuple[Column[EventEntry], ...]] = (
    Column(
        Heading("age", "LAST", "Time since it was last reported.", 5, 7, is_right_aligned=True),
        lambda entry, now_ns: _age(entry.last_ns, now_ns),
        _newest_first,
        values=(
            Value("last", lambda entry, _: instant_value(entry.last_ns), INSTANT_OR_NULL),
            Value(
                "last_seconds", lambda entry, now_ns: seconds_since(entry.last_ns, now_ns), int | None, after="first"
            ),
        ),
        filters=Field(
            FieldKind.DURATION,
            lambda entry, now_ns: (now_ns - entry.last_ns) / NS_PER_SECOND if entry.last_ns else None,
            "since the last",
        ),
    ),
    Column(
        Heading("time", "TIME", "The same as the time of day.", 9, 9, is_wide_only=True),
        lambda entry, _: Cell(clock_text(entry.last_ns)) if entry.last_ns else NOT_AVAILABLE,
        _newest_first,
    ),
    Column(
        NumberHeading("first", "FIRST", "Time since it was first reported, if that is longer.", 5, 7, drop_order=5),
        lambda entry, now_ns: Cell("") if entry.first_ns == entry.last_ns else _age(entry.first_ns, now_ns),
        lambda entry: -float(entry.first_ns) if entry.first_ns else None,
        values=Value("first", lambda entry, _: instant_value(entry.first_ns), INSTANT_OR_NULL, after="last"),
    ),
    Column(
        NumberHeading("count", "TIMES", "How many times it was reported.", 5, 7, drop_order=3),
        lambda entry, _: Cell(f"×{count_text(entry.count)}") if entry.count > 1 else Cell(""),
        lambda entry: float(entry.count),
        values=Value("count", lambda entry, _: entry.count, int, after="last_seconds"),
        filters=Field(FieldKind.COUNT, lambda entry, _: entry.count, "how often"),
    ),
    Column(
        Heading("kind", "KIND", "The kind of object.", 9, 14, drop_order=4),
        lambda entry, _: text_cell(entry.kind),
        lambda entry: entry.kind,
        values=Value("kind", lambda entry, _: entry.kind, str),
        filters=Field(FieldKind.TEXT, lambda entry, _: entry.kind, "Node, NodeClaim, NodePool, Pod"),
    ),
    Column(
        Heading("name", "OBJECT", "Its object.", 16, 48, is_name=True),
        lambda entry, _: text_cell(entry.object_key, Tone.STRONG, short=short_name(entry.object_key)),
        attrgetter("object_key"),
        values=Value("object", lambda entry, _: entry.object_key, str, "namespace/name, or the name alone."),
        filters={
            "object": Field(
                FieldKind.TEXT,
                lambda entry, _: (entry.object_key, entry.object_key.rpartition("/")[2], short_name(entry.object_key)),
                "name, with or without its namespace",
            )
        },
    ),
    Column(
        Heading("status", "REASON", "In one word: the event's reason, or the condition.", 18, 30),
        lambda entry, _: text_cell(entry.reason, event_tone(entry)),
        lambda entry: (float(TONE_RANKS.get(event_tone(entry), 9)), entry.reason),
        values=Value("reason", lambda entry, _: entry.reason, str),
        filters={
            "reason": Field(FieldKind.TEXT, lambda entry, _: entry.reason, "DisruptionBlocked, Drifted, NotReady…")
        },
    ),
    Column(
        Heading("message", "MESSAGE", "The newest message.", 24, 160),
        lambda entry, _: text_cell(entry.message, Tone.MUTED if entry.is_transition else Tone.NORMAL),
        lambda entry: entry.message or None,
        values=Value("message", lambda entry, _: entry.message, str),
        filters=Field(FieldKind.TEXT, lambda entry, _: entry.messages, "message: *do-not-disrupt*"),
    ),
    Column(
        Heading("source", "SOURCE", "Reporter; condition: recorded on the object itself.", 9, 24, is_wide_only=True),
        lambda entry, _: text_cell(entry.source, Tone.MUTED),
        lambda entry: entry.source,
        values=Value(
            "source",
            lambda entry, _: entry.source or None,
            str,
            "Source of the message; condition for the object's own conditions.",
        ),
        filters=Field(FieldKind.TEXT, lambda entry, _: entry.source, "karpenter, condition"),
    ),
)


TABLE: Final[TableSpec[EventEntry]] = TableSpec(
    noun="events",
    columns=COLUMNS,
    text=lambda entry: f"{entry.kind}/{entry.object_key} {entry.reason} {entry.message}".lower(),
    key=lambda entry: entry.key,
    default_sort=Sort("age"),
    is_notable=lambda entry, _: event_tone(entry) in (Tone.FAULT, Tone.WARNING),
)
