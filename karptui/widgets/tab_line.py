"""The second line: the screens there are, each with its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget


class Tab(NamedTuple):
    """One screen."""

    name: str
    """What messages call it."""
    key: str
    title: str
    note: str = ""
    """Count shown behind the title."""
    short: str = ""
    """Said instead of the title when room is short."""

    @property
    def tail(self) -> str:
        return f"·{self.note}" if self.note else ""


LEAST: Final = 4
"""Letters that are left of a title when there is hardly any room."""


def _width(labels: Sequence[tuple[str, str]]) -> int:
    return sum(len(key) + len(label) for key, label in labels)


class TabLine(Widget):
    """One line of tabs; a click asks for a screen."""

    DEFAULT_CSS = """
    TabLine { height: 1; width: 1fr; }
    """

    @dataclass
    class TabPicked(Message):
        """A tab was clicked."""

        name: str

    active: reactive[str] = reactive("")
    notes: reactive[Mapping[str, str]] = reactive(MappingProxyType({}))
    """Counts shown behind titles, by screen name."""

    def __init__(self, tabs: Sequence[Tab], active: str) -> None:
        super().__init__()
        self._tabs = tuple(tabs)
        self._spans: list[tuple[int, int, str]] = []
        self.set_reactive(TabLine.active, active)

    def render(self) -> Content:
        tabs = [tab._replace(note=self.notes.get(tab.name, tab.note)) for tab in self._tabs]
        forms = (
            [(f" {tab.key} ", f"{tab.title}{tab.tail} ") for tab in tabs],
            [(tab.key, f"{tab.short or tab.title}{tab.tail} ") for tab in tabs],
            [(tab.key, f"{(tab.short or tab.title)[:LEAST]}{tab.tail} ") for tab in tabs],
        )
        labels = next((form for form in forms if _width(form) <= self.size.width), forms[-1])
        pieces: list[Content] = []
        self._spans = []
        x = 0
        for tab, (key, label) in zip(tabs, labels, strict=True):
            if tab.name == self.active:
                piece = Content.assemble((key, "bold $karp-key on $karp-cursor"), (label, "bold on $karp-cursor"))
            else:
                piece = Content.assemble((key, "$karp-key"), (label, "$karp-muted"))
            self._spans.append((x, x + piece.cell_length, tab.name))
            x += piece.cell_length
            pieces.append(piece)
        return Content("").join(pieces)

    def on_click(self, event: events.Click) -> None:
        for start, end, name in self._spans:
            if start <= event.x < end:
                self.post_message(self.TabPicked(name))
