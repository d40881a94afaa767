"""The line above the footer: the meaning of the row under the cursor, and further facts if there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from karptui.views.row import Pieces, Tone
from karptui.views.wrapping import wrapped
from karptui.widgets.sentences import phrase


class InfoLine(Widget):
    """A wrapped sentence of toned pieces, followed by the facts that fit."""

    DEFAULT_CSS = """
    InfoLine { height: 1; width: 1fr; padding: 0 1; }
    """

    _shown: tuple[Pieces, tuple[Pieces, ...]] = ((), ())

    @property
    def pieces(self) -> Pieces:
        """The sentence; another one takes the facts away."""
        return self._shown[0]

    @pieces.setter
    def pieces(self, pieces: Pieces) -> None:
        self.tell(pieces)

    def tell(self, pieces: Pieces, facts: Sequence[Pieces] = ()) -> None:
        """Show a sentence and the facts that fit behind it, in order."""
        shown = (pieces, tuple(facts))
        if shown != self._shown:
            self._shown = shown
            width, height = self.content_size
            # A layout draws the whole screen; a sentence with a clock in it changes every second.
            self.refresh(layout=self.styles.auto_dimensions and len(wrapped((pieces,), width)) != height)

    def say(self, text: str, tone: Tone = Tone.NORMAL) -> None:
        self.tell(((text, tone),))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - as Textual has it
        """Return the height of the sentence, used if the height is not fixed."""
        return len(wrapped((self.pieces,), width))

    def render(self) -> Content:
        """Draw the sentence, cut with an ellipsis if too long, and the facts."""
        pieces, facts = self._shown
        lines = fitted(pieces, facts, self.content_size.width, self.content_size.height)
        return Content("\n").join([phrase(line) for line in lines])


_BETWEEN: Final = (" · ", Tone.MUTED)
_ELLIPSIS: Final = "…"
_BLANKS: Final = " ·,;:"
LEAST_LINES: Final = 2
"""Lines reserved for the sentence before facts get a line."""


def fitted(sentence: Pieces, facts: Sequence[Pieces], width: int, height: int) -> tuple[Pieces, ...]:
    """Return lines of the given width: the sentence, then facts in order, without those that do not fit.

    The sentence may use every line if it then fits completely. A longer one leaves the last line to facts, keeps two if
    there are two, and is cut after a clause or a word. A fact is never cut.

    Args:
        sentence: Comes first; cut with an ellipsis if necessary.
    """
    if height < 1:
        return ()
    lines = list(wrapped((sentence,), width)) if sentence else []
    kept = min(height, max(height - 1, LEAST_LINES)) if facts and len(lines) > height else height
    is_cut = len(lines) > kept
    if is_cut:
        lines = [*lines[: kept - 1], _cut(lines[kept - 1], width)]
    if len(lines) < height:
        return (*lines, *_filled(facts, width, height - len(lines)))
    return tuple(lines) if is_cut else (*lines[:-1], _followed(lines[-1], facts, width))


def _filled(facts: Sequence[Pieces], width: int, height: int) -> list[Pieces]:
    """Return lines of facts; a fact that does not fit is skipped."""
    lines: list[Pieces] = []
    for fact in facts:
        if lines and _size(longer := (*lines[-1], _BETWEEN, *fact)) <= width:
            lines[-1] = longer
        elif _size(fact) <= width and len(lines) < height:
            lines.append(fact)
    return lines


def _followed(line: Pieces, facts: Sequence[Pieces], width: int) -> Pieces:
    """Return a line with facts behind it, up to the first that has no room: trifles do not belong there."""
    for fact in facts:
        longer = (*line, _BETWEEN, *fact)
        if _size(longer) > width:
            break
        line = longer
    return line


def _size(line: Pieces) -> int:
    return sum(cell_len(text) for text, _ in line)


def _cut(line: Pieces, width: int) -> Pieces:
    """Return the beginning of a line with an ellipsis: up to a clause that ends in its second half, else to a word."""
    text = "".join(piece for piece, _ in line)
    room = width - cell_len(_ELLIPSIS)
    whole = set_cell_size(text, room) if cell_len(text) > room else text
    words = whole if len(whole) == len(text) or text[len(whole)] == " " else whole.rpartition(" ")[0] or whole
    clause = words.rpartition(_BETWEEN[0])[0]
    kept = (clause if cell_len(clause) * 2 >= width else words).rstrip(_BLANKS)
    pieces: list[tuple[str, Tone]] = []
    left = len(kept)
    for piece, tone in line:
        if left <= 0:
            break
        pieces.append((piece[:left], tone))
        left -= len(piece)
    return (*pieces, (_ELLIPSIS, Tone.MUTED))
