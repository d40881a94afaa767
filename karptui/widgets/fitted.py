"""A sentence and facts in the lines there are: the sentence first, then as many whole facts as find room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size

from karptui.views.row import Pieces, Tone
from karptui.widgets.hanging import hanging

_BETWEEN: Final = (" · ", Tone.MUTED)
_ELLIPSIS: Final = "…"
LEAST_LINES: Final = 2
"""Lines that a sentence keeps, where there are as many, before facts get one of their own."""


def fitted(sentence: Pieces, facts: Sequence[Pieces], width: int, height: int) -> tuple[Pieces, ...]:
    """Return lines no wider than a width in cells: the sentence, then facts in order, leaving out what has no room.

    The sentence keeps all lines but the last, and two where there are two; a fact is never cut.

    Args:
        sentence: what comes first; it ends with an ellipsis where it has to be cut.
        facts: the most important first.
        width: cells of a line.
        height: how many lines there are.
    """
    if height < 1:
        return ()
    lines = [_stripped(line) for line in hanging((sentence,), width, 0)] if sentence else []
    kept = min(height, max(height - 1, LEAST_LINES))
    is_cut = len(lines) > kept
    if is_cut:
        lines = [*lines[: kept - 1], _cut(lines[kept - 1], width)]
    if len(lines) < height:
        return (*lines, *_filled((), facts, width, height - len(lines)))
    return tuple(lines) if is_cut else (*lines[:-1], *_filled(lines[-1], facts, width, 1))


def _filled(line: Pieces, facts: Sequence[Pieces], width: int, height: int) -> list[Pieces]:
    """Return lines of facts, the first of them behind what stands there already."""
    lines, used = [line], _size(line)
    for fact in facts:
        size = _size(fact)
        if used and used + len(_BETWEEN[0]) + size <= width:
            lines[-1] = (*lines[-1], _BETWEEN, *fact)
            used += len(_BETWEEN[0]) + size
        elif size <= width and (not used or len(lines) < height):
            lines = [*lines, fact] if used else [fact]
            used = size
    return [line for line in lines if line]


def _stripped(line: Pieces) -> Pieces:
    """Return a line without the blank that it was broken at, whose cell is outside."""
    *before, (text, tone) = line
    return (*before, (text.rstrip(), tone))


def _size(line: Pieces) -> int:
    return sum(cell_len(text) for text, _ in line)


def _cut(line: Pieces, width: int) -> Pieces:
    """Return a line that ends with an ellipsis."""
    room, kept = width - cell_len(_ELLIPSIS), []
    for text, tone in line:
        if cell_len(text) >= room:
            kept.append((set_cell_size(text, room).rstrip(), tone))
            break
        kept.append((text, tone))
        room -= cell_len(text)
    return (*kept, (_ELLIPSIS, Tone.MUTED))
