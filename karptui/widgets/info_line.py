"""The line above the footer: what the row under the cursor means, in words, and facts where there is room for them."""

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
    """A sentence of toned pieces, wrapped to the lines it is given, and facts in what room it leaves."""

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
        """Show a sentence, and behind it as many of the facts as find room, the first first."""
        shown = (pieces, tuple(facts))
        if shown != self._shown:
            self._shown = shown
            self.refresh(layout=self.styles.auto_dimensions)

    def say(self, text: str, tone: Tone = Tone.NORMAL) -> None:
        """Show one sentence of one tone."""
        self.tell(((text, tone),))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - as Textual has it
        """Return the lines of the sentence, for where they are not fixed."""
        return len(wrapped((self.pieces,), width))

    def render(self) -> Content:
        """Draw the sentence, with an ellipsis where it has no room, and the facts."""
        pieces, facts = self._shown
        lines = fitted(pieces, facts, self.content_size.width, self.content_size.height)
        return Content("\n").join([phrase(line) for line in lines])


_BETWEEN: Final = (" · ", Tone.MUTED)
_ELLIPSIS: Final = "…"
_BLANKS: Final = " ·,;:"
LEAST_LINES: Final = 2
"""Lines that a sentence keeps, where there are as many, before facts get one of their own."""


def fitted(sentence: Pieces, facts: Sequence[Pieces], width: int, height: int) -> tuple[Pieces, ...]:
    """Return lines no wider than a width in cells: the sentence, then facts in order, leaving out what has no room.

    The sentence takes every line where it is whole so. One that is longer keeps all but the last, and two where there
    are two, and ends with the last clause that has room, or the last word; a fact is never cut.

    Args:
        sentence: what comes first; it ends with an ellipsis where it has to be cut.
        facts: the most important first.
        width: cells of a line.
        height: how many lines there are.
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
    """Return lines of facts; one that has no room gives way to those behind it."""
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
