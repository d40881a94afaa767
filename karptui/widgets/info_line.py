"""The line above the footer: what the row under the cursor means, in words."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from karptui.views.row import Pieces, Tone
from karptui.widgets.fitted import fitted
from karptui.widgets.hanging import wrapped
from karptui.widgets.plain import phrase


class InfoLine(Widget):
    """A sentence of toned pieces, wrapped to the lines it is given, and facts in what room it leaves."""

    DEFAULT_CSS = """
    InfoLine { height: 1; width: 1fr; padding: 0 1; }
    """

    _told: tuple[Pieces, tuple[Pieces, ...]] = ((), ())

    @property
    def pieces(self) -> Pieces:
        """The sentence; another one takes the facts away."""
        return self._told[0]

    @pieces.setter
    def pieces(self, pieces: Pieces) -> None:
        self.tell(pieces)

    def tell(self, pieces: Pieces, facts: Sequence[Pieces] = ()) -> None:
        """Show a sentence, and behind it as many of the facts as find room, the first first."""
        told = (pieces, tuple(facts))
        if told != self._told:
            self._told = told
            self.refresh(layout=self.styles.auto_dimensions)

    def say(self, text: str, tone: Tone = Tone.NORMAL) -> None:
        """Show one sentence of one tone."""
        self.tell(((text, tone),))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - as Textual has it
        """Return the lines of the sentence, for where they are not fixed."""
        return len(wrapped((self.pieces,), width))

    def render(self) -> Content:
        """Draw the sentence, with an ellipsis where it has no room, and the facts."""
        pieces, facts = self._told
        lines = fitted(pieces, facts, self.content_size.width, self.content_size.height)
        return Content("\n").join([phrase(line) for line in lines])
