"""Draws rows and the header as strips of segments, with their bars and cut names; knows nothing of places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from rich.cells import set_cell_size
from rich.color import ColorType
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from karptui.views.column import Heading
from karptui.views.row import Bar, Cell, Row, Span, Tone
from karptui.views.sanitize import ELLIPSIS, clean
from karptui.views.table import Sort
from karptui.widgets.row_table.layout import GUTTER, Layout, Placed, text_width

CURSOR_GLYPH: Final = "▌"
MARK_GLYPH: Final = "✓"
ASCENDING: Final = "↑"
DESCENDING: Final = "↓"
_CACHED_TEXTS: Final = 4_096


class RowState(NamedTuple):
    """State of a row set by the user."""

    is_cursor: bool = False
    is_marked: bool = False
    is_hovered: bool = False


@dataclass(frozen=True, slots=True)
class Palette:
    """The styles a table draws with, taken from the theme."""

    base: Style
    header: Style
    header_sorted: Style
    header_picked: Style
    cursor: Style
    hover: Style
    marked: Style
    free: Style
    tones: dict[Tone, Style] = field(default_factory=dict)

    def row(self, state: RowState) -> Style:
        style = self.base
        if state.is_marked:
            style += self.marked
        if state.is_hovered:
            style += self.hover
        if state.is_cursor:
            style += self.cursor
        return style

    def tone(self, tone: Tone) -> Style:
        return self.tones.get(tone, Style.null())

    def sentence(self, text: str, tone: Tone, width: int) -> Strip:
        strip = Strip([Segment(text, self.base + self.tone(tone))])
        left = max((width - strip.cell_length) // 2, 0)
        return Strip([Segment(" " * left, self.base), *strip]).crop_extend(0, width, self.base)

    @property
    def is_plain(self) -> bool:
        """Whether every colour is an RGB colour and none is dimmed."""
        styles = (self.base, self.header, self.header_sorted, self.header_picked, self.cursor, self.hover, self.marked)
        return all(map(_is_plain, (*styles, self.free, *self.tones.values())))


@dataclass(frozen=True, slots=True)
class Painter:
    """Draws the lines of one table in one layout and one set of styles."""

    headings: Sequence[Heading]
    layout: Layout
    palette: Palette
    width: int = 0
    """Width to fill a row up to, in cells."""
    _styles: dict[RowState, dict[Tone | None, Style]] = field(default_factory=dict, init=False, compare=False)
    """Finished styles by row state and tone; free cells are under None."""

    def row(self, row: Row, state: RowState) -> Strip:
        """Return a row as a strip of the layout's width and the filling, before scrolling."""
        styles = self._row_styles(state)
        normal = styles[row.tone]
        cells = row.cells
        segments: list[Segment] = []
        text = (CURSOR_GLYPH if state.is_cursor else " ") + (MARK_GLYPH if state.is_marked else " ")
        style, x = styles[Tone.STRONG], GUTTER
        for placed in self.layout.columns:
            if placed.x > x:
                text += " " * (placed.x - x)
            cell = cells[placed.index]
            cell_style = normal if cell.tone is Tone.NORMAL else styles[cell.tone]
            pieces: Sequence[tuple[str, Style]]
            if cell.bar is None and not cell.spans:
                heading, is_long = self.headings[placed.index], placed.is_long
                is_right, is_name = heading.is_right_aligned, heading.is_name
                fitted = _fitted(
                    cell.text, cell.short, placed.width, is_long=is_long, is_right=is_right, is_name=is_name
                )
                pieces = ((fitted, cell_style),)
            else:
                pieces = self._parts(cell, placed, styles, cell_style)
            for piece, piece_style in pieces:
                # Merging equal styles into one segment is cheaper for Textual and the terminal.
                if piece_style is style or not piece:
                    text += piece
                else:
                    segments.append(Segment(text, style))
                    text, style = piece, piece_style
            x = placed.x + placed.width
        segments.append(Segment(text, style))
        if self.width > x:
            segments.append(Segment(" " * (self.width - x), self.palette.row(state)))
        return Strip(segments, max(x, self.width))

    def _row_styles(self, state: RowState) -> dict[Tone | None, Style]:
        styles = self._styles.get(state)
        if styles is None:
            palette, base = self.palette, self.palette.row(state)
            styles = self._styles[state] = {tone: base + palette.tone(tone) for tone in Tone}
            styles[None] = base + palette.free
        return styles

    def header(self, sort: Sort | None, picked: int) -> Strip:
        """Return the header line; ``picked`` is the heading chosen for sorting, -1 for none."""
        palette = self.palette
        segments = [Segment(" " * GUTTER, palette.header)]
        x = GUTTER
        for placed in self.layout.columns:
            heading = self.headings[placed.index]
            if placed.x > x:
                segments.append(Segment(" " * (placed.x - x), palette.header))
            is_sorted = sort is not None and sort.column_id == heading.id
            style = palette.header_sorted if is_sorted else palette.header
            if placed.index == picked:
                style += palette.header_picked
            segments.append(Segment(_title(heading, placed, sort if is_sorted else None), style))
            x = placed.x + placed.width
        return Strip(segments, x)

    def _parts(
        self, cell: Cell, placed: Placed, styles: dict[Tone | None, Style], style: Style
    ) -> Sequence[tuple[str, Style]]:
        """Return the styled parts of a cell with a bar, or with spans of other tones."""
        bar, width = cell.bar, placed.width
        if bar is not None and placed.bar_width:
            text, _ = _form(cell.text, cell.short, width - placed.bar_width - 1, is_long=placed.is_long)
            parts = bar_parts(bar, placed.bar_width)
            return (
                (DAEMON * parts.daemons, styles[Tone.DAEMON]),
                (WORKLOAD * parts.workload + HALF * parts.half, styles[Tone.WORKLOAD]),
                (FREE * parts.free, styles[None]),
                (_padded(text, width - parts.cells, is_right=True), style),
            )
        text, is_long = _form(cell.text, cell.short, width, is_long=placed.is_long)
        if is_long and cell.spans:
            return _spans(text, cell.spans, width, styles, style)
        is_right = bar is not None or self.headings[placed.index].is_right_aligned
        return ((_padded(text, width, is_right=is_right), style),)


