"""Dialogs: choose one, choose some, enter a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from rich.cells import cell_len
from textual import events, getters, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from karptui.views.sanitize import clean
from karptui.widgets.sentences import Beside
from karptui.widgets.textual_compat.dimmed import DimmedScreen

FILTER_FROM: Final = 10
"""From this many choices the filter line is visible; otherwise it appears once the user types."""
_LEAVES: Final = " enter accepts · esc cancels "
_NOTHING: Final = " no match · esc cancels "


class Choice(NamedTuple):
    """One thing to choose."""

    id: str
    title: str
    detail: str = ""


class ChoiceList(OptionList):
    """A list whose cursor stays in view however many lines there is room for."""

    def on_resize(self) -> None:
        self.scroll_to_highlight()


def _lines(choices: Iterable[Choice], chosen: frozenset[str] | None) -> list[Option]:
    shown = list(choices)
    width = min(max((cell_len(clean(choice.title)) for choice in shown), default=0), 44)
    return [Option(_line(choice, width, chosen), id=choice.id) for choice in shown]


def _line(choice: Choice, width: int, chosen: frozenset[str] | None) -> Beside:
    sign = "" if chosen is None else "☑ " if choice.id in chosen else "☐ "
    title = clean(choice.title)
    filled = Content.assemble(sign, (title + " " * (width - cell_len(title)), "$foreground"))
    return Beside(filled, Content.styled(clean(choice.detail), "$karp-muted"))


class ListDialog(DimmedScreen[ScreenResultType]):
    """A list of choices below a line that narrows it."""

    leaves: ClassVar[str] = _LEAVES
    """The keys, in the edge below the list."""

    options = getters.query_one(OptionList)
    line = getters.query_one(Input)

    def __init__(self, title: str, choices: Sequence[Choice], line: Input) -> None:
        super().__init__()
        self._heading = clean(title)
        self._choices = {choice.id: choice for choice in choices}
        self._shown = tuple(self._choices)
        """Ids of the choices that match the typed text."""
        self._chosen: frozenset[str] | None = None
        """Ids of those that are on; None if one is picked."""
        self._line = line

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as frame:
            frame.border_title = Content(f" {self._heading} ")
            frame.border_subtitle = Content(self.leaves)
            self._line.styles.height = 1 if len(self._choices) >= FILTER_FROM else 0
            yield self._line
            yield ChoiceList(*_lines(self._choices.values(), self._chosen), markup=False)

    def action_give_up(self) -> None:
        self.dismiss(None)

    async def action_move(self, how: str) -> None:
        """Move the cursor in the list, as the list itself does."""
        await self.options.run_action(how)

    @on(Input.Changed)
    def _narrowed(self, event: Input.Changed) -> None:
        if event.value:
            self.line.styles.height = 1
        words = event.value.casefold().split()
        choices = self._choices.values()
        left = [c for c in choices if all(word in f"{c.title} {c.detail}".casefold() for word in words)]
        self._shown = tuple(choice.id for choice in left)
        self.options.set_options(_lines(left, self._chosen))
        self.options.highlighted = 0 if left else None
        self.query_one(".dialog").border_subtitle = Content(self.leaves if left else _NOTHING)


class PickScreen(ListDialog["str | None"]):
    """Asks for one of several choices; returns its id, or None. Typing narrows the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Cancel", id="pick.cancel"),
        Binding("down", "move('cursor_down')", "Down", show=False, id="pick.down", priority=True),
        Binding("up", "move('cursor_up')", "Up", show=False, id="pick.up", priority=True),
        Binding("pagedown", "move('page_down')", "Page down", show=False, id="pick.page-down", priority=True),
        Binding("pageup", "move('page_up')", "Page up", show=False, id="pick.page-up", priority=True),
    ]

    def __init__(self, title: str, choices: Sequence[Choice], *, current: str = "") -> None:
        super().__init__(title, choices, Input(placeholder="type to narrow", select_on_focus=False))
        self._current = current

    def on_mount(self) -> None:
        self.options.highlighted = self._shown.index(self._current) if self._current in self._choices else 0
        self.set_focus(self.line)

    def on_resize(self) -> None:
        """Fit the height to the complete list and keep it while the user types."""
        self.query_one(".dialog").styles.min_height = self.options.styles.max_height = None
        self.call_after_refresh(self._keep_height)

    def _keep_height(self) -> None:
        if not self.line.value:
            frame = self.query_one(".dialog")
            frame.styles.min_height = frame.outer_size.height
            # All of the frame is a line too much for a list that has the line above it.
            self.options.styles.max_height = max(frame.size.height - self.line.size.height, 1)

    def on_key(self, event: events.Key) -> None:
        """Type into the line also while the list has the keys, as after a click."""
        if event.character is not None and event.is_printable:
            event.stop()
            self.set_focus(self.line)
            self.line.insert_text_at_cursor(event.character)

    def on_click(self, event: events.Click) -> None:
        if self.is_beside(event):
            self.action_give_up()

    @on(Input.Submitted)
    def _submitted(self) -> None:
        option = self.options.highlighted_option
        self.dismiss(option.id if option is not None else None)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


