"""Cells of three-part bars: what DaemonSets and the workload ask of what there is."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from karptui.kube.units import percent_text
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, Bar, Cell, Tone


class Share(msgspec.Struct, frozen=True, gc=False):
    """What is asked of one resource: integers of one unit."""

    daemons: int
    workload: int
    capacity: int
    """Allocatable; 0 where the node has not said."""

    @property
    def requested(self) -> int:
        """Everything that pods ask for."""
        return self.daemons + self.workload

    @property
    def free(self) -> int:
        """What is left; negative where more is asked than there is."""
        return self.capacity - self.requested

    @property
    def percent(self) -> float | None:
        """Requested of allocatable in percent; None where the node has not said what there is."""
        return 100 * self.requested / self.capacity if self.capacity > 0 else None


NOTHING = Share(0, 0, 0)
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
