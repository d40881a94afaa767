"""The line above the footer: what the row under the cursor means, in words."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from karptui.views.row import Tone
from karptui.widgets.plain import phrase


class InfoLine(Widget):
    """A sentence of toned pieces, wrapped to the lines it is given."""

    DEFAULT_CSS = """
    InfoLine { height: 1; width: 1fr; padding: 0 1; }
    """

    pieces: reactive[tuple[tuple[str, Tone], ...]] = reactive(())
    """What is said."""

    def render(self) -> Content:
        """Draw the sentence."""
        return phrase(self.pieces)

    def say(self, text: str, tone: Tone = Tone.NORMAL) -> None:
        """Show one sentence of one tone."""
        self.pieces = ((text, tone),)
