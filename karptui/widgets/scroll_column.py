"""The scroll bar as the last cell of every line: where its thumb is, and what each cell of it shows."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from rich.segment import Segment
from rich.style import Style

EIGHTHS: Final = " ▇▆▅▄▃▂▁"
"""By how many eighths of a cell lie above an edge, the glyph of what lies below it."""
_PARTS: Final = len(EIGHTHS)


@dataclass(frozen=True, slots=True)
class Thumb:
    """The part of a scroll bar that stands for what is seen, in eighths of a cell from the bar's upper end."""

    start: int
    end: int

    @classmethod
    def of(cls, height: int, total: int, position: float) -> Thumb | None:
        """Return the thumb, None where everything is seen.

        Args:
            height: cells of the bar, and lines that are seen.
            total: lines there are.
            position: the first line that is seen.
        """
        if height <= 0 or total <= height:
            return None
        cells = max(1.0, height / (total / height))
        start = int((height - cells) * (position / (total - height)) * _PARTS)
        return cls(start, start + ceil(cells * _PARTS))

    def holds(self, y: int) -> bool:
        """Whether any of the thumb is in a cell of the bar."""
        return self.start < (y + 1) * _PARTS and y * _PARTS < self.end


@dataclass(frozen=True, slots=True)
class ScrollColumn:
    """Draws a scroll bar cell by cell."""

    thumb: Thumb | None
    empty: Segment
    """A cell without thumb."""
    upper: Segment
    """The cell in which the thumb begins."""
    inner: Segment
    lower: Segment
    """The cell in which it ends."""

    @classmethod
    def draw(cls, thumb: Thumb | None, style: Style) -> ScrollColumn:
        """Make the cells of a bar.

        Args:
            thumb: where the thumb is.
            style: the thumb's colour on the bar's.
        """
        turned = style + Style(reverse=True)
        empty, inner = Segment(" ", Style(bgcolor=style.bgcolor)), Segment(" ", turned)
        if thumb is None:
            return cls(None, empty, empty, empty, empty)
        above, below = thumb.start % _PARTS, thumb.end % _PARTS
        upper = Segment(EIGHTHS[above], style) if above else inner
        lower = Segment(EIGHTHS[below], turned) if below else inner
        return cls(thumb, empty, upper, inner, lower)

    def cell(self, y: int) -> Segment:
        """Return a cell of the bar by its place from the top."""
        thumb = self.thumb
        if thumb is None or not thumb.holds(y):
            return self.empty
        if y == (thumb.end - 1) // _PARTS:
            return self.lower
        return self.upper if y == thumb.start // _PARTS else self.inner
