"""Text that is shown as it is, never as markup: cleaned, styled by tone, broken between words; a widget of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean

TONE_STYLES = {
    Tone.NORMAL: "",
    Tone.MUTED: "$karp-muted",
    Tone.STRONG: "bold $karp-strong",
    Tone.GOOD: "$karp-good",
    Tone.ACTIVE: "$karp-active",
    Tone.LEAVING: "$karp-leaving",
    Tone.WARNING: "$karp-warning",
    Tone.FAULT: "bold $karp-fault",
    Tone.SPOT: "$karp-spot",
    Tone.RESERVED: "$karp-reserved",
    Tone.DAEMON: "$karp-daemon",
    Tone.WORKLOAD: "$karp-workload",
}
"""Content styles by tone; the names are the theme variables of ``widgets.themes``."""


def plain(text: str, tone: Tone = Tone.NORMAL) -> Content:
    """Return text as content that is shown as it is: no markup, no control characters."""
    return Content.styled(clean(text), TONE_STYLES[tone])


def phrase(parts: Iterable[tuple[str, Tone]]) -> Content:
    """Return a line of differently toned pieces."""
    return Content.assemble(*((clean(text), TONE_STYLES[tone]) for text, tone in parts))


SEPARATOR: Final = "·"
"""Stands between parts of a sentence; at the start of a line the break says as much."""
MOST_KEPT: Final = 256
"""Lines that are kept broken: the same are shown again with every change of the cluster."""
_WORDS: Final = re.compile(r"^ +|[^ ]+ *")
"""Words with the blanks behind them; blanks at the start come by themselves."""
_PARTS: Final = re.compile(r"[^=,/]*[=,/]+ *|[^=,/]+")
"""Parts of a word that is wider than a line: a label's domain, key and value, the items of a list."""


def hanging(lines: Iterable[Pieces], width: int, indent: int = 3) -> tuple[Pieces, ...]:
    """Return lines no wider than a width in cells, broken between words, and none that begins with a separator.

    Args:
        lines: The lines.
        width: Cells there are; lines come back as they are where there is hardly any room.
        indent: Blanks before every further line.
    """
    if not width or width < 4 * indent:
        return tuple(lines)
    return tuple(part for line in lines for part in _broken(line, width, indent))


def wrapped(lines: Iterable[Pieces], width: int) -> tuple[Pieces, ...]:
    """Return lines no wider than a width in cells, broken between words, with nothing set in.

    Args:
        lines: The lines.
        width: Cells there are; lines come back as they are while it is not known.
    """
    return tuple(_joined(line) for line in hanging(lines, width, 0))


@lru_cache(maxsize=MOST_KEPT)
def _broken(line: Pieces, width: int, indent: int) -> tuple[Pieces, ...]:
    return tuple(_lines_of(line, width, indent))


def _lines_of(line: Pieces, width: int, indent: int) -> Iterator[Pieces]:
    made: list[tuple[str, Tone]] = []
    used, is_first = 0, True
    for text, tone in line:
        for word in _fitting(_WORDS.findall(clean(text)), width - indent):
            size = cell_len(word)
            if used + cell_len(word.rstrip()) > width and used > indent:
                yield tuple(made)
                made, used, is_first = [(" " * indent, Tone.NORMAL)], indent, False
                word = word.lstrip()  # noqa: PLW2901 - the blank belongs to the line before
                if word.rstrip() == SEPARATOR:
                    continue
                size = cell_len(word)
            made.append((word, tone))
            used += size
    if is_first or used > indent:
        yield tuple(made)


def _fitting(words: Iterable[str], room: int) -> Iterator[str]:
    """Yield words; in place of one that has no room in a line its parts, as many together as have room."""
    for word in words:
        if cell_len(word.rstrip()) <= room:
            yield word
            continue
        run = ""
        for part in _PARTS.findall(word):
            if run and cell_len((run + part).rstrip()) > room:
                yield run
                run = ""
            run += part
        yield run


def _joined(line: Pieces) -> Pieces:
    """Return a line of words with those of one tone in one piece, and without the blank that it was broken at."""
    pieces = [("".join(text for text, _ in run), tone) for tone, run in groupby(line, key=itemgetter(1))]
    if pieces:
        pieces[-1] = (pieces[-1][0].rstrip(), pieces[-1][1])
    return tuple(pieces)


Breaking: TypeAlias = Callable[[Iterable[Pieces], int], tuple[Pieces, ...]]
"""Breaks lines to a width in cells."""


class Sentences(Static):
    """Shows lines as they are, without markup, and draws them anew only when they change."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget has it
        super().__init__(id=id, markup=False)
        self._broken: tuple[Pieces, ...] = ()
        """Lines that are broken to the width there is, before that."""
        self._breaking: Breaking = hanging
        self._width = 0
        """What they are broken to; 0 while other lines are shown."""

    def set_lines(self, lines: Iterable[Iterable[tuple[str, Tone]]]) -> None:
        """Show lines of pieces."""
        self._broken, self._width = (), 0
        self._show(lines)

    def set_hanging(self, lines: Iterable[Pieces]) -> None:
        """Show lines of pieces, broken between words to the width there is, with what follows the first set in."""
        self._break(tuple(lines), hanging)

    def set_wrapped(self, lines: Iterable[Pieces]) -> None:
        """Show lines of pieces, broken between words to the width there is."""
        self._break(tuple(lines), wrapped)

    def on_resize(self) -> None:
        """Break lines anew."""
        if self._broken:
            self._break(self._broken, self._breaking)

    def _break(self, lines: tuple[Pieces, ...], breaking: Breaking) -> None:
        width = self.content_size.width
        if width and (lines, breaking, width) == (self._broken, self._breaking, self._width):
            return
        self._broken, self._breaking, self._width = lines, breaking, width
        self._show(breaking(lines, width))

    def _show(self, lines: Iterable[Iterable[tuple[str, Tone]]]) -> None:
        content = Content("\n").join([phrase(line) for line in lines])
        before = self.content
        if content == before:
            return
        width, own = self.content_size.width, self.styles.width
        is_as_wide = own is None or not own.is_auto
        is_as_high = isinstance(before, Content) and 0 < _height(content, width) == _height(before, width)
        self.update(content, layout=not (is_as_wide and is_as_high))  # else the whole screen is laid out anew


def _height(content: Content, width: int) -> int:
    """Return how many lines there are; 0 where there is none, or where some are broken to the width."""
    lines = content.split("\n", allow_blank=True)
    return len(lines) if content and all(line.cell_length <= width for line in lines) else 0
