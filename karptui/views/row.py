"""Building blocks of rows and controls: text cells with a tone, never a colour.

Themes and widgets decide how a :class:`Tone` looks; it only adds to a word or glyph.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from karptui.views.sanitize import clean

BLOCKS: Final = "▁▂▃▄▅▆▇█"
"""Block characters of increasing height, for charts."""


class Tone(StrEnum):
    """Meaning of a piece of text."""

    NORMAL = "normal"
    """Plain data."""
    MUTED = "muted"
    """Missing, not applicable or of little interest."""
    STRONG = "strong"
    """The name of the thing, a total."""
    GOOD = "good"
    """As it should be."""
    ACTIVE = "active"
    """In progress: launching, registering, syncing."""
    LEAVING = "leaving"
    """Ending: draining, deleting."""
    WARNING = "warning"
    """Deserves a look: cordoned, blocked, stale."""
    FAULT = "fault"
    """Broken: not ready, failed, refused."""
    SPOT = "spot"
    """Capacity that can be taken back."""
    RESERVED = "reserved"
    """Capacity that is paid for in advance."""
    DAEMON = "daemon"
    """Belongs to DaemonSets."""
    WORKLOAD = "workload"
    """Belongs to the workload."""


Pieces: TypeAlias = tuple[tuple[str, Tone], ...]
"""A line of text in pieces, each with its tone."""


class Bar(msgspec.Struct, frozen=True, gc=False):
    """A three-part bar: DaemonSets, workload, free. Amounts share one unit; the sum may exceed the capacity."""

    daemons: int
    """Requested by DaemonSet pods."""
    workload: int
    """Requested by every other pod."""
    capacity: int
    """The total amount; 0 if unknown, which draws no bar."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """Part of a cell's text with its own tone."""

    start: int
    """Index of the first character."""
    end: int
    """Index after the last character."""
    tone: Tone


class Cell(msgspec.Struct, frozen=True, gc=False):
    """One cell: text in up to two lengths, its tone, and a bar that fills the rest of the column."""

    text: str = ""
    """Text shown if the column is wide enough; also saved and copied."""
    tone: Tone = Tone.NORMAL
    short: str = ""
    """Text shown if ``text`` does not fit; empty to cut ``text``."""
    spans: tuple[Span, ...] = ()
    """Stretches of ``text`` that differ from ``tone``; not used with ``short``."""
    bar: Bar | None = None


class Row(msgspec.Struct, frozen=True, gc=False):
    """One table row. Sorting never reads it: sort keys live with the columns."""

    key: str
    """Identity across refreshes: the cursor and marks follow it."""
    cells: tuple[Cell, ...]
    """One per column of the table, in order."""
    tone: Tone = Tone.NORMAL
    """Default tone of its cells."""


NOT_AVAILABLE: Final = Cell("n/a", Tone.MUTED)
"""The value should exist but is not known."""
NOT_APPLICABLE: Final = Cell("-", Tone.MUTED)
"""There is no such value for this object."""
FORBIDDEN: Final = Cell("unread", Tone.WARNING)
"""The value exists, and a missing permission hides it."""
WAITING: Final = Cell("…", Tone.MUTED)
"""The value is not read yet."""
COMPUTING: Final = Cell("…", Tone.ACTIVE)
"""The value is being computed."""
ZERO: Final = Cell("0", Tone.MUTED)
"""A known zero that means little."""
TONE_RANKS: Final = {Tone.FAULT: 0, Tone.WARNING: 1, Tone.LEAVING: 2, Tone.ACTIVE: 3}
"""Places of states that need attention, worst first."""


def text_cell(text: str, tone: Tone = Tone.NORMAL, *, short: str = "") -> Cell:
    """Return a cell of text from outside, cleaned; empty text is not applicable."""
    return Cell(clean(text), tone, clean(short)) if text else NOT_APPLICABLE


@dataclass(frozen=True, slots=True)
class Control:
    """One field."""

    id: str
    title: str
    value: str
    """Current value; ``-`` if unset."""
    hint: str = ""
    """The cluster's value if different, or the meaning of the value."""
    is_changed: bool = False
    can_step: bool = False
    """Whether left and right change it."""
