"""The line that filters and commands are typed into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static


class PromptMode(StrEnum):
    """Kind of the typed text."""

    FILTER = "/"
    COMMAND = ":"


class _Completer(Suggester):
    """Offers the first completion of a command line as the grey rest of the word."""

    def __init__(self, complete: Callable[[str], Sequence[str]]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._complete = complete

    async def get_suggestion(self, value: str) -> str | None:
        options = self._complete(value)
        return options[0] if value and options else None


class PromptInput(Input):
    """An input where tab accepts the completion and up and down recall earlier lines."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Apply", key_display="enter", id="prompt.enter"),
        Binding("tab", "complete", "Complete", id="prompt.complete"),
        Binding("up", "recall(-1)", "Earlier line", show=False, id="prompt.earlier"),
        Binding("down", "recall(1)", "Later line", show=False, id="prompt.later"),
        Binding("escape", "leave", "Cancel", id="prompt.leave"),
    ]

    shows_only_own_keys: ClassVar[bool] = True
    """Tells the footer that other keys are text here."""

    @dataclass
    class Left(Message):
        """The line was given up."""

    history: tuple[str, ...] = ()
    """Earlier lines, the latest last."""
    back: int = 0
    """How many lines back the shown one is; 0 is the new line."""
    is_finished: bool = False
    """Whether enter or escape has been pressed: keys behind it, typed faster than the focus moves, are no text."""

    async def on_key(self, event: events.Key) -> None:
        """Take enter and escape in turn with the text before them, not after a round trip through the app."""
        if self.is_finished:
            event.stop()
            event.prevent_default()
            self.app.post_message(events.Key(event.key, event.character))
        elif event.key in ("enter", "escape"):
            event.stop()
            event.prevent_default()
            self.is_finished = True
            await self.run_action("submit" if event.key == "enter" else "leave")

    def action_complete(self) -> None:
        self.cursor_position = len(self.value)
        self.action_cursor_right()  # at the end of the text it accepts the suggestion

    def action_recall(self, step: int) -> None:
        self.back = max(0, min(self.back - step, len(self.history)))
        self.value = self.history[-self.back] if self.back else ""
        self.cursor_position = len(self.value)

    def action_leave(self) -> None:
        self.post_message(self.Left())


class Prompt(Horizontal):
    """One line with a sign in front, visible only during typing."""

    DEFAULT_CSS = """
    Prompt {
        height: 1; width: 1fr; display: none; padding: 0 1;
        &.-open { display: block; }
        & > Static { width: 2; }
        & > PromptInput { border: none; height: 1; padding: 0; width: 1fr; }
    }
    """

    @dataclass
    class Edited(Message):
        """The line changed."""

        mode: PromptMode
        text: str

    @dataclass
    class Entered(Message):
        """The line was finished with enter."""

        mode: PromptMode
        text: str

    @dataclass
    class Closed(Message):
        """The line was given up with escape."""

        mode: PromptMode

    def __init__(self, complete: Callable[[str], Sequence[str]]) -> None:
        super().__init__()
        self._completer = _Completer(complete)
        self._mode = PromptMode.FILTER
        self._history: dict[PromptMode, list[str]] = {mode: [] for mode in PromptMode}

    def compose(self) -> ComposeResult:
        yield Static("/", markup=False)
        yield PromptInput(select_on_focus=False)

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    def open(self, mode: PromptMode, text: str = "") -> None:
        """Show the line with a text in it, and take the keys."""
        self._mode = mode
        line = self.query_one(PromptInput)
        line.suggester = self._completer if mode is PromptMode.COMMAND else None
        line.history = tuple(self._history[mode])
        line.back, line.is_finished = 0, False
        with line.prevent(Input.Changed):
            line.value = text
        line.cursor_position = len(text)
        self.query_one(Static).update(mode.value)
        self.add_class("-open")
        # Widget.focus() is deferred, and keys would go elsewhere until then.
        self.screen.set_focus(line)

    def close(self) -> None:
        self.remove_class("-open")
        if isinstance(self.screen.focused, PromptInput):
            self.screen.set_focus(None)

    @on(Input.Changed)
    def _edited(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open:
            self.post_message(self.Edited(self._mode, event.value))

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            history = self._history[self._mode]
            history[:] = [*(line for line in history if line != event.value), event.value][-50:]
        self.close()
        self.post_message(self.Entered(self._mode, event.value))

    @on(PromptInput.Left)
    def _left(self, event: PromptInput.Left) -> None:
        event.stop()
        self.close()
        self.post_message(self.Closed(self._mode))
