"""The row under the cursor of the Pending screen in sentences."""

from __future__ import annotations

from karptui.kube.units import count_text
from karptui.pending.causes import FAULTY, Cause
from karptui.pending.nearest import furthest
from karptui.views.pending.entry import PendingEntry
from karptui.views.pending.misses import miss_text
from karptui.views.pending.refusals import refusals_text
from karptui.views.pending.words import cause_sentence, disagreement_lines, problem_lines, quote_lines
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean


def story_lines(entry: PendingEntry, now_ns: int) -> tuple[Pieces, ...]:
    """Return what pods wait for, where the verdicts differ, and who said what."""
    group = entry.group
    tone = Tone.FAULT if group.cause in FAULTY else Tone.NORMAL
    many = f"{count_text(len(group.pods))} pods: " if len(group.pods) > 1 else ""
    lines: list[Pieces] = [((f"{many}{cause_sentence(group.first, group.cause)}", tone),)]
    lines += disagreement_lines(group)
    if group.cause is Cause.UNPLACED:
        lines += _nearest(entry)
    lines += problem_lines(group)
    lines += quote_lines(group, now_ns, hears_events=entry.hears_events)
    return tuple(lines)


def _nearest(entry: PendingEntry) -> tuple[Pieces, ...]:
    explanation = entry.group.explanation
    if explanation is None:
        return ((("why is being worked out", Tone.ACTIVE),),)
    pool = furthest(explanation)
    parts = [] if pool is None else [f"closest: {clean(pool.nodepool)}: {miss_text(pool)}"]
    parts.append(f"nodes: {refusals_text(explanation)}")
    return ((("✘ ", Tone.FAULT), (" · ".join(parts), Tone.NORMAL)),)
