"""Help for one screen, made from its bindings, columns and filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.visual import Visual
from textual.widgets import Static

from karptui.screens.host import host_of
from karptui.widgets.sentences import Beside, BesideLines
from karptui.widgets.textual_compat.dimmed import DimmedScreen

_TERM_WIDTH = 24
"""Maximum width of keys and names in cells; text of a longer one begins on the next line."""

OWN: Final = "This screen"
_RANKS: Final = {OWN: -1, "Table": 1, "Everywhere": 2}
"""Order of the sections of keys."""
_SHARED: Final = ("screen", "list", "object", "moment")
"""Prefixes of the ids of keys that many screens have."""

Section = tuple[str, Sequence[tuple[str, str]]]


class HelpScreen(DimmedScreen[None]):
    """Keys, codes, columns and filters of the screen below, then shared keys and commands."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark", "close", "Close", id="help.close"),
        Binding("j", "scroll(1)", "Down", show=False, id="help.down"),
        Binding("k", "scroll(-1)", "Up", show=False, id="help.up"),
    ]

    def __init__(self, explained: Screen[Any], sections: Sequence[Section]) -> None:
        super().__init__()
        keys = dict(_key_sections(explained))
        this_screen = [(OWN, keys.pop(OWN))] if OWN in keys else []
        self._sections: list[Section] = [*this_screen, *sections, *keys.items(), _command_section(explained)]

    def compose(self) -> ComposeResult:
        with VerticalScroll() as scroll:
            scroll.border_title = Content(" Help ")
            scroll.border_subtitle = Content(" esc closes ")
            for title, lines in self._sections:
                if lines:
                    yield Static(Content.styled(title, "bold $karp-key"), markup=False, classes="help-title")
                    yield Static(_table(lines), markup=False, classes="help-lines")

    def on_click(self, event: events.Click) -> None:
        if self.is_beside(event):
            self.action_close()

    def action_close(self) -> None:
        self.dismiss()

    def action_scroll(self, step: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=step, animate=False)


def _key_sections(explained: Screen[Any]) -> Iterator[Section]:
    """Yield the bindings that work on a screen, by the part they belong to."""
    groups: dict[str, list[tuple[str, str, str]]] = {}
    keys: dict[tuple[str, str, str], list[str]] = {}
    for active in explained.active_bindings.values():
        binding = active.binding
        if not binding.description or not binding.id:
            continue
        default_title = "Every screen" if binding.id.partition(".")[0] in _SHARED else OWN
        title = active.node.BINDING_GROUP_TITLE or default_title
        ident = (title, binding.id, binding.tooltip or binding.description)
        if ident not in keys:
            groups.setdefault(title, []).append(ident)
        keys.setdefault(ident, []).append(explained.app.get_key_display(binding))
    for title, idents in sorted(groups.items(), key=lambda group: _RANKS.get(group[0], 0)):
        yield title, [(" ".join(dict.fromkeys(keys[ident])), ident[2]) for ident in idents]


def _command_section(explained: Screen[Any]) -> Section:
    lines = []
    for command in host_of(explained.app).commands:
        names = " ".join(f":{name}" for name in (command.name, *command.aliases))
        lines.append((f"{names} {command.placeholder}".rstrip(), command.help))
    return "Commands", lines


def _table(lines: Sequence[tuple[str, str]]) -> Visual:
    width = min(max(cell_len(term) for term, _ in lines), _TERM_WIDTH)
    return BesideLines(tuple(_line(term, text, width) for term, text in lines))


def _line(term: str, text: str, width: int) -> Beside:
    return Beside(Content.styled(term + " " * (width - cell_len(term)), "$karp-strong"), Content(text))
