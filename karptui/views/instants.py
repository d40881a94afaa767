"""Times as text, the age column, and the freshness of an analysis. UTC comes first, local time in brackets."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Final

from karptui.kube.timestamps import DAY_NS, NS_PER_SECOND, format_timestamp
from karptui.kube.units import age_text, clock_text, count_text, counted, duration_text, instant_text
from karptui.session.answers import Overview
from karptui.views.column import INSTANT_OR_NULL, Column, Field, FieldKind, Heading, ItemT, Value, Words, cell_words
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Pieces, Tone
from karptui.views.sanitize import clean

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def weekday_text(instant_ns: int, local: tzinfo | None = None) -> str:
    """Return ``Tue 17:00Z``, with the local time in brackets when a zone other than UTC is given."""
    moment = _utc(instant_ns)
    text = f"{_DAYS[moment.weekday()]} {moment:%H:%M}Z"
    there = _there(moment, local)
    if there is None:
        return text
    day = "" if there.weekday() == moment.weekday() else f"{_DAYS[there.weekday()]} "
    return f"{text} ({day}{there:%H:%M} {there.tzname()})"


def dated_text(instant_ns: int, now_ns: int) -> str:
    """Return the time of day, with the weekday within a week after today, else with the date."""
    days = instant_ns // DAY_NS - now_ns // DAY_NS
    if not days:
        return clock_text(instant_ns)
    return weekday_text(instant_ns) if 0 < days < len(_DAYS) else instant_text(instant_ns)


def range_text(start_ns: int | None, end_ns: int | None, local: tzinfo | None = None) -> str:
    """Return a window, ``Tue 08:00–17:00Z (09:00–18:00 CET)``; an end that is not known is left out."""
    if start_ns is None or end_ns is None:
        ends = [("from", start_ns), ("until", end_ns)]
        return next((f"{word} {weekday_text(at, local)}" for word, at in ends if at is not None), "")
    start, end = _utc(start_ns), _utc(end_ns)
    text = f"{_span(start, end)}Z"
    here, there = _there(start, local), _there(end, local)
    if here is None and there is None:
        return text
    here, there = start.astimezone(local), end.astimezone(local)
    same = here.weekday() == start.weekday()
    return f"{text} ({_span(here, there) if not same else _span(here, there)[4:]} {there.tzname()})"


def in_text(instant_ns: int, now_ns: int) -> str:
    """Return ``in 3h20m``, or ``now`` for a past instant."""
    left = (instant_ns - now_ns) // NS_PER_SECOND
    return f"in {duration_text(left)}" if left > 0 else "now"


def expiry_text(at_ns: int | None, now_ns: int) -> str:
    """Return when Karpenter replaces something for its age: ``in 3h20m``, ``due`` or ``never``."""
    if at_ns is None:
        return "never"
    text = in_text(at_ns, now_ns)
    return "due" if text == "now" else text


def _span(start: datetime, end: datetime) -> str:
    day = "" if start.date() == end.date() else f"{_DAYS[end.weekday()]} "
    return f"{_DAYS[start.weekday()]} {start:%H:%M}–{day}{end:%H:%M}"


def _utc(instant_ns: int) -> datetime:
    return datetime.fromtimestamp(instant_ns // NS_PER_SECOND, UTC)


def _there(moment: datetime, local: tzinfo | None) -> datetime | None:
    """Return the local time; None if it equals UTC."""
    there = moment.astimezone(local) if local is not None else None
    return there if there is not None and there.utcoffset() else None


def instant_value(instant_ns: int | None) -> str | None:
    """Return an instant for scripts, ``2026-11-20T12:00:07Z``; None if unknown."""
    return format_timestamp(instant_ns) if instant_ns else None


def second_value(instant_ns: int | None) -> str | None:
    """Return an instant in whole seconds for scripts; None if unknown."""
    return instant_value(instant_ns - instant_ns % NS_PER_SECOND) if instant_ns else None


def instant_column(
    heading: Heading, read: Callable[[ItemT], int | None], since: Callable[[ItemT], int], name: str
) -> Column[ItemT]:
    """Return a column of instants, dated if they are on another day."""

    def cell(item: ItemT, _: int) -> Cell:
        at_ns = read(item)
        return Cell(dated_text(at_ns, since(item))) if at_ns is not None else NOT_APPLICABLE

    value = Value[ItemT](name, lambda item, _: second_value(read(item)), INSTANT_OR_NULL, heading.help)
    return Column(heading, cell, read, values=value)


def seconds_since(instant_ns: int | None, now_ns: int) -> int | None:
    """Return the whole seconds since an instant; None if unknown."""
    return (now_ns - instant_ns) // NS_PER_SECOND if instant_ns else None


def seconds_until(instant_ns: int | None, now_ns: int) -> int | None:
    """Return the whole seconds until an instant, negative if it is past; None if unknown."""
    return (instant_ns - now_ns) // NS_PER_SECOND if instant_ns is not None else None


def seconds_of(span_ns: int | None) -> int | None:
    """Return a duration in whole seconds; None if unknown."""
    return span_ns // NS_PER_SECOND if span_ns is not None else None


def age_column(
    heading: Heading,
    since_ns: Callable[[ItemT], int],
    *,
    filter_help: str = "since it was created",
    about: str = "",
    after: str = "",
    words_place: int | None = None,
) -> Column[ItemT]:
    """Return the age column.

    Args:
        since_ns: Start of an item: nanoseconds since the epoch, 0 if unknown.
        about: Description of the value, if its name is not enough.
        after: The value it follows in JSON and CSV.
        words_place: Its position in the line below the table; None to leave it out.
    """

    def cell(item: ItemT, now_ns: int) -> Cell:
        return Cell(age_text(since_ns(item), now_ns)) if since_ns(item) else NOT_AVAILABLE

    def seconds(item: ItemT, now_ns: int) -> float | None:
        return (now_ns - since_ns(item)) / NS_PER_SECOND if since_ns(item) else None

    return Column(
        heading,
        cell,
        lambda item: -float(since_ns(item)) if since_ns(item) else None,
        values=Value(
            "age_seconds", lambda item, now_ns: seconds_since(since_ns(item), now_ns), int | None, about, after
        ),
        filters={"age": Field(FieldKind.DURATION, seconds, filter_help)},
        words=Words(words_place, lambda item, now_ns: cell_words(cell(item, now_ns), "age "))
        if words_place is not None
        else None,
    )


def unready_line(overview: Overview, doing: str) -> tuple[str, Tone]:
    """Return the reason why there is no answer yet: missing, loading or still computing data."""
    reason = overview.unready_because
    return (f"not computed: {reason}", Tone.WARNING) if overview.is_out_of_reach else (reason or doing, Tone.ACTIVE)


def freshness(overview: Overview, now_ns: int) -> Pieces:
    """Return the time of the analysis, its lag behind the cluster, and the progress of simulations."""
    analysis = overview.analysed
    if analysis is None:
        return (unready_line(overview, "being computed"),)
    if analysis.problem:
        return ((f"the newest state could not be analysed: {clean(analysis.problem)}", Tone.FAULT),)
    still_open = f"{count_text(analysis.simulated)} of {count_text(analysis.managed)} nodes simulated"
    behind = overview.generation - analysis.generation
    return computed(now_ns - analysis.now_ns, behind, "" if analysis.is_complete else still_open)


def computed(age_ns: int, behind: int, still_open: str = "") -> Pieces:
    """Return the age of karptui's results, the changes they miss, and pending work."""
    seconds = max(age_ns, 0) // NS_PER_SECOND
    parts = [f"computed by karptui {duration_text(seconds)} ago" if seconds else "computed by karptui just now"]
    if behind > 0:
        parts.append(f"{counted(behind, 'change')} behind")
    if still_open:
        parts.append(still_open)
    return ((", ".join(parts), Tone.MUTED if behind <= 0 else Tone.ACTIVE),)


def why_unknown(overview: Overview) -> str:
    """Return the reason why blockers could not be computed, or an empty string."""
    if overview.analysed is not None and overview.analysed.problem:
        return f"blockers could not be computed: {clean(overview.analysed.problem)}"
    return f"blockers are unknown: {overview.unready_because}" if overview.is_out_of_reach else ""


def short_freshness(overview: Overview) -> str:
    """Return the same in a few characters for a title: nothing when all is up to date."""
    analysis = overview.analysed
    if analysis is None:
        return "" if overview.is_out_of_reach else "computing"
    behind = overview.generation - analysis.generation
    parts = []
    if behind > 0:
        parts.append(f"{count_text(behind)} behind")
    if not analysis.is_complete:
        parts.append(f"simulated {count_text(analysis.simulated)}/{count_text(analysis.managed)}")
    return ", ".join(parts)
