"""What the result of a scenario is made of: lines that open."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from karptui.kube.units import count_text
from karptui.views.row import Pieces, Tone

MOST_NAMES: Final = 3
"""Names that a line tells; opened, it tells all."""


class ResultLine(msgspec.Struct, frozen=True):
    """One line, with what it opens to."""

    key: str
    """Identity from one result to the next: the cursor and what is open follow it."""
    pieces: Pieces
    details: tuple[Pieces, ...] = ()
    """What stands below it once it is opened."""
    object: tuple[str, str] | None = None
    """Kind and key of the object that it is about, for the keys that open it."""
    is_heading: bool = False
    wraps: bool = False
    """Whether it is shown whole however long it is."""


def heading(key: str, title: str, note: str = "", tone: Tone = Tone.STRONG) -> ResultLine:
    """Return the title of a section."""
    return ResultLine(key, ((title, tone), (f"  {note}" if note else "", Tone.MUTED)), is_heading=True)


def names_text(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Return ``a, b, c and 4 more``."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {count_text(left)} more" if left > 0 else "")


def listed(names: Iterable[str], indent: str = "  ", tone: Tone = Tone.NORMAL) -> tuple[Pieces, ...]:
    """Return a line for each name."""
    return tuple(((f"{indent}{name}", tone),) for name in names)


def wrapped(pieces: Pieces, width: int) -> tuple[Pieces, ...]:
    """Return a line in as many rows as it takes, the later ones as far in as the first."""
    text = "".join(part for part, _ in pieces)
    if len(text) <= width:
        return (pieces,)
    indent = " " * (len(text) - len(text.lstrip()))
    rows = textwrap.wrap(text, max(width, len(indent) + 20), subsequent_indent=indent, break_on_hyphens=False)
    (lead, lead_tone), *rest = pieces
    tone = max(rest, key=lambda piece: len(piece[0]))[1] if rest else lead_tone
    first = ((lead, lead_tone), (rows[0][len(lead) :], tone)) if rows[0].startswith(lead) else ((rows[0], tone),)
    return (first, *(((row, tone),) for row in rows[1:]))
