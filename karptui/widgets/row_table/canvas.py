"""The drawing half of the table: rows, columns and styles become lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Protocol

from rich.style import Style
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Region, Size
from textual.strip import Strip

from karptui.views.column import Heading
from karptui.views.row import Row, Tone
from karptui.views.table import Sort
from karptui.widgets.line_view import LineView
from karptui.widgets.row_table import layout as layouts
from karptui.widgets.row_table.layout import Widths
from karptui.widgets.row_table.painter import Painter, Palette, RowState, scrolled

HEADER_LINES: Final = 1
_MEASURED_ROWS: Final = 200
"""Rows looked at when a list is new; columns grow later when a wider row comes into view."""
_CACHED_STRIPS: Final = 1_000


class RowCanvas(LineView):
    """Draws the visible rows, under a pinned header and next to a pinned first column.

    Text is never read as markup.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "row-table--header",
        "row-table--header-sorted",
        "row-table--header-picked",
        "row-table--cursor",
        "row-table--cursor-blurred",
        "row-table--hover",
        "row-table--marked",
        "row-table--free",
        *(f"row-table--{tone}" for tone in Tone),
    }

    DEFAULT_CSS = """
    RowCanvas {
        height: 1fr;
        & > .row-table--header { text-style: bold; }
        & > .row-table--header-picked { text-style: underline; }
        & > .row-table--strong { text-style: bold; }
    }
    """

    def __init__(self, headings: Sequence[Heading]) -> None:
        super().__init__()
        self.headings = tuple(headings)
        """Every column, drawn or not."""
        self.rows: RowSequence = NoRows()
        self._cursor = Cursor()
        self._sort: Sort | None = None
        self._picked = -1
        self.is_wide = False
        """Whether every column is drawn and scrolled to, rather than dropped."""
        self._placeholder: tuple[tuple[str, Tone], ...] = ()
        self._widths: tuple[Widths, ...] = tuple(Widths() for _ in self.headings)
        self._layout = layouts.EMPTY
        self._offset_x = 0
        self._painter: Painter | None = None
        self._is_plain = False
        self._strips: dict[tuple[str, RowState], tuple[Row, Strip]] = {}
        self._drawn: dict[int, Row] = {}
        self._built: dict[int, Row] = {}

    # Interface for the owner

    @property
    def layout_columns(self) -> tuple[Heading, ...]:
        return tuple(self.headings[placed.index] for placed in self._layout.columns)

    @property
    def cursor_index(self) -> int:
        return self._cursor.index

    @property
    def marked(self) -> frozenset[str]:
        return self._cursor.marked

    def set_placeholder(self, *lines: tuple[str, Tone]) -> None:
        """Set the text shown if there are no rows."""
        if lines != self._placeholder:
            self._placeholder = lines
            if not len(self.rows):
                self.refresh()

    def set_headings(self, headings: Sequence[Heading]) -> None:
        """Take other columns; the rows that fit them must follow."""
        self.headings = tuple(headings)
        self._layout = layouts.EMPTY
        self._widths = tuple(Widths() for _ in self.headings)
        self.rows = NoRows()
        self._built.clear()
        self._picked = -1
        self._lay_out()
        self._forget_drawn()

    def set_wide(self, *, is_wide: bool) -> None:
        """Draw every column and scroll to those without room, or drop them."""
        if is_wide != self.is_wide:
            self.is_wide = is_wide
            self._offset_x = 0
            self._lay_out()
            self.refresh()

    # Drawing

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the line filters, without colour conversion if no colour needs it."""
        filters = super().get_line_filters()
        if self._is_plain:
            return [each for each in filters if not isinstance(each, ANSIToTruecolor)]
        return filters

    def draw_line(self, y: int, first: int, body: Size) -> Strip:
        """Draw one line: the header, a row, the placeholder or nothing."""
        painter = self._current_painter()
        if y < HEADER_LINES:
            header = painter.header(self._sort, self._picked)
            return scrolled(header, self._layout, self._offset_x, body.width, painter.palette.header)
        index = first + y - HEADER_LINES
        if index >= len(self.rows):
            return self._placeholder_line(y, body, painter.palette)
        row = self._row(index)
        self._drawn[y] = row
        state = self._state(index)
        strip = self._strip(row, state, painter)
        return scrolled(strip, self._layout, self._offset_x, body.width, painter.palette.row(state))

    def _row(self, index: int) -> Row:
        """Return a row, built once for as long as the list lasts."""
        row = self._built.get(index)
        if row is None:
            if len(self._built) >= _CACHED_STRIPS:
                del self._built[next(iter(self._built))]
            row = self._built[index] = self.rows[index]
        return row

    def _strip(self, row: Row, state: RowState, painter: Painter) -> Strip:
        cached = self._strips.get((row.key, state))
        if cached is not None and cached[0] == row:
            return cached[1]
        strip = painter.row(row, state)
        if len(self._strips) >= _CACHED_STRIPS:
            del self._strips[next(iter(self._strips))]  # all at once would hold up one key in some
        self._strips[row.key, state] = (row, strip)
        return strip

    def _state(self, index: int) -> RowState:
        return RowState(
            is_cursor=index == self._cursor.index,
            is_marked=bool(self._cursor.marked) and self._cursor.keys[index] in self._cursor.marked,
            is_hovered=index == self._hovered,
        )

    def _placeholder_line(self, y: int, body: Size, palette: Palette) -> Strip:
        first = max(HEADER_LINES, (body.height - len(self._placeholder)) // 2)
        if len(self.rows) or not 0 <= y - first < len(self._placeholder):
            return Strip.blank(body.width, palette.base)
        return palette.sentence(*self._placeholder[y - first], body.width)

    def _current_painter(self) -> Painter:
        if self._painter is None:
            base = self.rich_style
            header = base + self._component("row-table--header")
            palette = Palette(
                base=base,
                header=header,
                header_sorted=header + self._component("row-table--header-sorted"),
                header_picked=self._component("row-table--header-picked"),
                cursor=self._component("row-table--cursor" if self.has_focus else "row-table--cursor-blurred"),
                hover=self._component("row-table--hover"),
                marked=self._component("row-table--marked"),
                free=self._component("row-table--free"),
                tones={tone: self._component(f"row-table--{tone}") for tone in Tone},
            )
            self._painter = Painter(self.headings, self._layout, palette, self._body.width)
            self._is_plain = palette.is_plain
        return self._painter

    def _component(self, name: str) -> Style:
        return self.get_component_rich_style(name, partial=True)

    # Layout

    def _sample(self) -> range:
        """Return rows spread over the whole list, all of them when it is short."""
        count = len(self.rows)
        return range(0, count, max(1, -(-count // _MEASURED_ROWS)))

    @property
    def visible_keys(self) -> tuple[str, ...]:
        seen = self._visible_range()
        return tuple(self.rows.keys[seen.start : seen.stop])

    def _visible_range(self) -> range:
        first = self.scroll_offset.y
        return range(first, min(first + self._body.height, len(self.rows)))

    def _measure(self, indexes: range) -> None:
        """Let columns grow to the rows at these positions.

        They shrink again only when the list was empty in between.
        """
        rows = self.rows
        drawn_widths = self._widths if indexes and len(rows) else ()
        widths = layouts.measure(
            (self._row(index) for index in indexes if index < len(rows)), len(self.headings), drawn_widths
        )
        if widths != self._widths:
            self._widths = widths
            self._lay_out()

    def _lay_out(self) -> None:
        """Place the columns again for the current width, content and sort."""
        sorted_id = self._sort.column_id if self._sort else ""
        layout = layouts.fit(self.headings, self._widths, self._body.width, is_wide=self.is_wide, sorted_id=sorted_id)
        if layout != self._layout:
            self._layout = layout
            self._offset_x = min(self._offset_x, self._layout.last_offset(self._body.width))
            self._forget_drawn()
        self.refresh()

    def _resize_content(self) -> None:
        self.resize_content(Size(self._body.width, len(self.rows) + HEADER_LINES))

    def _refresh_changed(self, *, everything: bool) -> None:
        if everything:
            self.refresh()
            return
        top, count = self.scroll_offset.y, len(self.rows)
        for y in range(HEADER_LINES, self._body.height):
            index = top + y - HEADER_LINES
            drawn = self._drawn.get(y)
            if index >= count:
                if drawn is not None:
                    del self._drawn[y]
                    self._refresh_line_at(y)
            elif drawn is None or drawn != self._row(index):
                self._refresh_line_at(y)

    def _refresh_line_at(self, y: int) -> None:
        self.refresh(Region(0, y, self._body.width, 1))

    def _refresh_row(self, index: int) -> None:
        self._refresh_line_at(index - self.scroll_offset.y + HEADER_LINES)

    def _forget_drawn(self) -> None:
        """Throw away lines drawn with another layout or in other colours."""
        self._painter = None
        self._strips.clear()
        super()._forget_drawn()


class RowSequence(Protocol):
    """Rows in order, cheap to hold and built when asked for."""

    @property
    def keys(self) -> Sequence[str]:
        """The row keys in order."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Row: ...


