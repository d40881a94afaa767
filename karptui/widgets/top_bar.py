"""The first line: the cluster, its totals, and how fresh the data is."""

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

from karptui.views.sanitize import ELLIPSIS, clean
from karptui.views.top_bar import Fact, TopBarValues
from karptui.widgets.sentences import TONE_STYLES

_GAP = "  "


class TopBar(Widget):
    """One line: a banner in the context's colour, figures, and the health of the data at the right end."""

    DEFAULT_CSS = """
    TopBar { height: 1; width: 1fr; }
    """

    values: reactive[TopBarValues] = reactive(TopBarValues(""))

    def render(self) -> Content:
        """Draw as much as there is room for: the banner and the health always, figures from the left."""
        values, width = self.values, self.size.width
        name = f"{values.label} {values.title}".strip() if values.label else values.title
        banner = _banner(clean(name), values.banner, max(width // 2, 12))
        health = self._health(width - banner.cell_length - 2)
        room = width - banner.cell_length - health.cell_length - len(_GAP) - 1
        facts = self._facts(values.facts, room)
        if values.version is not None:
            facts = Content.assemble(facts, self._version(values.version, room - facts.cell_length))
        space = max(width - banner.cell_length - facts.cell_length - health.cell_length - 1, 1)
        return Content.assemble(banner, facts, " " * space, health)

    def _health(self, room: int) -> Content:
        health = self.values.health
        facts = sum(len(fact.short or fact.text) + len(_GAP) for fact in self.values.facts)
        text = health.text if len(health.text) + facts <= room else health.short
        return Content.styled(clean(text), TONE_STYLES[health.tone])

    @staticmethod
    def _version(version: Fact, room: int) -> Content:
        """Return the longest form that fits next to the figures, if any."""
        text = next((form for form in (version.text, version.short) if len(form) + len(_GAP) <= room), "")
        return Content.assemble(_GAP, (clean(text), TONE_STYLES[version.tone])) if text else Content("")

    @staticmethod
    def _facts(facts: tuple[Fact, ...], room: int) -> Content:
        """Return long forms if all fit, else short forms, without those that do not fit.

        An exact figure gets its long form if the short forms of the others leave room.
        """
        texts = [clean(fact.text) for fact in facts]
        if sum(len(text) + len(_GAP) for text in texts) > room:
            texts, longs = [clean(fact.short) for fact in facts], texts
            spare = room - sum(len(text) + len(_GAP) for text in texts)
            for place, fact in enumerate(facts):
                extra = len(longs[place]) - len(texts[place])
                if fact.is_exact and extra <= spare:
                    texts[place], spare = longs[place], spare - extra
        pieces: list[Content] = []
        for fact, text in zip(facts, texts, strict=True):
            if text and len(text) + len(_GAP) <= room:
                room -= len(text) + len(_GAP)
                pieces.append(Content.assemble(_GAP, (text, TONE_STYLES[fact.tone])))
        return Content("").join(pieces)


def _banner(name: str, banner: str, room: int) -> Content:
    text = name if len(name) <= room else name[: room - 1] + ELLIPSIS
    return Content.styled(f" {text or '-'} ", f"bold $karp-{banner}-text on $karp-{banner}")


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
