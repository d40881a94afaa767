"""Which columns are drawn, where, and how wide: pure arithmetic over headings and measured widths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len

from karptui.views.column import Heading
from karptui.views.row import Row

GUTTER: Final = 2
"""Cells before the first column: the cursor's and the mark's glyph."""
GAP: Final = 2
NARROW_GAP: Final = 1
NARROW_BELOW: Final = 140
"""Table width below which columns have one cell between them instead of two."""
BAR_IDEAL: Final = 8
OPTIONAL_BAR: Final = 5
"""Spare cells needed to draw the bar of a column whose ``bar_min`` is 0."""
WHOLE_NUMBER: Final = 12
"""Maximum width of a number that is never cut: half a number reads as another one."""


@dataclass(frozen=True, slots=True)
class Widths:
    """The widest content seen in one column."""

    text: int = 0
    """Cells of the long form."""
    short: int = 0
    """Cells of the short form."""
    has_bar: bool = False
    """Whether a bar precedes the text."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A column that is drawn."""

    index: int
    """Its place among the headings and in each row's cells."""
    x: int
    """Its first cell, before any horizontal scrolling."""
    width: int
    is_long: bool
    """Whether cells show their long form: a column never mixes the two."""
    bar_width: int = 0
    """Cells of the bar, the same in every row of the column."""
    is_number: bool = False
    """Whether it reads as something else when its end is cut off."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The drawn columns of a table."""

    columns: tuple[Placed, ...]
    width: int
    """Cells from the left edge to the end of the last column."""

    @property
    def frozen_width(self) -> int:
        """Cells at the left that stay in place when the rest scrolls: the gutter and the first column."""
        if len(self.columns) < 2:
            return 0
        return self.columns[1].x

    def scrolled_by(self, offset: int, step: int, available: int) -> int:
        """Return the offset that puts the next column, or the one before, right behind the pinned first one.

        Args:
            step: 1 to the right, -1 to the left.
            available: cells of the table.
        """
        starts = self._starts()
        beyond = [start for start in starts if (start > offset if step > 0 else start < offset)]
        if not beyond:
            return offset if step > 0 else 0
        return min(beyond[0] if step > 0 else beyond[-1], self.last_offset(available))

    def last_offset(self, available: int) -> int:
        """Return the offset at which the last column is whole, and so is the first one behind the pinned one."""
        least = max(self.width - available, 0)
        return next((start for start in self._starts() if start >= least), least)

    def _starts(self) -> list[int]:
        return [placed.x - self.frozen_width for placed in self.columns[1:]]

    def whole_until(self, offset: int, available: int) -> int:
        """Return the cells of the table, from its left edge, that hold no number cut at the right edge."""
        edge = offset + available
        cut = (c.x for c in self.columns[1:] if c.is_number and c.x < edge < c.x + c.width)
        return next((max(x - offset, self.frozen_width) for x in cut), available)

    def column_at(self, x: int) -> int | None:
        """Return the index of the heading over a cell, or None between and beyond columns."""
        for placed in self.columns:
            if placed.x <= x < placed.x + placed.width:
                return placed.index
        return None


EMPTY: Final = Layout((), 0)


def text_width(text: str) -> int:
    """Return the cells a text takes."""
    return len(text) if text.isascii() else cell_len(text)


def measure(rows: Iterable[Row], count: int, widths: Sequence[Widths] = ()) -> tuple[Widths, ...]:
    """Return the widest content per column of some rows and of the widths known before."""
    texts = [width.text for width in widths] or [0] * count
    shorts = [width.short for width in widths] or [0] * count
    bars = [width.has_bar for width in widths] or [False] * count
    for row in rows:
        for index, cell in enumerate(row.cells):
            # Runs for every row that comes into view, so it is kept short.
            text, short = cell.text, cell.short or cell.text
            if len(text) > texts[index] or not text.isascii():
                texts[index] = max(texts[index], text_width(text))
            if len(short) > shorts[index] or not short.isascii():
                shorts[index] = max(shorts[index], text_width(short))
            if cell.bar is not None:
                bars[index] = True
    return tuple(map(Widths, texts, shorts, bars))


