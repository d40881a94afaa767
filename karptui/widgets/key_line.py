"""The last line: the keys that matter most here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from textual import events
from textual.content import Content
from textual.widget import Widget

MOST: Final = 8
"""Keys shown at most; the help screen has the rest."""


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
        self._spans = []
        pieces: list[Content] = []
        x = 0
        for key, label, description in self._keys():
            piece = Content.assemble((f" {label} ", "bold $karp-key"), (f"{description} ", "$karp-muted"))
            if x + piece.cell_length > self.size.width:
                break
            self._spans.append((x, x + piece.cell_length, key))
            pieces.append(piece)
            x += piece.cell_length
        return Content("").join(pieces)

    def _keys(self) -> list[tuple[str, str, str]]:
        """Return key, how it is written and what it does, in order."""
        found: dict[str, tuple[str, str, str]] = {}
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
                    (binding.key, label, self._rename(binding.id or "", binding.description)),
                )
        ranks = {name: rank for rank, name in enumerate(self._order)}
        ordered = sorted(found, key=lambda name: ranks.get(name, len(ranks)))
        return [found[name] for name in ordered[:MOST]]

    def on_click(self, event: events.Click) -> None:
        """Press the key that was clicked."""
        for start, end, key in self._spans:
            if start <= event.x < end:
                self.app.simulate_key(key)
