"""Lines broken between words, measured in the cells of a terminal: the one place where lines are broken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final
from unicodedata import category, east_asian_width

from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean

_SEPARATOR: Final = "·"
"""Separator of parts of a sentence, dropped at the start of a line."""
LEAST: Final = 12
"""Minimum cells of text per line, whatever the indent."""
_MOST_KEPT: Final = 256
"""Lines too wide that are kept broken: the same are shown again with every change of the cluster."""
_PLAIN: Final = re.compile(r"[ -~\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u22ff\u2500-\u25fc✔✖✘⟳]*")
"""Characters that are printed unchanged and are one cell wide."""
_WORDS: Final = re.compile(r"^ +|[^ ]+ *")
"""Words with the blanks after them; leading blanks separately."""
_PARTS: Final = re.compile(r"[^=,/]*[=,/]+ *|[^=,/]+")
"""Parts of a word that is wider than a line: a label's domain, key and value, the items of a list."""
_MARKS: Final = frozenset({"Mn", "Mc", "Me"})
_JAMO: Final = frozenset({*range(0x1160, 0x1200), *range(0xD7B0, 0xD800)})
"""Hangul vowels and finals, drawn within the syllable before them."""
_JOINED: Final = range(0x1F3FB, 0x1F400)
"""Skin tones, drawn within the emoji before them."""
_WIDE: Final = frozenset(
    {
        *range(0x2630, 0x2638),
        *range(0x268A, 0x2690),
        *range(0x4DC0, 0x4E00),
        *range(0x1D300, 0x1D357),
        *range(0x1D360, 0x1D377),
    }
)
"""Signs of the Yi Jing and the like, which Unicode 16 made wide: Python's own table may be older."""


def cells(text: str) -> int:
    """Return the width of a clean text in terminal cells."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


@lru_cache(maxsize=4096)
def _cells_of(char: str) -> int:
    code = ord(char)
    if category(char) in _MARKS or code in _JAMO or code in _JOINED:
        return 0
    return 2 if code in _WIDE or east_asian_width(char) in "WF" else 1


def hanging(lines: Iterable[Pieces], width: int, indent: int = 3) -> tuple[Pieces, ...]:
    """Return lines wrapped between words, none of which begins with a separator."""
    if not width or width < 4 * indent:
        return tuple(lines)
    return tuple(part for line in lines for part in _words(line, width, indent, 0))


def wrapped(lines: Iterable[Pieces], width: int) -> tuple[Pieces, ...]:
    """Return lines wrapped between words, without an indent."""
    return tuple(part for line in lines for part in (_broken(line, width, 0, 0) if width else (line,)))


def wrapped_from(line: Pieces, width: int, column: int, tail: int = 0) -> tuple[Pieces, ...]:
    """Return a line wrapped between words, continuation lines starting at a column; `LEAST` cells are always used.

    Args:
        line: The line, with the text before the column.
        tail: Cells reserved at the end of the first line.
    """
    return _broken(line, max(width, column + tail + LEAST), column, tail)


def wrapped_below(line: Pieces, width: int) -> tuple[Pieces, ...]:
    """Return a line broken between words, each further one as far in as the first."""
    text = "".join(part for part, _ in line)
    return wrapped_from(line, width, len(text) - len(text.lstrip(" ")))


def _broken(line: Pieces, width: int, indent: int, tail: int) -> tuple[Pieces, ...]:
    if _has_room(line, width - tail):
        return (line if len(line) == 1 else _joined(line),)
    return tuple(map(_joined, _words(line, width, indent, tail)))


def _has_room(line: Pieces, room: int) -> bool:
    """Whether a line fits unchanged: a fast check that most lines pass."""
    if not line or line[-1][0].endswith(" ") or sum(len(text) for text, _ in line) > room:
        return False
    return all(_PLAIN.fullmatch(text) for text, _ in line)


@lru_cache(maxsize=_MOST_KEPT)
def _words(line: Pieces, width: int, indent: int, tail: int) -> tuple[Pieces, ...]:
    return tuple(_lines_of(line, width, indent, tail))


def _lines_of(line: Pieces, width: int, indent: int, tail: int) -> Iterator[Pieces]:
    pieces: list[tuple[str, Tone]] = []
    used, room, is_first = 0, width - tail, True
    for text, tone in line:
        for word in _fitting(_WORDS.findall(clean(text)), width - indent):
            rest = word
            while used + cells(rest.rstrip()) > room:
                if used <= indent:  # a word that is wider than the line is broken where the line ends
                    head = _head(rest, room - used)
                    pieces.append((head, tone))
                    rest = rest[len(head) :]
                yield tuple(pieces)
                pieces, used, room, is_first = [(" " * indent, Tone.NORMAL)], indent, width, False
                rest = rest.lstrip()
            if used == indent and not is_first and rest.rstrip() == _SEPARATOR:
                continue
            pieces.append((rest, tone))
            used += cells(rest)
    if is_first or used > indent:
        yield tuple(pieces)


def _fitting(words: Iterable[str], room: int) -> Iterator[str]:
    """Yield words; a word that does not fit on a line is split into parts."""
    for word in words:
        if cells(word.rstrip()) <= room:
            yield word
            continue
        run = ""
        for part in _PARTS.findall(word):
            if run and cells((run + part).rstrip()) > room:
                yield run
                run = ""
            run += part
        yield run


def _head(word: str, room: int) -> str:
    """Return the part of a word that fits, at least one character."""
    end, used = 1, cells(word[0])
    while end < len(word) and used + cells(word[end]) <= room:
        used += cells(word[end])
        end += 1
    return word[:end]


def _joined(line: Pieces) -> Pieces:
    """Return words as pieces, merging equal tones, without the blank at the break."""
    pieces = [("".join(text for text, _ in run), tone) for tone, run in groupby(line, key=itemgetter(1))]
    if pieces:
        pieces[-1] = (pieces[-1][0].rstrip(), pieces[-1][1])
    return tuple(pieces)
