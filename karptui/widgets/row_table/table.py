"""The table widget: shows rows and posts messages about the user's actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from karptui.views.table import Sort
from karptui.widgets.row_table.canvas import HEADER_LINES, RowCanvas, RowSequence
from karptui.widgets.row_table.painter import is_cut


@dataclass
class TableMessage(Message):
    """Something happened in a table."""

    table: RowTable

    @property
    def control(self) -> RowTable:
        """The table, for ``@on`` selectors."""
        return self.table


@dataclass
class RowHighlighted(TableMessage):
    """The cursor moved to another row, or its row changed."""

    key: str | None
    """The row's key; None when the table is empty."""


@dataclass
class RowSelected(TableMessage):
    """The reader asked for a row: enter, or a double click."""

    key: str


@dataclass
class ColumnsChanged(TableMessage):
    """Other columns are drawn than before, or in other widths."""


@dataclass
class SortRequested(TableMessage):
    """The reader asked for another order; the rows are sorted by whoever owns them."""

    column_id: str


@dataclass
class MarksChanged(TableMessage):
    """Rows were marked or unmarked."""

    keys: frozenset[str]


class RowTable(RowCanvas, can_focus=True, inherit_bindings=False):
    """A table with a row cursor, marks, sorting by header and horizontal scrolling; rows are drawn only when seen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "Up", show=False, id="table.up"),
        Binding("down,j", "cursor(1)", "Down", show=False, id="table.down"),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, id="table.page-up"),
        Binding("pagedown,ctrl+f", "page(1)", "Page down", show=False, id="table.page-down"),
        Binding("home,g", "edge(-1)", "First row", show=False, id="table.first"),
        Binding("end,G", "edge(1)", "Last row", show=False, id="table.last"),
        Binding("left,h", "scroll_columns(-1)", "Columns to the left", show=False, id="table.left"),
        Binding("right,l", "scroll_columns(1)", "Columns to the right", show=False, id="table.right"),
        Binding("space", "mark", "Mark row", show=False, id="table.mark"),
        Binding("shift+left", "pick_column(-1)", "Pick sort column to the left", show=False, id="table.pick-left"),
        Binding("shift+right", "pick_column(1)", "Pick sort column to the right", show=False, id="table.pick-right"),
        Binding("O", "sort_picked", "Sort by the picked column, again to reverse", show=False, id="table.sort"),
        Binding("enter", "select", "Detail", key_display="enter", id="table.select"),
    ]
    BINDING_GROUP_TITLE = "Table"

    awaits_rows = False
    """Whether rows are loading: earlier keys are kept until they arrive."""
    _kept_keys: tuple[Callable[[], None], ...] = ()

    def set_rows(self, rows: RowSequence, sort: Sort | None = None) -> None:
        """Show other rows; the cursor and marks stay with their keys, and only lines that differ are drawn again.

        Args:
            sort: the order they are in, for the arrow in the header.
        """
        before_key, before_count = self._cursor.key, len(self.rows)
        is_first = before_count == 0
        self.rows = rows
        self._built.clear()
        moved_by = self._cursor.replace(rows.keys)
        if sort != self._sort:
            self._sort = sort
            self._lay_out()
        self._measure(self._sample() if is_first else self._visible_range())
        if len(rows) != before_count:
            self._resize_content()
        if moved_by and self._cursor.has_moved:
            self.scroll_to(y=self.scroll_offset.y + moved_by, animate=False, immediate=True)
            self._show_cursor()
        elif not self._cursor.has_moved:
            self.scroll_to(y=0, animate=False, immediate=True)
        self._refresh_changed(everything=bool(moved_by) or is_first or not rows)
        if self._cursor.key != before_key or is_first:
            self.post_message(RowHighlighted(self, self._cursor.key))
        if self._kept_keys and (rows or not self.awaits_rows):
            kept, self._kept_keys = self._kept_keys, ()
            for press in kept if rows else ():
                press()

    def _is_kept(self, press: Callable[[], None]) -> bool:
        """Keep a key for the rows to come; return whether there are none yet."""
        if self.rows or not self.awaits_rows:
            return False
        self._kept_keys = (*self._kept_keys, press)
        return True

    def move_cursor_to(self, key: str) -> bool:
        """Put the cursor on a row and return whether the table has it."""
        move = self._cursor.move_to_key(key)
        if move:
            self._show_cursor()
            self.refresh()
            self.post_message(RowHighlighted(self, key))
        return move

    @property
    def unseen(self) -> frozenset[str]:
        """Ids of the columns that are not drawn, or cut in the row under the cursor; none before there is any room."""
        drawn = self._layout.columns
        if not drawn:
            return frozenset()
        cells = self._row(self._cursor.index).cells if self.rows else ()
        whole = {self.headings[p.index].id for p in drawn if not cells or not is_cut(cells[p.index], p)}
        return frozenset(heading.id for heading in self.headings if heading.id not in whole)

    def _lay_out(self) -> None:
        """Place the columns again, and post a message if they changed."""
        before = self._layout.columns
        super()._lay_out()
        if self._layout.columns != before:
            self.post_message(ColumnsChanged(self))

    # Moving

    @property
    def _page(self) -> int:
        return max(self._body.height - HEADER_LINES, 1)

    def _show_cursor(self) -> None:
        index, top = self._cursor.index, self.scroll_offset.y
        if index < top:
            self.scroll_to(y=index, animate=False, immediate=True)
        elif index >= top + self._page:
            self.scroll_to(y=index - self._page + 1, animate=False, immediate=True)

    def _move_cursor(self, index: int) -> None:
        before = self._cursor.index
        if self._cursor.move_to(index):
            self._refresh_row(before)
            self._refresh_row(self._cursor.index)
            self._show_cursor()
            self.post_message(RowHighlighted(self, self._cursor.key))

    def action_cursor(self, step: int) -> None:
        if self._is_kept(partial(self.action_cursor, step)):
            return
        self._move_cursor(self._cursor.index + step)

    def action_page(self, step: int) -> None:
        if self._is_kept(partial(self.action_page, step)):
            return
        self._move_cursor(self._cursor.index + step * self._page)

    def action_edge(self, step: int) -> None:
        if self._is_kept(partial(self.action_edge, step)):
            return
        self._move_cursor(0 if step < 0 else len(self.rows) - 1)

    def action_scroll_columns(self, step: int) -> None:
        """Scroll columns that have no room, past the pinned first one."""
        offset = self._layout.scrolled_by(self._offset_x, step, self._body.width)
        if offset != self._offset_x:
            self._offset_x = offset
            self.refresh()

    def action_mark(self) -> None:
        """Mark the row under the cursor, or take the mark away, and go to the next."""
        if self._cursor.key is None:
            self._is_kept(self.action_mark)
            return
        self._cursor.toggle_mark()
        self._refresh_row(self._cursor.index)
        self.post_message(MarksChanged(self, self._cursor.marked))
        self._move_cursor(self._cursor.index + 1)

    def clear_marks(self) -> None:
        if self._cursor.marked:
            self._cursor.marked = frozenset()
            self.refresh()
            self.post_message(MarksChanged(self, frozenset()))

    def action_pick_column(self, step: int) -> None:
        drawn = [placed.index for placed in self._layout.columns]
        if not drawn:
            return
        if self._picked in drawn:
            position = (drawn.index(self._picked) + step) % len(drawn)
        else:
            ids = [self.headings[index].id for index in drawn]
            sorted_id = self._sort.column_id if self._sort else ""
            start = ids.index(sorted_id) if sorted_id in ids else -1
            position = (start + step) % len(drawn)
        self._picked = drawn[position]
        self._refresh_line_at(0)

    def action_sort_picked(self) -> None:
        if 0 <= self._picked < len(self.headings):
            self.post_message(SortRequested(self, self.headings[self._picked].id))
        elif self._sort is not None:
            self.post_message(SortRequested(self, self._sort.column_id))

    def action_select(self) -> None:
        if (key := self._cursor.key) is not None:
            self.post_message(RowSelected(self, key))
        else:
            self._is_kept(self.action_select)

    # Events

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._measure(self._visible_range())

    def on_resize(self, _event: events.Resize) -> None:
        self._drawn.clear()
        self._measure(self._visible_range())
        self._lay_out()
        self._resize_content()
        if self._cursor.has_moved:
            self._show_cursor()

    def on_click(self, event: events.Click) -> None:
        """Sort by a header, move the cursor to a row, or select it with the second click."""
        offset = event.get_content_offset(self)
        if offset is None or self._is_on_scroll_bar(event):
            return
        if offset.y < HEADER_LINES:
            x = offset.x + (self._offset_x if offset.x >= self._layout.frozen_width else 0)
            index = self._layout.column_at(x)
            if index is not None:
                self._picked = -1
                self.post_message(SortRequested(self, self.headings[index].id))
            return
        row = self.scroll_offset.y + offset.y - HEADER_LINES
        if row < len(self.rows):
            self._move_cursor(row)
            if event.chain == 2:
                self.action_select()

    def index_at(self, event: events.MouseEvent) -> int:
        offset = event.get_content_offset(self)
        return -1 if offset is None else self.scroll_offset.y + offset.y - HEADER_LINES

    def hover_moved(self, before: int, after: int) -> None:
        self._refresh_row(before)
        self._refresh_row(after)
