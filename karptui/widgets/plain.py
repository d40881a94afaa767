"""Text for widgets that would otherwise read markup: cleaned, and styled by tone."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from karptui.views.row import Tone
from karptui.views.sanitize import clean

TONE_STYLES = {
    Tone.NORMAL: "",
    Tone.MUTED: "$karp-muted",
    Tone.STRONG: "bold $karp-strong",
    Tone.GOOD: "$karp-good",
    Tone.ACTIVE: "$karp-active",
    Tone.LEAVING: "$karp-leaving",
    Tone.WARNING: "$karp-warning",
    Tone.FAULT: "bold $karp-fault",
    Tone.SPOT: "$karp-spot",
    Tone.RESERVED: "$karp-reserved",
    Tone.DAEMON: "$karp-daemon",
    Tone.WORKLOAD: "$karp-workload",
}
"""Content styles by tone; the names are the theme variables of ``widgets.themes``."""


def plain(text: str, tone: Tone = Tone.NORMAL) -> Content:
    """Return text as content that is shown as it is: no markup, no control characters."""
    return Content.styled(clean(text), TONE_STYLES[tone])


def phrase(parts: Iterable[tuple[str, Tone]]) -> Content:
    """Return a line of differently toned pieces."""
    return Content.assemble(*((clean(text), TONE_STYLES[tone]) for text, tone in parts))
