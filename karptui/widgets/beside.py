"""Two texts in columns; the second wraps within its column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.segment import Segment
from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

LEAST_WIDTH: Final = 24
"""Minimum width of the second column in cells; below it the text goes under the first."""
INDENT: Final = 4
"""Indent of a text under the first column."""
GAP: Final = 2
"""Blanks between the two."""


@dataclass(frozen=True, slots=True)
class Beside(Visual):
    """A term and its text in two columns, as a Textual visual."""

    title: Content
    """Filled up to the width of its column."""
    detail: Content

    def __str__(self) -> str:
        """Return both in one line."""
        return f"{self.title.plain}{' ' * GAP}{self.detail.plain}" if self.detail else self.title.plain

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """Draw both, from the left edge."""
        if not self.detail:
            return self.title.render_strips(width, height, style, options)
        ground, column = style.rich_style, self._column(width)
        details = self.detail.render_strips(max(width - column, 1), None, style, options)
        blank = Strip([Segment(" " * column, ground)], column)
        above: list[Strip] = []
        starts = [blank] * len(details)
        if self._is_beside(width):
            [title] = self.title.render_strips(column, 1, style, options)
            starts[0] = title.adjust_cell_length(column, ground)
        else:
            above = self.title.render_strips(width, None, style, options)
        return [*above, *(Strip([*start, *line]) for start, line in zip(starts, details, strict=True))][:height]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """Return the cells that both take in one line."""
        detail = self.detail.get_optimal_width(rules, container_width)
        return self.title.cell_length + (GAP + detail if self.detail else 0)

    def get_height(self, rules: RulesMap, width: int) -> int:
        """Return the height in lines at a width."""
        if not self.detail:
            return self.title.get_height(rules, width)
        above = 0 if self._is_beside(width) else self.title.get_height(rules, width)
        return above + self.detail.get_height(rules, max(width - self._column(width), 1))

    def _is_beside(self, width: int) -> bool:
        return self.title.cell_length + GAP + min(self.detail.cell_length, LEAST_WIDTH) <= width

    def _column(self, width: int) -> int:
        """Return the column of the second text."""
        return self.title.cell_length + GAP if self._is_beside(width) else min(INDENT, width // 2)


@dataclass(frozen=True, slots=True)
class BesideLines(Visual):
    """Several such pairs, one below the other."""

    lines: tuple[Beside, ...]

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """Draw them from the left edge."""
        return [strip for line in self.lines for strip in line.render_strips(width, None, style, options)][:height]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """Return the cells that the longest takes in one line."""
        return max((line.get_optimal_width(rules, container_width) for line in self.lines), default=0)

    def get_height(self, rules: RulesMap, width: int) -> int:
        """Return the height in lines at a width."""
        return sum(line.get_height(rules, width) for line in self.lines)
