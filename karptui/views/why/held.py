"""The money that is spent on nodes which would go if nothing were in their way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from karptui.aws.money import per_hour_text
from karptui.kube.units import NA
from karptui.views.row import Tone
from karptui.views.top_bar import Fact

if TYPE_CHECKING:
    from karptui.session.nodes import NodeEntry


class Held(msgspec.Struct, frozen=True):
    """What several nodes hold together."""

    per_hour: float = 0.0
    currency: str = "USD"
    nodes: int = 0
    """Nodes that would go."""
    unpriced: int = 0
    """Those of them whose price nobody knows."""
    waiting: int = 0
    """Nodes that are not looked into yet, or have something in their way and are not simulated yet."""


def held_per_hour(entry: NodeEntry) -> float | None:
    """Return what would be saved per hour if nothing were in a node's way; None where that is not known.

    Zero where the node would stay anyway, and where nothing is in its way. The saving is the share that Karpenter
    reckons with, of the price that is shown for the node.
    """
    found = entry.findings
    if found is None or (found.blockers and found.outlook is None):
        return None
    if not found.blockers or found.outlook is None:
        return 0.0
    lifted = found.outlook.lifted
    keeps_drain = any(blocker.blocks_drain for blocker in found.blockers)
    if not lifted.goes or (found.outlook.now.goes and not keeps_drain):
        return 0.0
    if entry.price is None:
        return None
    if lifted.outcome == "delete" or not found.price_per_hour:
        return entry.price.per_hour
    return entry.price.per_hour * min(lifted.savings_per_hour / found.price_per_hour, 1.0)


def held_of(entries: Iterable[NodeEntry]) -> Held:
    """Return what nodes hold together."""
    per_hour, currency, nodes, unpriced, waiting = 0.0, "USD", 0, 0, 0
    for entry in entries:
        found = entry.findings
        if found is None:
            waiting += entry.node is not None and entry.is_managed
            continue
        if not found.blockers:
            continue
        amount = held_per_hour(entry)
        if amount is None:
            waiting += found.outlook is None
            unpriced += found.outlook is not None
        elif amount > 0:
            per_hour += amount
            nodes += 1
            currency = entry.price.currency if entry.price is not None else currency
    return Held(per_hour, currency, nodes + unpriced, unpriced, waiting)


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
