"""Contents of the top bar, most important first, in long and short forms."""

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
    """Whether its long form is preferred even if others are short."""


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
    """Karpenter's version, dropped before any figure if space is short; None if unknown."""


def version_fact(version: str) -> Fact | None:
    """Return the running Karpenter version, and the modelled version if different."""
    if not version:
        return None
    text = f"Karpenter {version}"
    if is_modelled(version):
        return Fact(text, f"v{version}", Tone.MUTED)
    return Fact(
        f"{text}, modelled by {rules_for(version).version}", f"v{version} ≠ {rules_for(version).version}", Tone.WARNING
    )
