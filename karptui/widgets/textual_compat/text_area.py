"""A text area that draws no more than has changed: Textual's own draws every line after every key.

Measured by benchmarks/textual_pieces.py: 7 ms of processor time for a letter in a page of YAML, 18 without.
Could become upstream: "TextArea redraws all lines, and lays out the screen, with every letter".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final, Self

from textual import events
from textual.cache import LRUCache
from textual.geometry import Offset, Region, Size, Spacing
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea

CURSOR_COLUMNS: Final = 3
"""Columns for the cursor and its right margin."""
ROOM_COLUMNS: Final = 16
"""Columns by which the scrollable width grows, and by which the text scrolls."""
KEPT_LINES: Final = 1024
"""Drawn lines that are kept."""

Look = tuple[object, ...]
"""Everything that determines how a line is drawn."""


class SparingTextArea(TextArea):
    """Lines that do not wrap, drawn again when they look different."""

    _is_sparing = _has_stale_lines = False
    _holds_still = False
    """Whether the text does not scroll with the cursor."""
    _is_flat = False
    _grown_columns = 0
    """How much wider than there is room the text is taken to be."""

    def __init__(self, *, indent_width: int) -> None:
        self._plain_lines: LRUCache[Look, Strip] = LRUCache(KEPT_LINES)
        self._drawn: dict[int, Look] = {}
        """Looks of the lines on the screen, by row."""
        super().__init__(
            "", show_line_numbers=True, soft_wrap=False, theme="css", tab_behavior="indent", highlight_cursor_line=True
        )
        self.indent_width = indent_width

    # Scrollable size

    def _refresh_size(self) -> None:
        """Grow the scrollable size in steps, without laying out the whole screen each time."""
        width, height = self.document.get_size(self.indent_width)
        width += self.gutter_width + 1
        room = self._room(width, height)
        grown = max(0, math.ceil((width - room) / ROOM_COLUMNS)) * ROOM_COLUMNS
        size = Size(room + grown, height)
        is_larger = grown > self._grown_columns or height > self.virtual_size.height
        self._grown_columns = grown
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)
        self._refresh_scrollbars()
        if is_larger and self.has_focus:
            self.scroll_cursor_visible()  # the cursor moved before there was anything to scroll over

    def _room(self, width: int, height: int) -> int:
        """Return the columns left by the scroll bar that a text of this size will have."""
        room, lines = self.container_size
        if width > room:
            lines -= self.styles.scrollbar_size_horizontal
        return room - self.styles.scrollbar_size_vertical if height > lines else room

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:  # noqa: FBT001, FBT002
        """Show the cursor, with room to go on: scrolled by a column with each letter, every line looks different."""
        if self._holds_still:
            return Offset()
        if not center and self.is_attached:
            self._recompute_cursor_offset()  # type: ignore[no-untyped-call]
            x, y = self._cursor_offset
            left, width = self.scroll_offset.x, self.scrollable_content_region.width - self.gutter_width
            if width >= 2 * ROOM_COLUMNS and not left <= x <= left + width - CURSOR_COLUMNS:
                begin = max(0, x - ROOM_COLUMNS) if x < left else x
                shown = Region(begin, y, max(x - begin, ROOM_COLUMNS), 1)
                spacing = Spacing(right=self.gutter_width)
                return self.scroll_to_region(shown, spacing=spacing, animate=animate, force=True)
        return super().scroll_cursor_visible(center, animate)

    # Redrawing

    async def _on_key(self, event: events.Key) -> None:
        with self.sparing():
            await self.take_key(event)

    async def take_key(self, event: events.Key) -> None:
        await super()._on_key(event)

    @contextmanager
    def holding_still(self) -> Iterator[None]:
        self._holds_still = True
        try:
            with self.sparing():
                yield
        finally:
            self._holds_still = False

    @contextmanager
    def sparing(self) -> Iterator[None]:
        """Redraw only lines that changed, for any refresh inside the context."""
        self._is_sparing = True
        try:
            yield
        finally:
            self._is_sparing = False

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        if self._is_sparing and repaint and self.is_mounted and not (regions or layout or recompose):
            self.refresh_stale_lines()
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def forget_lines(self) -> None:
        """Have the lines drawn again that look different, with what Textual keeps of them left out."""
        self._line_cache.clear()
        self.refresh_stale_lines()

    def action_of(self, key: str) -> str:
        """Return the action of a key here; empty for none."""
        bindings = self._bindings.key_to_bindings.get(key, ())
        return bindings[0].action if bindings else ""

    def refresh_stale_lines(self) -> None:
        self._has_stale_lines = self._repaint_required = True
        self.check_idle()

    def _exchange_repaint_regions(self) -> Collection[Region]:
        if self._has_stale_lines:
            self._has_stale_lines = False
            width, height = self.size
            stale = [Region(0, y, width, 1) for y in range(height) if self._drawn.get(y) != self._look(y)]
            if stale:
                self._set_dirty(*stale)
        return super()._exchange_repaint_regions()

    def _look(self, y: int) -> Look:
        row = y + self.scroll_offset.y
        if row >= self.document.line_count:
            return (self._theme.base_style,)
        start, end = self.selection
        bracket = self.matching_bracket_location
        is_plain = start == end and row not in (end[0], bracket[0] if bracket else -1)
        cursor = None if is_plain else (start, end, bracket, self._draw_cursor, self.has_focus)
        return (*self.plain_look(row), (self.scroll_offset.x, self.region.width), cursor)

    def plain_look(self, row: int) -> Look:
        """Return the look of a line without the cursor, independent of scrolling."""
        return (
            row, self.document.get_line(row), frozenset(self._highlights[row]), self._theme.base_style,
            self.gutter_width,
        )  # fmt: skip

    @property
    def scroll_offset(self) -> Offset:
        """Where the text is scrolled to; a line that is kept is drawn as if it were not scrolled sideways."""
        offset = super().scroll_offset
        return Offset(0, offset.y) if self._is_flat else offset

    def render_line(self, y: int) -> Strip:
        self._drawn[y] = self._look(y)
        return super().render_line(y)

    def _render_line(self, y: int) -> Strip:
        look = self._look(y)
        if look[-1] is not None or len(look) == 1:
            return super()._render_line(y)
        look = look[:-2]
        strip = self._plain_lines.get(look)
        if strip is None:
            self._is_flat = True
            try:
                strip = self._plain_lines[look] = super()._render_line(y)
            finally:
                self._is_flat = False
        return self._scrolled(strip)

    def _scrolled(self, strip: Strip) -> Strip:
        gutter, left = self.gutter_width, self.scroll_offset.x
        width = max(self.virtual_size.width, self.region.width)
        text = strip.crop_extend(gutter + left, left + width, self._theme.base_style)
        return Strip.join([strip.crop(0, gutter), text])

    def notify_style_update(self) -> None:
        self._plain_lines.clear()
        super().notify_style_update()
