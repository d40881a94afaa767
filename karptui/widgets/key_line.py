"""The last line: the keys that matter most here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from textual import events
from textual.content import Content
from textual.widget import Widget

MOST: Final = 8
"""Keys shown at most; the help screen has the rest."""
ALWAYS: Final = ("screen.help", "screen.leave")
"""Bindings that keep their place at the end however little room there is: the way to the rest, and the way out."""


class _Key(NamedTuple):
    key: str
    label: str
    """How it is written."""
    description: str


def _piece(key: _Key) -> Content:
    return Content.assemble((f" {key.label} ", "bold $karp-key"), (f"{key.description} ", "$karp-muted"))


class KeyLine(Widget):
    """One line of keys with what they do; a click presses the key."""

    DEFAULT_CSS = """
    KeyLine { height: 1; width: 1fr; }
    """

    def __init__(self, order: Sequence[str], rename: Callable[[str, str], str] = lambda _, text: text) -> None:
        """Make the line.

        Args:
            order: ids of bindings, the most important first; other bindings that want to be shown follow.
            rename: from a binding's id and description to what is shown now.
        """
        super().__init__()
        self._rename = rename
        self._order = tuple(order)
        self._spans: list[tuple[int, int, str]] = []

    def on_mount(self) -> None:
        """Follow the bindings of the screen."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> Content:
        """Draw as many keys as there is room for."""
        keys = self._keys()
        last = [(name, key, _piece(key)) for name, key in keys.items() if name in ALWAYS]
        room = self.size.width - sum(piece.cell_length for *_, piece in last)
        shown: list[tuple[str, _Key, Content]] = []
        for name, key in keys.items():
            piece = _piece(key)
            if name in ALWAYS:
                continue
            if piece.cell_length > room or len(shown) + len(last) >= MOST:
                break
            room -= piece.cell_length
            shown.append((name, key, piece))
        self._spans, x = [], 0
        for _, key, piece in (*shown, *last):
            self._spans.append((x, x + piece.cell_length, key.key))
            x += piece.cell_length
        return Content("").join(piece for *_, piece in (*shown, *last))

    def _keys(self) -> dict[str, _Key]:
        """Return the keys by the ids of their bindings, in order."""
        found: dict[str, _Key] = {}
        focused = self.screen.focused
        has_own = getattr(focused, "shows_only_own_keys", False)
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if has_own and active.node is not focused:
                continue
            if binding.show and binding.description and active.enabled:
                label = binding.key_display or self.app.get_key_display(binding)
                found.setdefault(
                    binding.id or binding.action,
                    _Key(binding.key, label, self._rename(binding.id or "", binding.description)),
                )
        ranks = {name: rank for rank, name in enumerate(self._order)}
        ordered = sorted(found, key=lambda name: ranks.get(name, len(ranks)))
        return {name: found[name] for name in ordered}

    def on_click(self, event: events.Click) -> None:
        """Press the key that was clicked."""
        for start, end, key in self._spans:
            if start <= event.x < end:
                self.app.simulate_key(key)
