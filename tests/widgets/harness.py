"""A small app around one widget, in the product's colours."""

from __future__ import annotations

from textual import on
from textual.app import App, ComposeResult
from textual.message import Message
from textual.widget import Widget

from karptui.widgets.control_list import ControlList
from karptui.widgets.pick_list import LineList
from karptui.widgets.prompt import Prompt
from karptui.widgets.row_table.table import MarksChanged, RowHighlighted, RowSelected, SortRequested
from karptui.widgets.themes import OWN_THEMES, style_sheets, variable_defaults
from karptui.widgets.top_bar import TabLine


class WidgetApp(App[None]):
    """Shows one widget and records the messages that bubble up from it."""

    CSS_PATH = style_sheets("tones", "frame")
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, *widgets: Widget) -> None:
        super().__init__()
        self.animation_level = "none"
        self.subjects = widgets
        self.heard: list[Message] = []
        for theme in OWN_THEMES:
            self.register_theme(theme)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(self.current_theme)

    def compose(self) -> ComposeResult:
        yield from self.subjects

    @on(RowHighlighted)
    @on(RowSelected)
    @on(SortRequested)
    @on(MarksChanged)
    @on(TabLine.TabPicked)
    @on(Prompt.Edited)
    @on(Prompt.Entered)
    @on(Prompt.Closed)
    @on(ControlList.Stepped)
    @on(ControlList.Chosen)
    @on(ControlList.Reset)
    @on(LineList.Opened)
    def hear(self, message: Message) -> None:
        self.heard.append(message)

    def texts(self, widget: Widget) -> list[str]:
        return [strip.text for strip in widget.render_lines(widget.outer_size.region)]