def fit(
    headings: Sequence[Heading], widths: Sequence[Widths], available: int, *, is_wide: bool = False, sorted_id: str = ""
) -> Layout:
    """Place the columns: long forms if they fit, else short forms, then cut words, then fewer columns.

    The wide layout drops no column and scrolls instead.

    Args:
        is_wide: Whether wide-only columns are drawn and none is dropped.
        sorted_id: Column that needs a cell for the sort arrow.
    """
    gap = NARROW_GAP if available < NARROW_BELOW else GAP
    chosen = [index for index, heading in enumerate(headings) if is_wide or not heading.is_wide_only]
    while True:
        titles = {i: text_width(headings[i].title) + (headings[i].id == sorted_id) for i in chosen}
        longs = {i: _clamp(max(titles[i], _long(widths[i], headings[i])), headings[i]) for i in chosen}
        shorts = {i: min(longs[i], _clamp(max(titles[i], _short(widths[i], headings[i])), headings[i])) for i in chosen}
        least = {i: min(shorts[i], max(_least(widths[i], headings[i]), titles[i])) for i in chosen}
        room = available - GUTTER - gap * max(len(chosen) - 1, 0)
        if is_wide or sum(least.values()) <= room:
            break
        droppable = [i for i in chosen if headings[i].drop_order]
        if not droppable:
            break
        chosen.remove(max(droppable, key=lambda i: (headings[i].drop_order, i)))
    needed = {i: max(titles[i], _short(widths[i], headings[i])) for i in chosen}
    squeezed = shorts if is_wide else _squeeze(_unpadded(shorts, needed, room), least, room)
    sizes = _lengthen(squeezed, longs, shorts, room)
    is_long = {i: sizes[i] >= longs[i] for i in chosen}
    placed: list[Placed] = []
    x = GUTTER
    for i, size in _grow(sizes, headings, room).items():
        bar = size - 1 - (widths[i].text if is_long[i] else widths[i].short)
        has_bar = widths[i].has_bar and bar >= (headings[i].bar_min or OPTIONAL_BAR)
        placed.append(Placed(i, x, size, is_long[i], bar if has_bar else 0, headings[i].is_right_aligned))
        x += size + gap
    return Layout(tuple(placed), x - gap if placed else 0)


def _long(widths: Widths, heading: Heading) -> int:
    """Return the cells of the long form with its bar, unless the bar is optional."""
    return widths.text + BAR_IDEAL + 1 if widths.has_bar and heading.bar_min else widths.text


def _short(widths: Widths, heading: Heading) -> int:
    """Return the cells of the short form with the smallest bar."""
    return widths.short + heading.bar_min + 1 if widths.has_bar and heading.bar_min else widths.short


def _least(widths: Widths, heading: Heading) -> int:
    """Return the cells below which a column is not cut: words may be shortened, numbers may not."""
    whole = widths.short if heading.is_right_aligned and widths.short <= WHOLE_NUMBER else 0
    return max(heading.min_width, whole)


def _clamp(width: int, heading: Heading) -> int:
    return min(max(width, heading.min_width), max(heading.max_width, heading.min_width))


def _unpadded(sizes: dict[int, int], needed: dict[int, int], room: int) -> dict[int, int]:
    """Take cells that neither a title nor a row needs, from the left, as far as others want for them."""
    sizes = dict(sizes)
    excess = sum(sizes.values()) - room
    for index, size in sizes.items():
        cut = max(min(size - needed[index], excess), 0)
        sizes[index] -= cut
        excess -= cut
    return sizes


def _squeeze(sizes: dict[int, int], least: dict[int, int], room: int) -> dict[int, int]:
    """Take cells from the columns with the most to spare until the rest fits or nothing can be spared."""
    sizes = dict(sizes)
    excess = sum(sizes.values()) - room
    while excess > 0:
        index = max(sizes, key=lambda i: sizes[i] - least[i])
        if sizes[index] <= least[index]:
            break
        sizes[index] -= 1
        excess -= 1
    return sizes


def _lengthen(sizes: dict[int, int], longs: dict[int, int], shorts: dict[int, int], room: int) -> dict[int, int]:
    """Give columns their long form from the left while it fits completely."""
    sizes = dict(sizes)
    spare = room - sum(sizes.values())
    for index, size in sizes.items():
        extra = longs[index] - size
        if size == shorts[index] and extra <= spare:
            sizes[index] += extra
            spare -= extra
    return sizes


def _grow(sizes: dict[int, int], headings: Sequence[Heading], room: int) -> dict[int, int]:
    """Hand spare cells in turn to the columns that can use them."""
    sizes = dict(sizes)
    spare = room - sum(sizes.values())
    growing = [i for i in sizes if sizes[i] < headings[i].fill_width]
    while spare > 0 and growing:
        for index in growing[:spare]:
            sizes[index] += 1
        spare -= min(spare, len(growing))
        growing = [i for i in growing if sizes[i] < headings[i].fill_width]
    return sizes
