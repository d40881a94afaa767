"""Lines with a cursor: headings are passed over, enter opens a line, the cursor follows its line through refreshes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from karptui.views.row import Tone
from karptui.widgets.plain import phrase


class Line(NamedTuple):
    """One line."""

    key: str
    pieces: tuple[tuple[str, Tone], ...]
    is_heading: bool = False
    has_gap: bool = False
    """Whether an empty line stands before it."""


class LineList(OptionList):
    """Shows lines; those that are longer than it is wide are cut."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open", id="lines.open", tooltip="Open the line, or close it"),
        Binding("j", "cursor_down", "Down", show=False, id="lines.down"),
        Binding("k", "cursor_up", "Up", show=False, id="lines.up"),
        Binding("g", "first", "Start", show=False, id="lines.start"),
        Binding("G", "last", "End", show=False, id="lines.end"),
    ]
    BINDING_GROUP_TITLE = "Result"
    DEFAULT_CSS = """
    LineList {
        border: none; padding: 0 1; height: 1fr; scrollbar-size-vertical: 1;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    @dataclass
    class Opened(Message):
        """A line is to be opened, or closed."""

        key: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id, markup=False)
        self._shown: tuple[Line, ...] = ()

    @property
    def current_key(self) -> str:
        """Key of the line under the cursor; empty without one."""
        option = self.highlighted_option
        return option.id or "" if option is not None else ""

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show lines in the place of those before."""
        if tuple(lines) == self._shown:
            return
        key, scroll_y = self.current_key, self.scroll_offset.y
        self._shown = tuple(lines)
        seen: set[str] = set()
        options = []
        for line in lines:
            if line.key not in seen:
                seen.add(line.key)
                options.append(Option(_content(line), id=line.key, disabled=line.is_heading))
        self.set_options(options)
        if key in seen:
            self.highlighted = self.get_option_index(key)
            self.scroll_to(y=scroll_y, animate=False)
        else:
            self.highlighted = next((at for at, option in enumerate(self.options) if not option.disabled), None)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option.id is not None:
            self.post_message(self.Opened(event.option.id))


def _content(line: Line) -> Content:
    return Content("\n") + phrase(line.pieces) if line.has_gap else phrase(line.pieces)
