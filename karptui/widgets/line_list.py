"""Lines that open: headings are passed over, enter opens a line, the cursor follows its line through refreshes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message

from karptui.views.row import Tone
from karptui.widgets.pick_list import Pick, PickList
from karptui.widgets.sentences import phrase


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
        """Show lines in the place of those before."""
        if tuple(lines) == self._shown:
            return
        before = {line: pick for line, pick in zip(self._shown, self.picks, strict=False) if line.key == pick.key}
        self._shown = tuple(lines)
        self.set_picks([before.get(line) or _pick(line) for line in lines])

    @on(PickList.Picked)
    def _picked(self, event: PickList.Picked) -> None:
        event.stop()
        self.post_message(self.Opened(event.key))


def _pick(line: Line) -> Pick:
    return Pick(line.key, phrase(line.pieces), line.is_heading, line.has_gap)
