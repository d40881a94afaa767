"""What a remedy comes to, in words and cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karptui.aws.money import node_price_text, per_hour_text
from karptui.kube.units import count_text, counted
from karptui.views.row import NOT_APPLICABLE, Cell, Tone

if TYPE_CHECKING:
    from karptui.whatif.remedies.blockers.remedy import Effect


def total(effect: Effect) -> int:
    """Return how many nodes a remedy is about."""
    return effect.goes + effect.kept + effect.unknown + effect.untried


def nodes_cell(effect: Effect | None) -> Cell:
    """Return ``4 of 6``: how many of the nodes go."""
    if effect is None:
        return NOT_APPLICABLE
    if not total(effect):
        return Cell("0", Tone.MUTED)
    if effect.unknown == total(effect):
        return Cell("…", Tone.ACTIVE)
    if effect.untried and not effect.goes:
        return Cell("try it", Tone.MUTED)
    more = "+" if effect.unknown or effect.untried else ""
    text = f"{count_text(effect.goes)}{more} of {count_text(total(effect))}"
    return Cell(text, Tone.GOOD if effect.goes else Tone.MUTED)


def when_cell(effect: Effect | None) -> Cell:
    """Return when the nodes go."""
    if effect is None or not effect.goes:
        return NOT_APPLICABLE
    return Cell("at once") if effect.is_at_once else Cell("when the pods have ended", short="later")


def saves_cell(effect: Effect | None) -> Cell:
    """Return what is saved per hour."""
    if effect is None or not effect.goes:
        return NOT_APPLICABLE
    text = node_price_text(effect.saves_per_hour)
    return Cell(f"{text}{'+' if effect.unknown or effect.untried else ''}", Tone.STRONG, text.lstrip("$¥"))


def effect_text(effect: Effect | None) -> str:
    """Return ``2 of 4 nodes go at once, $1.01/h``; empty where nothing is known to go."""
    if effect is None or not effect.goes:
        return ""
    nodes = total(effect)
    verb = "goes" if nodes == 1 else "go"
    when = "at once" if effect.is_at_once else "when they have ended"
    return f"{_those_of(effect, nodes)} {verb} {when}, {per_hour_text(effect.saves_per_hour)}"


def offer_text(effect: Effect) -> str:
    """Return ``1 of 2 nodes now, $0.77/h``: the same for a line of several remedies."""
    return f"{_those_of(effect, total(effect))} now, {per_hour_text(effect.saves_per_hour)}"


def _those_of(effect: Effect, nodes: int) -> str:
    """Return how many go of how many nodes there are, ``2 nodes`` where all do."""
    return f"{count_text(effect.goes)} of {counted(nodes, 'node')}" if effect.goes < nodes else counted(nodes, "node")
