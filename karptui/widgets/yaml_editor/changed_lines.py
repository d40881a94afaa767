"""Which lines of a text are others than before, so that only those are drawn and parsed anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ChangedLines(NamedTuple):
    """Lines of a text that are replaced; one at least, and by one at least."""

    first: int
    last: int
    lines: tuple[str, ...]
    """What comes in their place."""


def changed_lines(before: Sequence[str], after: Sequence[str]) -> ChangedLines:
    """Return what to replace, so that one text becomes another; each has one line at least."""
    shorter = min(len(before), len(after))
    first = next((at for at in range(shorter) if before[at] != after[at]), shorter - 1)
    most = shorter - first - 1
    rest = next((at for at in range(most) if before[-1 - at] != after[-1 - at]), most)
    return ChangedLines(first, len(before) - 1 - rest, tuple(after[first : len(after) - rest]))
