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
from karptui.sources.cluster.role import role_lines
from karptui.widgets.beside import Beside, BesideLines
from karptui.widgets.textual_compat.dimmed import DimmedScreen

_TERM_WIDTH = 24
"""Cells of keys and names at most; a longer one stands above its text."""

OWN: Final = "This screen"
_RANKS: Final = {OWN: -1, "Table": 1, "Everywhere": 2}
"""What most screens share comes behind the keys of the screen itself."""
_SHARED: Final = ("screen", "list", "object", "moment")
"""What ids of keys begin with that many screens have."""

Section = tuple[str, Sequence[tuple[str, ...]]]


class HelpScreen(DimmedScreen[None]):
    """Keys, commands, columns and filters of the screen below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark", "close", "Close", id="help.close"),
        Binding("j", "scroll(1)", "Down", show=False, id="help.down"),
        Binding("k", "scroll(-1)", "Up", show=False, id="help.up"),
    ]

    def __init__(self, explained: Screen[Any], own: Sequence[Section]) -> None:
        """Make help for a screen.

        Args:
            explained: the screen that is in front.
            own: what it says of itself beside its keys.
        """
        super().__init__()
        role = [("", line) for line in role_lines()]
        self._sections: list[Section] = [
            *_key_sections(explained),
            _command_section(explained),
            *own,
            ("Permissions: what karptui reads", role),
        ]

    def compose(self) -> ComposeResult:
        """Yield the sections."""
        with VerticalScroll() as scroll:
            scroll.border_title = Content(" Help ")
            scroll.border_subtitle = Content(" esc closes ")
            for title, lines in self._sections:
                if lines:
                    yield Static(Content.styled(title, "bold $karp-key"), markup=False, classes="help-title")
                    yield Static(_table(lines), markup=False, classes="help-lines")

    def on_click(self, event: events.Click) -> None:
        """Close the help at a click beside it."""
        if self.is_beside(event):
            self.action_close()

    def action_close(self) -> None:
        """Go back to the screen."""
        self.dismiss()

    def action_scroll(self, step: int) -> None:
        """Scroll by a line."""
        self.query_one(VerticalScroll).scroll_relative(y=step, animate=False)


def _key_sections(explained: Screen[Any]) -> Iterator[Section]:
    """Yield the bindings that work on a screen, by the part they belong to."""
    groups: dict[str, list[tuple[str, str, str]]] = {}
    keys: dict[tuple[str, str, str], list[str]] = {}
    for active in explained.active_bindings.values():
        binding = active.binding
        if not binding.description or not binding.id:
            continue
        own = "Every screen" if binding.id.partition(".")[0] in _SHARED else OWN
        title = active.node.BINDING_GROUP_TITLE or own
        ident = (title, binding.id, binding.tooltip or binding.description)
        if ident not in keys:
            groups.setdefault(title, []).append(ident)
        keys.setdefault(ident, []).append(explained.app.get_key_display(binding))
    for title, idents in sorted(groups.items(), key=lambda group: _RANKS.get(group[0], 0)):
        yield title, [(" ".join(dict.fromkeys(keys[ident])), ident[2], ident[1]) for ident in idents]


def _command_section(explained: Screen[Any]) -> Section:
    lines = []
    for command in host_of(explained.app).commands:
        names = " ".join(f":{name}" for name in (command.name, *command.aliases))
        lines.append((f"{names} {command.placeholder}".rstrip(), command.help, ""))
    return "Commands", lines


def _table(lines: Sequence[tuple[str, ...]]) -> Visual:
    """Return lines of a term and its text, each in a column of its own; without terms, the texts as they are."""
    width = min(max(cell_len(term) for term, *_ in lines), _TERM_WIDTH)
    if not width:
        return Content("\n").join([Content(f"  {text}") for _, text, *_ in lines])
    return BesideLines(tuple(_line(term, text, *ident, width=width) for term, text, *ident in lines))


def _line(term: str, text: str, ident: str = "", *, width: int) -> Beside:
    filled = Content.styled(term + " " * (width - cell_len(term)), "$karp-strong")
    return Beside(filled, Content.assemble(text, (f"  {ident}" if ident else "", "$karp-muted")))