def _spans(
    text: str, spans: tuple[Span, ...], width: int, styles: dict[Tone | None, Style], style: Style
) -> list[tuple[str, Style]]:
    segments: list[Segment] = []
    position = 0
    for span in spans:
        if span.start > position:
            segments.append(Segment(text[position : span.start], style))
        segments.append(Segment(text[span.start : span.end], styles[span.tone]))
        position = max(position, span.end)
    segments.append(Segment(text[position:], style))
    fitted = Strip(segments).adjust_cell_length(width, style)
    return [(segment.text, segment.style or style) for segment in fitted]


def _is_plain(style: Style) -> bool:
    colours = (style.color, style.bgcolor)
    return not style.dim and all(colour is None or colour.type is ColorType.TRUECOLOR for colour in colours)


def scrolled(strip: Strip, layout: Layout, scroll_x: int, width: int, filler: Style) -> Strip:
    """Return the part of a strip that shows.

    The frozen columns, then the rest from ``scroll_x`` on, filled up to ``width``; a number that would be cut at the
    edge is left out, as half of it reads as another.
    """
    if not scroll_x and strip.cell_length == width:
        return strip
    whole = layout.whole_until(scroll_x, width)
    if scroll_x:
        frozen = layout.frozen_width
        rest = strip.crop(frozen + scroll_x, scroll_x + whole)
        strip = Strip.join([strip.crop(0, frozen), rest])
    return strip.crop(0, whole).extend_cell_length(width, filler)


def _title(heading: Heading, placed: Placed, sort: Sort | None) -> str:
    title = heading.title
    if sort is not None:
        title += DESCENDING if sort.is_descending else ASCENDING
    title = set_cell_size(title, placed.width) if text_width(title) > placed.width else title
    return title.rjust(placed.width) if heading.is_right_aligned else title.ljust(placed.width)


@lru_cache(_CACHED_TEXTS)
def _fitted(text: str, short: str, width: int, *, is_long: bool, is_right: bool, is_name: bool) -> str:
    """Return a cell's text padded or cut to its column; cached, since most cells repeat."""
    form, _ = _form(text, short, width, is_long=is_long)
    return _padded(form, width, is_right=is_right, is_name=is_name)


