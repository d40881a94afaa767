"""The rules of all style sheets, each sheet read once for the colours there are.

Textual throws away what it has read whenever a screen is shown for the first time, and reads every sheet again for
each kind of widget that follows: a good part of the time to a first frame.

Measured by benchmarks/textual_pieces.py: 0.65 s of processor time to open every screen once, 0.96 without.
Could become upstream: "Stylesheet.reparse throws its cache away although no variable has changed".
"""

from __future__ import annotations

from typing import Final

from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet

_SHEETS: Final = 1_024
"""More than there are kinds of widgets, each of which brings a sheet."""


class StyleRules(Stylesheet):
    """A style sheet that reads again only what has changed."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        """Make an empty sheet.

        Args:
            variables: the theme's colours by name.
        """
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(_SHEETS)

    def set_variables(self, variables: dict[str, str]) -> None:
        """Take other colours; all sheets are read again where they differ from those there are."""
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        """Read what has changed."""
        self.parse()
