"""How fresh an analysis is, said where it is shown."""

from __future__ import annotations

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import count_text, counted, duration_text
from karptui.session.border import Overview
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean


def unready_line(overview: Overview, doing: str) -> tuple[str, Tone]:
    """Return why there is no answer: what is missing, what is on its way, or else what is being done."""
    reason = overview.unready_because
    return (f"not worked out: {reason}", Tone.WARNING) if overview.is_out_of_reach else (reason or doing, Tone.ACTIVE)


def freshness(overview: Overview, now_ns: int) -> Pieces:
    """Return when the analysis was made, how far behind the cluster it is, and what is still being simulated.

    Args:
        overview: How much is known of the cluster.
        now_ns: The present instant: nanoseconds since the epoch.
    """
    analysis = overview.analysed
    if analysis is None:
        return (unready_line(overview, "being worked out"),)
    if analysis.problem:
        return ((f"the newest state could not be analysed: {clean(analysis.problem)}", Tone.FAULT),)
    still_open = f"{count_text(analysis.simulated)} of {count_text(analysis.managed)} nodes simulated"
    behind = overview.generation - analysis.generation
    return computed(now_ns - analysis.now_ns, behind, "" if analysis.is_complete else still_open)


def computed(age_ns: int, behind: int, still_open: str = "") -> Pieces:
    """Return how old what karptui has worked out is, how many changes of the cluster it lacks, and what is open."""
    seconds = max(age_ns, 0) // NS_PER_SECOND
    parts = [f"computed by karptui {duration_text(seconds)} ago" if seconds else "computed by karptui just now"]
    if behind > 0:
        parts.append(f"{counted(behind, 'change')} behind")
    if still_open:
        parts.append(still_open)
    return ((", ".join(parts), Tone.MUTED if behind <= 0 else Tone.ACTIVE),)


def why_unknown(overview: Overview) -> str:
    """Return why what keeps nodes could not be worked out; empty where it is known or on its way."""
    if overview.analysed is not None and overview.analysed.problem:
        return f"what keeps nodes could not be worked out: {clean(overview.analysed.problem)}"
    return f"what keeps nodes is not known: {overview.unready_because}" if overview.is_out_of_reach else ""


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
