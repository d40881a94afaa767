"""Lines with a cursor that follows its line through refreshes; only what looks different is drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from rich.segment import Segment
from textual import events, on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.visual import Visual

from karptui.views.row import Tone
from karptui.widgets.line_view import LineView
from karptui.widgets.sentences import phrase


class Pick(NamedTuple):
    """One line that may be picked."""

    key: str
    content: Content
    is_heading: bool = False
    """Whether the cursor passes it over."""
    has_gap: bool = False
    """Whether an empty line precedes it."""


class _Row(NamedTuple):
    """A line of the whole list as it looks."""

    content: Content
    component: str


_EMPTY: Final = Content()
MARGIN: Final = 1
"""Blanks on either side of a line."""


class PickList(LineView, can_focus=True):
    """Shows lines; longer lines are cut."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "Up", show=False, id="list.up"),
        Binding("down,j", "cursor(1)", "Down", show=False, id="list.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="list.page-up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="list.page-down"),
        Binding("home,g", "edge(-1)", "Start", show=False, id="list.first"),
        Binding("end,G", "edge(1)", "End", show=False, id="list.last"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "pick-list--line", "pick-list--heading", "pick-list--cursor", "pick-list--hover",
    }  # fmt: skip
    DEFAULT_CSS = """
    PickList { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    @dataclass
    class Picked(Message):
        """The reader asks for a line."""

        list: PickList
        key: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self.picks: tuple[Pick, ...] = ()
        self._rows: list[int] = []
        """By row of the whole list, which line is there; of the empty line before it -1."""
        self._row_of: list[int] = []
        """By line, its row."""
        self._index: int | None = None
        self._is_moved = False
        """Whether the user moved the cursor."""
        self._strips: dict[tuple[_Row, int], Strip] = {}
        """By line and width, as a line is drawn before it is heard that there is another width."""
        self._drawn: dict[int, _Row] = {}
        """The rows on the screen, by line."""

    # Interface for the owner

    @property
    def current_key(self) -> str:
        """Key of the line under the cursor; empty without one."""
        return self.picks[self._index].key if self._index is not None else ""

    def set_picks(self, picks: Sequence[Pick]) -> None:
        """Show lines in the place of those before; of several with one key the first."""
        by_key: dict[str, Pick] = {}
        for pick in picks:
            by_key.setdefault(pick.key, pick)
        shown = tuple(by_key.values())
        if shown == self.picks:
            return
        key = self.current_key
        self.picks = shown
        self._rows, self._row_of = [], []
        for index, pick in enumerate(shown):
            self._rows += [-1, index] if pick.has_gap else [index]
            self._row_of.append(len(self._rows) - 1)
        keys = [pick.key for pick in shown]
        is_kept = key in keys and not shown[keys.index(key)].is_heading
        self._index = keys.index(key) if is_kept else next(iter(self._open), None)
        if not is_kept:
            self._is_moved = False
            self.scroll_to(y=0, animate=False, immediate=True)
        self.resize_content(Size(self._body.width, len(self._rows)))
        self._refresh_changed()

    def move_to(self, key: str) -> None:
        self._move(next(at for at in self._open if self.picks[at].key == key))

    @property
    def _open(self) -> Sequence[int]:
        return [at for at, pick in enumerate(self.picks) if not pick.is_heading]

    # Moving

    def _move(self, index: int) -> None:
        self._is_moved = True
        if index != self._index:
            self._index = index
            self._refresh_changed()
        self._show_cursor()

    def _show_cursor(self) -> None:
        """Scroll the cursor into view, with the heading above the first line it can be on."""
        if self._index is None:
            return
        row, top, height = self._row_of[self._index], self.scroll_offset.y, self._body.height
        first = 0 if self._index == self._open[0] else row
        if first < top:
            self.scroll_to(y=max(first, row - height + 1), animate=False, immediate=True)
        elif row >= top + height:
            self.scroll_to(y=row - height + 1, animate=False, immediate=True)

    def action_cursor(self, step: int) -> None:
        if self._index is not None:
            around = self._open
            at = around.index(self._index) + step
            self._move(around[max(0, min(at, len(around) - 1))])

    def action_page(self, step: int) -> None:
        if self._index is not None:
            row = self._row_of[self._index] + step * max(self._body.height - 1, 1)
            beyond = [at for at in self._open if (self._row_of[at] - row) * step >= 0]
            self._move(beyond[0 if step > 0 else -1] if beyond else self._open[-1 if step > 0 else 0])

    def action_edge(self, step: int) -> None:
        """Move the cursor to the first or the last line."""
        if self._index is not None:
            self._move(self._open[0 if step < 0 else -1])

    def action_select(self) -> None:
        if self._index is not None:
            self.post_message(self.Picked(self, self.current_key))

    # Drawing

    def draw_line(self, y: int, first: int, body: Size) -> Strip:
        row = self._drawn[y] = self._row(first + y)
        strip = self._strips.get((row, body.width))
        if strip is None:
            style = self.get_visual_style("pick-list--line", row.component)
            ground = style.rich_style
            [text] = Visual.to_strips(self, row.content, max(body.width - 2 * MARGIN, 1), 1, style)
            strip = Strip([Segment(" " * MARGIN, ground), *text]).adjust_cell_length(body.width, ground)
            self._strips[row, body.width] = strip
        return strip

    def _row(self, number: int) -> _Row:
        index = self._rows[number] if number < len(self._rows) else -1
        if index < 0:
            return _Row(_EMPTY, "pick-list--line")
        pick = self.picks[index]
        state = "heading" if pick.is_heading else "cursor" if index == self._index else ""
        return _Row(pick.content, f"pick-list--{state or ('hover' if index == self._hovered else 'line')}")

    def _refresh_changed(self) -> None:
        top, width = self.scroll_offset.y, self._body.width
        if len(self._strips) > 2 * len(self._rows) + self._body.height:
            self._strips.clear()
        stale = [y for y in range(self._body.height) if self._drawn.get(y) != self._row(top + y)]
        if stale:
            self.refresh(*(Region(0, y, width, 1) for y in stale))

    def _forget_drawn(self) -> None:
        self._strips.clear()
        super()._forget_drawn()

    # Events

    def on_resize(self, _event: events.Resize) -> None:
        """Keep the cursor visible; a list whose cursor was not moved stays at its top."""
        self.resize_content(Size(self._body.width, len(self._rows)))
        if self._is_moved:
            self._show_cursor()

    def index_at(self, event: events.MouseEvent) -> int:
        """Return the line under the pointer that the cursor could be on."""
        offset = event.get_content_offset(self)
        if offset is None or self._is_on_scroll_bar(event):
            return -1
        row = self.scroll_offset.y + offset.y
        index = self._rows[row] if row < len(self._rows) else -1
        return -1 if index < 0 or self.picks[index].is_heading else index

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to a line and ask for it."""
        index = self.index_at(event)
        if index >= 0:
            self._move(index)
            self.action_select()

    def hover_moved(self, before: int, after: int) -> None:  # noqa: ARG002 - what differs is found by its look
        self._refresh_changed()


class Line(NamedTuple):
    """One line."""

    key: str
    pieces: tuple[tuple[str, Tone], ...]
    is_heading: bool = False
    has_gap: bool = False
    """Whether an empty line precedes it."""


class LineList(PickList):
    """Shows lines that may open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open", id="lines.open", tooltip="Open the line, or close it")
    ]
    BINDING_GROUP_TITLE = "Result"
    DEFAULT_CSS = "LineList { height: 1fr; }"

    @dataclass
    class Opened(Message):
        """A line is to be opened, or closed."""

        key: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self._shown: tuple[Line, ...] = ()

    def show_lines(self, lines: Sequence[Line]) -> None:
        if tuple(lines) == self._shown:
            return
        before = {line: pick for line, pick in zip(self._shown, self.picks, strict=False) if line.key == pick.key}
        self._shown = tuple(lines)
        self.set_picks(
            [before.get(line) or Pick(line.key, phrase(line.pieces), line.is_heading, line.has_gap) for line in lines]
        )

    @on(PickList.Picked)
    def _picked(self, event: PickList.Picked) -> None:
        event.stop()
        self.post_message(self.Opened(event.key))
