"""Texts about past moments: where the user is, and why there is no other moment."""

from __future__ import annotations

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import clock_text, duration_text
from karptui.session.answers import PastMoment, SwitchResult
from karptui.views.row import Tone
from karptui.views.sources import Health

_PAUSE_NS = 15 * NS_PER_SECOND
"""The end of a history that is being written may be as old as this, although nothing is missing."""
_CAUSES = {
    "verdict": "",
    "verdict-over": "over: ",
    "disruption": "disrupted: ",
    "launch-refused": "launch refused: ",
    "edit": "edited: ",
    "restart": "Karpenter restarted ",
    "gap": "recording resumed after a pause",
}
RESULTS = {
    SwitchResult.NOT_KEPT: "this forecast is gone: ctrl+r simulates again",
    SwitchResult.BEGINNING: "the history begins here",
    SwitchResult.NEWEST: "this is the newest recorded moment",
    SwitchResult.NOT_RECORDED: "no history of this cluster is recorded: it is off (history = false), or has just begun",
    SwitchResult.NO_HISTORY: "this file is one moment: only a history (CONTEXT-….karptui) has past moments",
}
"""Why a moment is not shown."""
BEGINS_LATER = "nothing was recorded then: the history begins later"
NO_FURTHER_MARK = {1: "there is no later mark", -1: "there is no earlier mark"}


def past_health(moment: PastMoment, now_ns: int) -> Health:
    """Return the text of the top bar that tells a past moment from the present."""
    at, ago = clock_text(moment.at_ns), duration_text(max(now_ns - moment.at_ns, 0) // NS_PER_SECOND)
    return Health(f"◀ {at} ({ago} ago), not now: . returns", f"◀ {at} ({ago} ago)", Tone.ACTIVE)


def moment_text(moment: PastMoment) -> str:
    """Return the message about a moment that has just been opened; empty if the top bar tells all."""
    if moment.asked_ns - moment.at_ns > _PAUSE_NS:
        return f"nothing is recorded at {clock_text(moment.asked_ns)}: this is the last moment before it"
    if not moment.cause:
        return ""
    names = f"{moment.name}: " if moment.name and moment.text and moment.name not in moment.text else ""
    more = f" (and {moment.more} more)" if moment.more else ""
    return f"{_CAUSES.get(moment.cause, '')}{names}{moment.text or moment.name}{more}"
