"""What rows and controls are made of: cells of text with a meaning, never a colour.

Themes and widgets decide how a :class:`Tone` looks; every tone is only ever an addition to a word or a glyph in the
text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from karptui.views.sanitize import clean

BLOCKS: Final = "▁▂▃▄▅▆▇█"
"""Heights within one cell, of which charts are made."""


class Tone(StrEnum):
    """What a piece of text means to the reader."""

    NORMAL = "normal"
    """Plain data."""
    MUTED = "muted"
    """Missing, not applicable or of little interest."""
    STRONG = "strong"
    """The name of the thing, a total."""
    GOOD = "good"
    """As it should be."""
    ACTIVE = "active"
    """Something is on its way: launching, registering, syncing."""
    LEAVING = "leaving"
    """Something is on its way out: draining, deleting."""
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
    """What there is to request; 0 when unknown, which draws no bar."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """A stretch of a cell's text with a tone of its own."""

    start: int
    """Index of the first character."""
    end: int
    """Index after the last character."""
    tone: Tone


class Cell(msgspec.Struct, frozen=True, gc=False):
    """One cell: text in up to two lengths, its tone, and a bar that fills the rest of the column."""

    text: str = ""
    """What is shown when the column is wide enough, and what is saved and copied."""
    tone: Tone = Tone.NORMAL
    short: str = ""
    """What is shown instead when ``text`` does not fit; empty when cutting ``text`` is all that can be done."""
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
    """Tone of the cells that have none of their own."""


NOT_AVAILABLE: Final = Cell("n/a", Tone.MUTED)
"""The value should exist but is not known."""
NOT_APPLICABLE: Final = Cell("-", Tone.MUTED)
"""There is no such value for this object."""
FORBIDDEN: Final = Cell("!rbac", Tone.WARNING)
"""The value exists, and a missing permission hides it."""


def text_cell(text: str, tone: Tone = Tone.NORMAL, *, short: str = "") -> Cell:
    """Return a cell of text from outside, cleaned; empty text is not applicable."""
    return Cell(clean(text), tone, clean(short)) if text else NOT_APPLICABLE


@dataclass(frozen=True, slots=True)
class Control:
    """One field."""

    id: str
    title: str
    value: str
    """What it is now; ``-`` where there is nothing."""
    hint: str = ""
    """What the cluster has where that differs, or what the value means."""
    is_changed: bool = False
    can_step: bool = False
    """Whether left and right change it."""
