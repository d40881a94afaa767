"""A small app around one widget, in the product's colours."""

from __future__ import annotations

from typing import TypeVar

from textual.app import App, ComposeResult
from textual.message import Message
from textual.widget import Widget

from karptui.widgets.palette import OWN_THEMES, variable_defaults
from karptui.widgets.styles import style_sheets

WidgetT = TypeVar("WidgetT", bound=Widget)


class WidgetApp(App[None]):
    """Shows one widget and keeps the messages that come up from it."""

    CSS_PATH = style_sheets("tones", "frame")
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.animation_level = "none"
        self.subject = widget
        self.heard: list[Message] = []
        for theme in OWN_THEMES:
            self.register_theme(theme)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(self.current_theme)

    def compose(self) -> ComposeResult:
        yield self.subject

    async def on_event(self, event: Message) -> None:  # type: ignore[override]
        await super().on_event(event)  # type: ignore[arg-type]