async def pick(app: App[Any], title: str, choices: Sequence[Choice], current: str = "") -> str | None:
    """Ask for one of several choices; return its id, or None if cancelled."""
    return await app.push_screen_wait(PickScreen(title, choices, current=current))


class NarrowingLine(Input):
    """A line of words to narrow a checklist by; a blank is no letter of it but turns a line on or off."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return key != "space" and super().check_consume_key(key, character)


class ChecklistScreen(ListDialog["frozenset[str] | None"]):
    """Asks for some of several choices; returns their ids, or None. Typing narrows the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Cancel", id="checklist.cancel"),
        Binding("enter", "take", "Take", id="checklist.take", priority=True),
        Binding("space", "flip", "On or off", id="checklist.toggle", priority=True),
        Binding("ctrl+a", "flip_all", "All on or off", id="checklist.all", priority=True),
        Binding("down", "move('cursor_down')", "Down", show=False, id="checklist.down", priority=True),
        Binding("up", "move('cursor_up')", "Up", show=False, id="checklist.up", priority=True),
    ]

    leaves = " space on or off · ^a all shown · enter accepts · esc cancels "

    def __init__(self, title: str, choices: Sequence[Choice], chosen: Iterable[str]) -> None:
        super().__init__(title, choices, NarrowingLine(placeholder="type to narrow", select_on_focus=False))
        self._chosen: frozenset[str] = frozenset(chosen)
        self._width = min(max((cell_len(clean(choice.title)) for choice in choices), default=0), 44)

    def on_mount(self) -> None:
        self.options.highlighted = 0
        self.set_focus(self.line)

    def action_take(self) -> None:
        self.dismiss(self._chosen)

    def action_flip(self) -> None:
        option = self.options.highlighted_option
        if option is not None and option.id is not None:
            self._toggle(option.id)

    def action_flip_all(self) -> None:
        """Turn all shown choices on, or off if all are on."""
        are_on = self._chosen.issuperset(self._shown)
        for choice_id in self._shown:
            if (choice_id in self._chosen) == are_on:
                self._toggle(choice_id)

    def _toggle(self, choice_id: str) -> None:
        self._chosen ^= {choice_id}
        self.options.replace_option_prompt(choice_id, _line(self._choices[choice_id], self._width, self._chosen))

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option.id is not None:
            self._toggle(event.option.id)


class LineScreen(DimmedScreen["str | None"]):
    """Asks for a line of text; returns it, or None. A rejected text stays for correction."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", "Cancel", id="ask.cancel", priority=True)]

    line = getters.query_one(Input)

    def __init__(
        self, title: str, *, value: str = "", hint: str = "", check: Callable[[str], str] = lambda _: ""
    ) -> None:
        super().__init__()
        self._heading = clean(title)
        self._value = value
        self._hint = clean(hint)
        self._check = check

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as frame:
            frame.border_title = Content(f" {self._heading} ")
            frame.border_subtitle = Content(_LEAVES)
            yield Input(self._value, select_on_focus=True)
            yield Static(Content.styled(self._hint, "$karp-muted"), markup=False)

    def action_give_up(self) -> None:
        self.dismiss(None)

    @on(Input.Changed)
    def _edited(self, event: Input.Changed) -> None:
        self._say(self._check(event.value) if event.value != self._value else "")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        refused = self._check(event.value)
        self._say(refused)
        if not refused:
            self.dismiss(event.value)

    def _say(self, refused: str) -> None:
        shown = Content.styled(f"✘ {clean(refused)}", "$karp-fault") if refused else None
        self.query_one(Static).update(shown or Content.styled(self._hint, "$karp-muted"))


def pick_theme(app: App[None]) -> None:
    """Let the theme be picked, beginning with the present one."""

    def picked(name: str | None) -> None:
        if name is not None:
            app.theme = name

    themes = sorted(app.available_themes.items())
    choices = [Choice(name, name, "dark" if theme.dark else "light") for name, theme in themes]
    app.push_screen(PickScreen("Theme", choices, current=app.theme), picked)
