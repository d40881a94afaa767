"""Lines of toned pieces wrapped to a width, with what follows the first line set in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from rich.cells import cell_len

from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean

_WORDS: Final = re.compile(r"^ +|[^ ]+ *")
"""Words with the blanks behind them; blanks at the start come by themselves."""


def hanging(lines: Iterable[Pieces], width: int, indent: int = 3) -> tuple[Pieces, ...]:
    """Return lines no wider than a width in cells, broken between words.

    Args:
        lines: The lines.
        width: Cells there are; lines come back as they are where there is hardly any room.
        indent: Blanks before every further line.
    """
    if width < 4 * indent:
        return tuple(lines)
    return tuple(part for line in lines for part in _broken(line, width, indent))


def _broken(line: Pieces, width: int, indent: int) -> Iterator[Pieces]:
    made: list[tuple[str, Tone]] = []
    used = 0
    for text, tone in line:
        for word in _WORDS.findall(clean(text)):
            size = cell_len(word)
            if used + cell_len(word.rstrip()) > width and used > indent:
                yield tuple(made)
                made, used = [(" " * indent, Tone.NORMAL)], indent
                word = word.lstrip()  # noqa: PLW2901 - the blank belongs to the line before
                size = cell_len(word)
            made.append((word, tone))
            used += size
    yield tuple(made)
