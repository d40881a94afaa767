"""The last line: the keys that matter most here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from textual import events
from textual.content import Content
from textual.widget import Widget

ALWAYS: Final = ("screen.help", "screen.leave")
"""Bindings that keep their place at the end however little room there is: the way to the rest, and the way out."""
MORE: Final = "…"
"""Shown if keys were left out; clicking it opens the help."""


class Key(NamedTuple):
    """A key that does something here."""

    id: str
    key: str
    """What pressing it is called."""
    label: str
    """How it is written."""
    description: str
    short: str = ""
    """Shorter description for narrow terminals; empty to use the description."""


class Piece(NamedTuple):
    """The drawn text of one key."""

    key: str
    label: str
    text: str
    """The description with its surrounding spaces."""

    @property
    def width(self) -> int:
        return len(self.label) + len(self.text)


def fit(keys: Sequence[Key], width: int) -> list[Piece]:
    """Return the texts of the keys that fit, in order: with spacing, else without, else fewer."""
    roomy = [Piece(key.key, f" {key.label} ", f"{key.description} ") for key in keys]
    if sum(piece.width for piece in roomy) <= width:
        return roomy
    if sum(piece.width - 1 for piece in roomy) - 1 <= width:
        keys = [key._replace(short="") for key in keys]
    close = [(key.id, Piece(key.key, key.label, f" {key.short or key.description} ")) for key in keys]
    last = [piece for name, piece in close if name in ALWAYS]
    others = [piece for name, piece in close if name not in ALWAYS]
    if sum(piece.width for _, piece in close) - 1 > width:
        more = Piece(next((key.key for key in keys if key.id == ALWAYS[0]), ""), MORE, " ")
        room = width + 1 - sum(piece.width for piece in (more, *last))
        ends = accumulate(piece.width for piece in others)
        others = [piece for piece, end in zip(others, ends, strict=True) if end <= room]
        last = [more, *last]
    shown = [*others, *last]
    return [*shown[:-1], *(piece._replace(text=piece.text.rstrip()) for piece in shown[-1:])]


class KeyLine(Widget):
    """One line of keys and their actions; a click presses the key."""

    DEFAULT_CSS = """
    KeyLine { height: 1; width: 1fr; }
    """

    def __init__(
        self,
        first: Sequence[str],
        last: Sequence[str],
        short: Mapping[str, str],
        rename: Callable[[str, str], str] = lambda _, text: text,
    ) -> None:
        super().__init__()
        self._rename = rename
        self._short = short
        self._ranks = {name: rank - len(first) for rank, name in enumerate(first)}
        self._ranks |= {name: rank for rank, name in enumerate(last, 1)}
        self._spans: list[tuple[int, int, str]] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> Content:
        pieces = fit(self._keys(), self.size.width)
        self._spans, x = [], 0
        for piece in pieces:
            self._spans.append((x, x + piece.width, piece.key))
            x += piece.width
        parts = ((Content.styled(piece.label, "bold $karp-key"), (piece.text, "$karp-muted")) for piece in pieces)
        return Content("").join(Content.assemble(*pair) for pair in parts)

    def _keys(self) -> list[Key]:
        keys: dict[str, Key] = {}
        focused = self.screen.focused
        has_own = getattr(focused, "shows_only_own_keys", False)
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if has_own and active.node is not focused:
                continue
            if binding.show and binding.description and active.enabled:
                name = binding.id or binding.action
                label = binding.key_display or self.app.get_key_display(binding)
                if words := self._rename(name, binding.description):
                    keys.setdefault(name, Key(name, binding.key, label, words, self._short.get(name, "")))
        return sorted(keys.values(), key=lambda key: self._ranks.get(key.id, 0))

    def on_click(self, event: events.Click) -> None:
        for start, end, key in self._spans:
            if start <= event.x < end and key:
                self.app.simulate_key(key)
