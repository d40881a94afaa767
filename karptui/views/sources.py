"""State of the data: top-bar phrase, notice, placeholder lines, and the Sources table.

Connecting, syncing, empty, filtered, forbidden, stale, disconnected and offline all look different.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from karptui.decode.kinds import KindStatus
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, clock_text, count_text, instant_text, span_text
from karptui.session.status import plural
from karptui.views.column import Column, Field, FieldKind, Heading, NumberHeading, text_column
from karptui.views.row import NOT_APPLICABLE, Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec

_WORST_LAST: Final = ("offline", "live", "not installed", "forbidden", "stale", "syncing", "connecting", "disconnected")


class Health(msgspec.Struct, frozen=True):
    """State of the data in a phrase, with its tone."""

    text: str
    short: str
    tone: Tone


def overall(statuses: Iterable[KindStatus], now_ns: int) -> Health:
    """Return the phrase for the top bar: the worst of all kinds."""
    kind_statuses = list(statuses)
    if not kind_statuses:
        return Health("○ connecting", "○ connecting", Tone.ACTIVE)
    worst = max(kind_statuses, key=_badness)
    match worst.phase:
        case "disconnected":
            which = _which(kind_statuses, "disconnected")
            return Health(f"✖ {which}disconnected, {_retry(worst, now_ns)}", "✖ disconnected", Tone.FAULT)
        case "connecting":
            waited = span_text(now_ns - worst.since_ns)
            return Health(f"○ connecting ({waited})", "○ connecting", Tone.ACTIVE)
        case "syncing":
            slowest = max((s for s in kind_statuses if s.phase == "syncing"), key=lambda s: s.total_estimate or s.count)
            return Health(f"◐ syncing {_progress(slowest)}", f"◐ syncing{_percent(slowest)}", Tone.ACTIVE)
        case "stale":
            silent = span_text(now_ns - _seen_ns(kind_statuses, "stale"))
            return Health(f"◌ {_which(kind_statuses, 'stale')}stale for {silent}", f"◌ stale {silent}", Tone.WARNING)
        case "forbidden":
            missing = ", ".join(plural(s.kind) for s in kind_statuses if s.phase == "forbidden")
            return Health(f"◍ live, no access to {missing}", "◍ live, partly", Tone.WARNING)
        case "offline":
            taken = max(s.since_ns for s in kind_statuses)
            return Health(f"◆ offline, taken {instant_text(taken)}", "◆ offline", Tone.RESERVED)
        case _:
            return Health(f"● live {clock_text(now_ns)}", f"● {clock_text(now_ns)}", Tone.GOOD)


def notice(statuses: Mapping[str, KindStatus], consequences: Mapping[str, str], now_ns: int) -> tuple[str, Tone] | None:
    """Return a notice if data is missing or stale, else None.

    Args:
        consequences: By kind, the part of the screen that needs it.
    """
    if gone := [s for s in statuses.values() if s.phase in ("disconnected", "stale")]:
        worst = max(gone, key=_badness)
        seen_ns = _seen_ns(gone, worst.phase)
        as_of = f" The data is from {clock_text(seen_ns)}." if worst.last_contact_ns else ""
        why = clean(worst.last_error).rstrip(".") or "the API server stopped answering"
        retry = f"; {_retry(worst, now_ns)}" if worst.retry_at_ns else ""
        return f"{why}{retry}.{as_of}", Tone.FAULT if worst.phase == "disconnected" else Tone.WARNING
    hidden = [kind for kind in consequences if (status := statuses.get(kind)) is not None and status.is_unread]
    if hidden and statuses[hidden[0]].phase == "offline":
        if statuses[hidden[0]].count:
            text = f"This file has the {plural(hidden[0])} of one namespace only: list them with --all-namespaces."
            return text, Tone.WARNING
        return f"{plural(hidden[0])} were not listed for this file. {consequences[hidden[0]]}", Tone.WARNING
    if hidden:
        # :sources shows the API server's full message.
        why = clean(statuses[hidden[0]].last_error).partition(": ")[0] or f"{plural(hidden[0])}: forbidden"
        also = f" Nor may {' and '.join(map(plural, hidden[1:]))} be listed." if hidden[1:] else ""
        return f"{why}. {consequences[hidden[0]]}{also} ? has the ClusterRole.", Tone.WARNING
    unread = next((s for s in statuses.values() if s.phase in ("live", "offline") and s.last_error), None)
    if unread is not None:
        # Everything else of the kind is there; what could not be read is left out.
        return clean(unread.last_error), Tone.WARNING
    return None


def no_rows(
    status: KindStatus | None,
    noun: str,
    now_ns: int,
    *,
    total: int = 0,
    filter_text: str = "",
    is_notable: bool = False,
    notable_key: str = "ctrl+z",
) -> tuple[tuple[str, Tone], ...]:
    """Return the lines shown instead of rows."""
    if total and filter_text:
        return (f"no {noun} match  {clean(filter_text)}", Tone.NORMAL), ("esc clears the filter", Tone.MUTED)
    if total and is_notable:
        return (f"no {noun} are blocked or faulty", Tone.GOOD), (
            f"{notable_key} shows all {count_text(total)}",
            Tone.MUTED,
        )
    if total:
        return ((f"no {noun} to show", Tone.MUTED),)
    error = clean(status.last_error) if status else ""
    more = ((error, Tone.MUTED),) if error else ()
    match status.phase if status else "connecting":
        case "connecting":
            waited = f" ({span_text(now_ns - status.since_ns)})" if status else ""
            return (f"connecting…{waited}", Tone.ACTIVE), *more
        case "syncing":
            assert status is not None
            return (f"syncing {_progress(status)}", Tone.ACTIVE), *more
        case "forbidden":
            return (f"{noun}: forbidden", Tone.WARNING), *more, ("? has the ClusterRole that karptui needs", Tone.MUTED)
        case "disconnected":
            assert status is not None
            return (f"disconnected, {_retry(status, now_ns)}", Tone.FAULT), *more
        case "not installed":
            return (f"this cluster does not know {noun}", Tone.WARNING), *more
        case "stale":
            return (f"there were no {noun}, but the API server stopped answering", Tone.WARNING), *more
        case _:
            return (f"there are no {noun}", Tone.MUTED), *more


def _badness(status: KindStatus) -> tuple[int, int]:
    phase = _WORST_LAST.index(status.phase) if status.phase in _WORST_LAST else 0
    return phase, -_last_word(status)


def _which(statuses: Sequence[KindStatus], phase: str) -> str:
    """Return the kinds in a phase, as a prefix; empty if all are."""
    those = [status for status in statuses if status.phase == phase]
    if not any(status.phase == "live" for status in statuses):
        return ""
    return f"{plural(those[0].kind)} " if len(those) == 1 else f"{len(those)} of {len(statuses)} kinds "


def _last_word(status: KindStatus) -> int:
    return status.last_contact_ns or status.since_ns


def _seen_ns(statuses: Iterable[KindStatus], phase: str) -> int:
    """Return when the server last spoke of any kind in a phase: until then the others were silent for want of news."""
    return max(_last_word(status) for status in statuses if status.phase == phase)


def _retry(status: KindStatus, now_ns: int) -> str:
    seconds = -(-(status.retry_at_ns - now_ns) // NS_PER_SECOND)
    return f"retrying in {seconds} s" if seconds > 0 else "retrying"


def _percent(status: KindStatus) -> str:
    if not status.total_estimate:
        return ""
    return f" {min(100 * status.count // status.total_estimate, 99)}%"


def _progress(status: KindStatus) -> str:
    what = plural(status.kind)
    if status.total_estimate:
        return f"{what} {count_text(status.count)} of about {count_text(status.total_estimate)}"
    return f"{what} {count_text(status.count)}"


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
    if status.is_unread or status.phase in ("not installed", "not available", "off"):
        return NOT_APPLICABLE
    of = f" of about {count_text(status.total_estimate)}" if status.total_estimate and status.phase == "syncing" else ""
    return Cell(count_text(status.count) + of)


def _last_contact(status: KindStatus, now_ns: int) -> Cell:
    if not status.last_contact_ns:
        return NOT_APPLICABLE
    return Cell(f"{age_text(status.last_contact_ns, now_ns)} ago")


TABLE: Final[TableSpec[KindStatus]] = TableSpec(
    noun="kinds",
    columns=(
        text_column(
            Heading("kind", "KIND", "The kind of object or source.", 12),
            lambda status: status.kind,
            tone=lambda _: Tone.STRONG,
        ),
        text_column(
            Heading("phase", "PHASE", "Progress of the source.", 13),
            lambda status: status.phase,
            tone=lambda status: _TONES.get(status.phase, Tone.NORMAL),
            filters=Field(FieldKind.TEXT, lambda status, _: status.phase, "live, forbidden…"),
        ),
        Column(NumberHeading("count", "OBJECTS", "Number of objects."), _count, lambda status: status.count),
        Column(
            Heading("since", "SINCE", "Duration of the phase.", is_right_aligned=True),
            lambda status, now_ns: Cell(age_text(status.since_ns, now_ns)),
            lambda status: -status.since_ns,
        ),
        Column(
            Heading("heard", "HEARD", "When the server last sent data.", is_right_aligned=True, drop_order=1),
            _last_contact,
            lambda status: -status.last_contact_ns or None,
        ),
        text_column(
            Heading("error", "WHY", "Why it is not live.", 10, 200),
            lambda status: status.last_error,
            tone=lambda status: Tone.MUTED if status.phase in ("not available", "off") else Tone.WARNING,
            filters={},
        ),
    ),
    text=lambda status: f"{status.kind} {status.phase}".lower(),
    key=lambda status: status.kind,
    default_sort=Sort("kind"),
    is_notable=lambda status, _: _TONES.get(status.phase) in (Tone.WARNING, Tone.FAULT),
)
