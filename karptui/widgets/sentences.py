"""Text shown without markup: cleaned, styled by tone, and wrapped to the widget's width."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from rich.segment import Segment
from textual.content import Content
from textual.css.styles import RulesMap
from textual.geometry import Size
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widgets import Static

from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.wrapping import hanging, wrapped

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


def phrase(parts: Iterable[tuple[str, Tone]]) -> Content:
    """Return a line of differently toned pieces."""
    return Content.assemble(*((clean(text), TONE_STYLES[tone]) for text, tone in parts))


Breaking: TypeAlias = Callable[[Iterable[Pieces], int], tuple[Pieces, ...]]
"""Breaks lines to a width in cells."""


class Sentences(Static):
    """Shows lines without markup, and redraws only on changes."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget has it
        super().__init__(id=id, markup=False)
        self._broken: tuple[Pieces, ...] = ()
        """Lines that are broken to the width there is, before that."""
        self._breaking: Breaking = hanging
        self._width = 0
        """Width the lines are wrapped to; 0 for other lines."""

    def set_lines(self, lines: Iterable[Iterable[tuple[str, Tone]]]) -> None:
        self._broken, self._width = (), 0
        self._show(lines)

    def set_hanging(self, lines: Iterable[Pieces]) -> None:
        """Show lines of pieces, wrapped between words with a hanging indent."""
        self._break(tuple(lines), hanging)

    def set_wrapped(self, lines: Iterable[Pieces]) -> None:
        """Show lines of pieces, broken between words to the width there is."""
        self._break(tuple(lines), wrapped)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height in lines at a width; lines are wrapped once it is the widget's own."""
        if self._broken and width:
            return len(self._breaking(self._broken, width))
        return super().get_content_height(container, viewport, width)

    def on_resize(self) -> None:
        if self._broken:
            self._break(self._broken, self._breaking)

    def _break(self, lines: tuple[Pieces, ...], breaking: Breaking) -> None:
        width = self.content_size.width
        if width and (lines, breaking, width) == (self._broken, self._breaking, self._width):
            return
        self._broken, self._breaking, self._width = lines, breaking, width
        self._show(breaking(lines, width))

    def _show(self, lines: Iterable[Iterable[tuple[str, Tone]]]) -> None:
        content = Content("\n").join([phrase(line) for line in lines])
        before = self.content
        if content == before:
            return
        width, scalar = self.content_size.width, self.styles.width
        is_as_wide = scalar is None or not scalar.is_auto
        is_as_high = isinstance(before, Content) and 0 < _height(content, width) == _height(before, width)
        self.update(content, layout=not (is_as_wide and is_as_high))  # otherwise the whole screen is laid out again


def _height(content: Content, width: int) -> int:
    """Return the number of lines; 0 if there are none or some are wrapped."""
    lines = content.split("\n", allow_blank=True)
    return len(lines) if content and all(line.cell_length <= width for line in lines) else 0


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
        return f"{self.title.plain}{' ' * GAP}{self.detail.plain}" if self.detail else self.title.plain

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
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
        detail = self.detail.get_optimal_width(rules, container_width)
        return self.title.cell_length + (GAP + detail if self.detail else 0)

    def get_height(self, rules: RulesMap, width: int) -> int:
        if not self.detail:
            return self.title.get_height(rules, width)
        above = 0 if self._is_beside(width) else self.title.get_height(rules, width)
        return above + self.detail.get_height(rules, max(width - self._column(width), 1))

    def _is_beside(self, width: int) -> bool:
        return self.title.cell_length + GAP + min(self.detail.cell_length, LEAST_WIDTH) <= width

    def _column(self, width: int) -> int:
        return self.title.cell_length + GAP if self._is_beside(width) else min(INDENT, width // 2)


@dataclass(frozen=True, slots=True)
class BesideLines(Visual):
    """Several such pairs, one below the other."""

    lines: tuple[Beside, ...]

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        return [strip for line in self.lines for strip in line.render_strips(width, None, style, options)][:height]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return max((line.get_optimal_width(rules, container_width) for line in self.lines), default=0)

    def get_height(self, rules: RulesMap, width: int) -> int:
        return sum(line.get_height(rules, width) for line in self.lines)
