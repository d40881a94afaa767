"""The money that is spent on nodes which would go if nothing were in their way, in words."""

from __future__ import annotations

from karptui.aws.money import per_hour_text
from karptui.kube.units import NA
from karptui.session.costs import Held
from karptui.views.row import Tone
from karptui.views.top_bar import Fact


def held_text(held: Held) -> str:
    """Return ``$4.12/h``; with a plus where more may come to it, and ``…`` where nothing is known yet."""
    if held.waiting and not held.nodes:
        return "…"
    if held.nodes and held.nodes == held.unpriced:
        return NA
    more = "+" if held.waiting or held.unpriced else ""
    return f"{per_hour_text(held.per_hour, held.currency)}{more}"


def held_fact(held: Held) -> Fact:
    """Return the figure for the top bar."""
    text = f"held {held_text(held)}"
    return Fact(text, text, Tone.WARNING if held.per_hour else Tone.MUTED)
