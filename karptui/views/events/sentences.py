"""An event in sentences, and everything about it as text."""

from __future__ import annotations

from datetime import tzinfo

from karptui.kube.units import age_text, clock_text, count_text, instant_text
from karptui.session.events import EventEntry
from karptui.views.events.tone import event_tone
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean, clean_lines


def event_sentences(entry: EventEntry, now_ns: int) -> tuple[Pieces, ...]:
    """Return who said what when, and below it the whole message."""
    between = (" · ", Tone.MUTED)
    said = "recorded by the object itself" if entry.is_transition else f"said by {entry.source or 'nobody named'}"
    head: list[tuple[str, Tone]] = [(f"{entry.kind} {entry.object_key}", Tone.STRONG), between]
    head += [(entry.reason, event_tone(entry)), between, (said, Tone.NORMAL)]
    if entry.last_ns:
        head += [between, (f"{clock_text(entry.last_ns)}, {age_text(entry.last_ns, now_ns)} ago", Tone.NORMAL)]
    if entry.count > 1:
        since = f" in {age_text(entry.first_ns, entry.last_ns)}" if entry.first_ns and entry.last_ns else ""
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
