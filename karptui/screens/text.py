"""A screen of text: YAML, descriptions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import getters, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import TextArea

from karptui.kube.units import counted
from karptui.screens.frame import FrameScreen
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean, clean_lines


class TextScreen(FrameScreen):
    """Shows text that may take a moment to come."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy all", id="text.copy"),
        Binding("j", "scroll(1)", "Down", show=False, id="text.down"),
        Binding("k", "scroll(-1)", "Up", show=False, id="text.up"),
        Binding("g", "edge(-1)", "Start", show=False, id="text.start"),
        Binding("G", "edge(1)", "End", show=False, id="text.end"),
    ]

    area = getters.query_one(TextArea)

    def __init__(self, title: str, fetch: Callable[[], Awaitable[str]], language: str | None = None) -> None:
        super().__init__()
        self._heading = clean(title)
        self._fetch = fetch
        self._language = language
        self._info: Pieces = (("fetching…", Tone.ACTIVE),)

    def compose_body(self) -> ComposeResult:
        """Yield the text area; a command is a line however long it is, and goes on below."""
        wraps = self._language == "sh"
        yield TextArea("", read_only=True, show_line_numbers=False, soft_wrap=wraps, theme="css")

    def prepare(self) -> None:
        self.area.border_title = Content(f" {self._heading} ")
        super().prepare()
        self.area.focus()
        self._load()

    @work(exclusive=True)
    async def _load(self) -> None:
        lines = clean_lines(await self._fetch())
        if self._language is not None and self._language in self.area.available_languages:
            self.area.language = self._language
        self.area.load_text("\n".join(lines))
        self._info = ((f"{counted(len(lines), 'line')} · c copies all", Tone.MUTED),)
        self.refresh_info()

    def explain(self) -> Pieces:
        return self._info

    def focus_body(self) -> None:
        self.area.focus()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.area.selected_text or self.area.text)
        self.say("copied", Tone.GOOD)

    def action_scroll(self, step: int) -> None:
        self.area.scroll_relative(y=step, animate=False)

    def action_edge(self, step: int) -> None:
        if step < 0:
            self.area.scroll_home(animate=False)
        else:
            self.area.scroll_end(animate=False)
