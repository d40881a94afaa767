"""Fields that are changed without typing text: a line each, with a value that keys step, toggle or ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Resize
from textual.message import Message

from karptui.views.row import Control
from karptui.views.sanitize import clean
from karptui.widgets.pick_list import Pick, PickList


class ControlList(PickList):
    """Lists controls; the screen does what their keys ask for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h,minus", "step(-1)", "Less", key_display="←", id="control.less"),
        Binding("right,l,plus", "step(1)", "More", key_display="→", id="control.more"),
        Binding("enter,space", "select", "Change", key_display="enter", id="control.change"),
        Binding("backspace,delete", "reset", "Reset", key_display="⌫", id="control.reset"),
    ]
    BINDING_GROUP_TITLE = "Quick edits"
    DEFAULT_CSS = "ControlList { height: auto; max-height: 9; }"

    @dataclass
    class Stepped(Message):
        """A value is to be one step less or more."""

        control_id: str
        step: int

    @dataclass
    class Chosen(Message):
        """The user wants to enter a value."""

        control_id: str

    @dataclass
    class Reset(Message):
        """The user wants the cluster's value back."""

        control_id: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self.controls: tuple[Control, ...] = ()
        self._width = 0

    def show_controls(self, controls: Sequence[Control]) -> None:
        """List controls; the cursor stays on the one it is on."""
        if tuple(controls) == self.controls:
            return
        self.controls = tuple(controls)
        self._draw()

    def on_resize(self, _event: Resize) -> None:
        if self.content_size.width != self._width:
            self._draw()

    def _draw(self) -> None:
        self._width = self.content_size.width
        title = max((len(clean(control.title)) for control in self.controls), default=0)
        room = self._width - title - _BESIDE if self._width else 0
        self.set_picks([Pick(control.id, _line(control, title, room)) for control in self.controls])

    def action_step(self, step: int) -> None:
        if self.current_key:
            self.post_message(self.Stepped(self.current_key, step))

    def action_reset(self) -> None:
        if self.current_key:
            self.post_message(self.Reset(self.current_key))

    @on(PickList.Picked)
    def _picked(self, event: PickList.Picked) -> None:
        event.stop()
        self.post_message(self.Chosen(event.key))


_BESIDE: Final = 7
"""Width of cursor, gaps and arrows in a line."""
_LEAST: Final = 12
_CACHED_LINES: Final = 256
"""Enough for several lists: a key changes one line, and all lines are requested."""


def whole_values(text: str, room: int) -> str:
    """Return a list of values with as many whole ones as have room: ``m7i-flex, c7i-flex +10``."""
    values = text.split(", ")
    if len(text) <= max(room, _LEAST) or len(values) == 1:
        return text
    for count in range(len(values) - 1, 0, -1):
        shown = f"{', '.join(values[:count])} +{len(values) - count}"
        if len(shown) <= max(room, _LEAST):
            return shown
    return text


def whole_hint(text: str, room: int) -> str:
    """Return as many clauses of a hint as fit, and always the first: ``key=value:Effect``."""
    while len(text) > room and ", " in text:
        text = text.rpartition(", ")[0]
    return text


@lru_cache(_CACHED_LINES)
def _line(control: Control, width: int, room: int) -> Content:
    arrows = ("◂ ", " ▸") if control.can_step else ("  ", "  ")
    value, hint = clean(control.value), clean(control.hint)
    value = clean(whole_values(value, room)) if room else value
    return Content.assemble(
        (f"{clean(control.title):<{width}} ", "$karp-muted"),
        (arrows[0], "$karp-muted"),
        (value, "bold $karp-active" if control.is_changed else "$foreground"),
        (arrows[1], "$karp-muted"),
        (f" {whole_hint(hint, room - len(value) - 1) if room else hint}", "$karp-muted"),
    )
