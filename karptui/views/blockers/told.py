"""Columns of the Blockers screen in words, for where they have no room: those that no sentence tells anyway."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karptui.kube.units import counted
from karptui.views.blockers.cells import NOTHING as BLANK
from karptui.views.blockers.cells import group_owner, group_value, left_cell, recent_pods, since_cell
from karptui.views.blockers.entry import BlockerEntry, BlockerGroup, BlockerLine
from karptui.views.blockers.story import BOUNDED
from karptui.views.row import NOT_AVAILABLE, Cell, Tone, text_cell
from karptui.views.unseen import NOTHING, Told, cell_words


def _words(cell: Cell, before: str) -> tuple[str, Tone]:
    return NOTHING if cell in (BLANK, NOT_AVAILABLE) else (cell_words(cell, before)[0], Tone.NORMAL)


def _since(line: BlockerLine, now_ns: int) -> tuple[str, Tone]:
    is_many = isinstance(line, BlockerGroup) and len(line.members) > 1
    return _words(since_cell(line, now_ns), "in the way for up to " if is_many else "in the way for ")


def _left(line: BlockerLine, now_ns: int) -> tuple[str, Tone]:
    if isinstance(line, BlockerGroup) or line.blocker.code not in BOUNDED or line.blocker.until_ns is None:
        return NOTHING
    return ("is over", Tone.NORMAL) if line.blocker.until_ns <= now_ns else _words(left_cell(line, now_ns), "ends in ")


def _value(line: BlockerLine, _: int) -> tuple[str, Tone]:
    return _words(group_value(line) if isinstance(line, BlockerGroup) else text_cell(line.blocker.value), "value ")


def _owner(line: BlockerLine, _: int) -> tuple[str, Tone]:
    return _words(group_owner(line) if isinstance(line, BlockerGroup) else text_cell(line.blocker.owner), "owned by ")


def _recent(line: BlockerLine, _: int) -> tuple[str, Tone]:
    members: Sequence[BlockerEntry] = line.members if isinstance(line, BlockerGroup) else (line,)
    count = recent_pods(members)
    if not count or any(one.blocker.code in BOUNDED for one in members):
        return NOTHING
    return f"{counted(count, 'pod')} came in the last hour", Tone.WARNING


TOLD: Final[tuple[Told[BlockerLine], ...]] = (
    Told("since", _since),
    Told("left", _left),
    Told("owner", _owner),
    Told("value", _value),
    Told("recent_pods", _recent),
)
"""The most important first."""