def _form(text: str, short: str, width: int, *, is_long: bool) -> tuple[str, bool]:
    """Return the column's form, or the short one where the long one does not fit, and whether it is the long one."""
    text = _safe(text)
    if short and (not is_long or text_width(text) > width):
        return _safe(short), False
    return text, True


def is_cut(cell: Cell, placed: Placed) -> bool:
    """Return whether the form of a cell that is drawn has no room for all of it."""
    room = placed.width - (placed.bar_width + 1 if cell.bar is not None and placed.bar_width else 0)
    text, _ = _form(cell.text, cell.short, room, is_long=placed.is_long)
    return text_width(text) > room


def _safe(text: str) -> str:
    """Clean once more at the last place before the terminal, whatever built the cell."""
    return text if text.isascii() and text.isprintable() else clean(text)


def _padded(text: str, width: int, *, is_right: bool, is_name: bool = False) -> str:
    cells = text_width(text)
    if cells > width:
        return cut_inside(text, width) if is_name else cut_end(text, width)
    return " " * (width - cells) + text if is_right else text + " " * (width - cells)


DAEMON: Final = "╍"
WORKLOAD: Final = "━"
FREE: Final = "┈"
HALF: Final = "╸"


class BarParts(NamedTuple):
    """The cells of a bar: DaemonSets, workload, half a cell of workload, free."""

    daemons: int = 0
    workload: int = 0
    half: int = 0
    """1 if the workload ends in the middle of a cell."""
    free: int = 0

    @property
    def cells(self) -> int:
        return self.daemons + self.workload + self.half + self.free


def bar_parts(bar: Bar, width: int) -> BarParts:
    """Return the parts of a bar, together ``width`` cells, its end drawn to half a cell.

    In two cells or more, DaemonSets take at least one and the workload at least half, and the bar is full only if
    nothing is free.

    Args:
        bar: the amounts; a capacity of 0 draws no bar.
    """
    if bar.capacity <= 0 or width <= 0:
        return BarParts()
    requested = bar.daemons + bar.workload
    if requested <= 0:
        return BarParts(free=width)
    whole = 2 * width
    used = min(max(_rounded(requested * whole, bar.capacity), 1), whole - (requested < bar.capacity))
    room = width - (bar.workload > 0 or (requested < bar.capacity and width > 1))
    daemons = min(max(_rounded(bar.daemons * width, max(bar.capacity, requested)), bar.daemons > 0), room)
    # Rounding up DaemonSets must not hide the workload of a nearly empty node.
    workload = max(used - 2 * daemons, 1) if bar.workload > 0 else 0
    full, half = divmod(workload, 2)
    return BarParts(daemons, full, half, width - daemons - full - half)


def _rounded(amount: int, whole: int) -> int:
    return (2 * amount + whole) // (2 * whole)


LEAST_END: Final = 6
"""Cells of the end that stay: the dash and five characters that Kubernetes gives to names it makes."""
LEAST_START: Final = 3
"""Cells of the beginning that stay before the numbers of an address."""
_NUMBERS: Final = re.compile(r"(?:-[0-9]+)+$")


def cut_end(text: str, width: int) -> str:
    """Return the beginning of a text, and an ellipsis, in as many cells as there are."""
    return set_cell_size(set_cell_size(text, max(width - 1, 0)) + ELLIPSIS, width) if width else ""


def cut_inside(text: str, width: int) -> str:
    """Return both ends of a name with an ellipsis between: ``checkout-api-7c…-x2x4q``, ``ip-1…-39-190``.

    The last part, from its dash on, stays whole unless that is more than half of the column; of an address stay as many
    numbers as there is room for.
    """
    half = (width - 1) // 2
    end = text[-max(LEAST_END, len(text) - max(text.rfind("-"), 0)) :]
    while end and text_width(end) > half:
        end = end[1:]
    end = max(end, _last_numbers(text, width - 1 - LEAST_START), key=len)
    return f"{cut_end(text, width - text_width(end))}{end}"


def _last_numbers(text: str, room: int) -> str:
    """Return as many of the numbers at the end of an address as fit, each with its dash."""
    match = _NUMBERS.search(text)
    numbers = match[0] if match is not None else ""
    while numbers and len(numbers) > room:
        _, dash, rest = numbers[1:].partition("-")
        numbers = dash + rest
    return numbers
