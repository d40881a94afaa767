"""Text in markdown that is to be read as it stands."""

from __future__ import annotations

from typing import Final

_ESCAPED: Final = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>()#+!|~"})


def plain(text: str) -> str:
    """Return text of a cluster as markdown that is no markup, mentions nobody, and stays on its line."""
    return text.translate(_ESCAPED).replace("@", "@\u200b").replace("\n", " ")
