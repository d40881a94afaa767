"""Fields that are changed without typing text: a line each, with a value that keys step, toggle or ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from karptui.views.control import Control
from karptui.views.sanitize import clean


class ControlList(OptionList):
    """Lists controls; the screen does what their keys ask for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h,minus", "step(-1)", "Less", key_display="←", id="control.less"),
        Binding("right,l,plus", "step(1)", "More", key_display="→", id="control.more"),
        Binding("enter,space", "select", "Change", key_display="enter", id="control.change"),
        Binding("backspace,delete", "reset", "As it was", key_display="⌫", id="control.reset"),
        Binding("j", "cursor_down", "Down", show=False, id="control.down"),
        Binding("k", "cursor_up", "Up", show=False, id="control.up"),
    ]
    BINDING_GROUP_TITLE = "Quick edits"
    DEFAULT_CSS = """
    ControlList { border: none; padding: 0 1; height: auto; max-height: 9; scrollbar-size-vertical: 1; }
    """

    @dataclass
    class Stepped(Message):
        """A value is to be one step less or more."""

        control_id: str
        step: int

    @dataclass
    class Chosen(Message):
        """A value is to be asked for."""

        control_id: str

    @dataclass
    class Reset(Message):
        """A value is to be again what the cluster has."""

        control_id: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id, markup=False)
        self._controls: tuple[Control, ...] = ()

    @property
    def controls(self) -> tuple[Control, ...]:
        """What is listed."""
        return self._controls

    def show_controls(self, controls: Sequence[Control]) -> None:
        """List controls; the cursor stays on the one it is on."""
        if tuple(controls) == self._controls:
            return
        current = self._current_id()
        same = [(one.id, one.title) for one in controls] == [(one.id, one.title) for one in self._controls]
        width = max((len(clean(one.title)) for one in controls), default=0)
        before, self._controls = self._controls, tuple(controls)
        if same:
            for one, old in zip(controls, before, strict=True):
                if one != old:
                    self.replace_option_prompt(one.id, _line(one, width))
            return
        self.set_options(Option(_line(one, width), id=one.id) for one in controls)
        ids = [one.id for one in controls]
        if ids:
            self.highlighted = ids.index(current) if current in ids else 0

    def _current_id(self) -> str | None:
        option = self.highlighted_option
        return option.id if option is not None else None

    def action_step(self, step: int) -> None:
        """Ask for less or more."""
        control_id = self._current_id()
        if control_id is not None:
            self.post_message(self.Stepped(control_id, step))

    def action_reset(self) -> None:
        """Ask for what the cluster has."""
        control_id = self._current_id()
        if control_id is not None:
            self.post_message(self.Reset(control_id))

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option.id is not None:
            self.post_message(self.Chosen(event.option.id))


def _line(control: Control, width: int) -> Content:
    arrows = ("◂ ", " ▸") if control.can_step else ("  ", "  ")
    return Content.assemble(
        (f"{clean(control.title):<{width}} ", "$karp-muted"),
        (arrows[0], "$karp-muted"),
        (clean(control.value), "bold $karp-active" if control.is_changed else "$foreground"),
        (arrows[1], "$karp-muted"),
        (f" {clean(control.hint)}", "$karp-muted"),
    )