class NoRows:
    """An empty list of rows."""

    keys: Sequence[str] = ()

    def __len__(self) -> int:
        return 0

    def __getitem__(self, index: int, /) -> Row:
        raise IndexError(index)


class Cursor:
    """The row under the cursor and the marked rows, kept by key across changes of the list."""

    def __init__(self) -> None:
        self.keys: Sequence[str] = ()
        """The keys of the list in order."""
        self.index = 0
        """Position of the cursor; 0 in an empty list."""
        self.marked: frozenset[str] = frozenset()
        """Keys of the marked rows."""
        self.has_moved = False
        """Whether the reader chose a row; until then the cursor stays on the first."""

    @property
    def key(self) -> str | None:
        """The key under the cursor, or None in an empty list."""
        return self.keys[self.index] if self.keys else None

    def replace(self, keys: Sequence[str]) -> int:
        """Take over a new list and return by how many rows the cursor went down.

        A row that is gone leaves the cursor at its place; marks of rows that are gone go with them.
        """
        before, key = self.index, self.key
        self.keys = keys
        if self.marked:
            self.marked &= frozenset(keys)
        if not self.has_moved or not keys:
            self.index = 0
        elif key is not None and not (before < len(keys) and keys[before] == key):
            self.index = self._find(key, before)
        return self.index - before

    def move_to(self, index: int) -> bool:
        """Put the cursor on a row, as near as the list allows, and return whether it moved."""
        target = max(0, min(index, len(self.keys) - 1))
        self.has_moved = True
        moved, self.index = target != self.index, target
        return moved

    def move_to_key(self, key: str) -> bool:
        """Put the cursor on a key and return whether the list has it."""
        try:
            self.move_to(self.keys.index(key))
        except ValueError:
            return False
        return True

    def toggle_mark(self) -> None:
        """Mark the row under the cursor, or take its mark away."""
        if (key := self.key) is not None:
            self.marked ^= {key}

    def _find(self, key: str, fallback: int) -> int:
        try:
            return self.keys.index(key)
        except ValueError:
            return min(fallback, len(self.keys) - 1)
