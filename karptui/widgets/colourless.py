"""What ``NO_COLOR`` asks for: no colour is sent to the terminal, only bold, dim, underlined and reversed text."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

STANDS_OUT: Final = 0.055
"""Smallest brightness difference that is meant to be visible: the cursor's, not a panel's."""


class Colourless(LineFilter):
    """Removes all colours; text marked by its background only is reversed."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without colour.

        Args:
            segments: The parts of a line.
            background: The colour behind them.
        """
        brightness = background.brightness
        return [Segment(text, style and _colourless(style, brightness), control) for text, style, control in segments]


@lru_cache(4_096)
def _colourless(style: Style, brightness: float) -> Style:
    stands_out = style.bgcolor is not None and abs(_brightness(style.bgcolor) - brightness) > STANDS_OUT
    return Style(
        bold=style.bold,
        dim=style.dim,
        italic=style.italic,
        underline=style.underline,
        strike=style.strike,
        reverse=bool(style.reverse) != stands_out or None,
        meta=style.meta or None,
    )


def _brightness(colour: RichColor) -> float:
    return Color(*colour.get_truecolor()).brightness
