"""What stands in the top bar, most important first, in a long and a short form."""

from __future__ import annotations

import msgspec

from karptui.views.health import Health
from karptui.views.row import Tone


class Fact(msgspec.Struct, frozen=True):
    """One figure about the cluster."""

    text: str
    short: str = ""
    """Said instead when room is short; empty when the fact goes instead."""
    tone: Tone = Tone.NORMAL
    is_exact: bool = False
    """Whether it is said at length wherever there is room, even if others are not."""


class TopBarValues(msgspec.Struct, frozen=True):
    """Everything the top bar shows."""

    title: str
    """The context, or the file."""
    banner: str = "calm"
    """``calm``, ``caution`` or ``danger``."""
    label: str = ""
    """A word before the title."""
    facts: tuple[Fact, ...] = ()
    """Most important first: the last ones go first when room is short."""
    health: Health = Health("○ connecting", "○ connecting", Tone.ACTIVE)
