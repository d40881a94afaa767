"""Cells of three-part bars: what DaemonSets and the workload ask of what there is."""

from __future__ import annotations

from collections.abc import Callable

from karptui.kube.units import percent_text
from karptui.state.usage import Share
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, Bar, Cell, Tone

WAITING = Cell("…", Tone.MUTED)
"""On its way."""


def share_cell(share: Share, pair_text: Callable[[int, int], str]) -> Cell:
    """Return bar, requested/allocatable and percent; nothing to show where the node has not said what there is.

    Args:
        share: the amounts.
        pair_text: writes requested and allocatable in their unit.
    """
    if share.capacity <= 0:
        return NOT_APPLICABLE
    percent = percent_text(share.requested, share.capacity)
    tone = Tone.WARNING if share.requested > share.capacity else Tone.NORMAL
    text = f"{pair_text(share.requested, share.capacity)} {percent:>4}"
    return Cell(text, tone, percent, bar=Bar(share.daemons, share.workload, share.capacity))


def count_cell(share: Share) -> Cell:
    """Return bar and ``14/234`` for things that are counted."""
    if share.capacity <= 0:
        return NOT_APPLICABLE
    text = f"{share.requested}/{share.capacity}"
    tone = Tone.WARNING if share.requested >= share.capacity else Tone.NORMAL
    return Cell(text, tone, bar=Bar(share.daemons, share.workload, share.capacity))


def hidden_cell(capacity_text: str, *, is_forbidden: bool) -> Cell:
    """Return what stands where the requests are not known: that they are forbidden or on their way, of how much."""
    unknown = FORBIDDEN if is_forbidden else WAITING
    return Cell(f"{unknown.text}/{capacity_text}", unknown.tone, unknown.text)
