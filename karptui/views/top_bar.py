"""What stands in the top bar, most important first, in a long and a short form."""

from __future__ import annotations

import msgspec

from karptui.karpenter.rules import is_modelled, rules_for
from karptui.views.row import Tone
from karptui.views.sources import Health


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
    version: Fact | None = None
    """Karpenter's, which goes before every figure does when room is short; None where nobody tells it."""


def version_fact(found: str) -> Fact | None:
    """Return the version of Karpenter that runs, and the one that is modelled where that is another."""
    if not found:
        return None
    text = f"Karpenter {found}"
    if is_modelled(found):
        return Fact(text, f"v{found}", Tone.MUTED)
    return Fact(
        f"{text}, modelled by {rules_for(found).version}", f"v{found} ≠ {rules_for(found).version}", Tone.WARNING
    )
