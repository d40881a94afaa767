"""Opens moments of a history: the next change, the previous mark, an instant that the user names."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from karptui.decode.kinds import Kind
from karptui.session.answers import PastMoment, PastStep, SwitchResult
from karptui.sources.history.source import PastSource, read_past
from karptui.sources.history.store import History, HistoryError, Mark
from karptui.sources.source import Source

STEPPED: Final = frozenset(str(kind) for kind in Kind if kind not in (Kind.LEASE, Kind.EVENT))
"""Kinds whose changes are steps."""
_LAST_NS: Final = (1 << 63) - 1


def open_moment(
    path: Path, step: PastStep, from_ns: int, now_ns: int, *, before: Source | None, title: str
) -> tuple[PastMoment, PastSource] | SwitchResult:
    """Return a moment with its cluster, or why there is none.

    Args:
        from_ns: Where steps begin.
        before: The source shown so far, whose objects may be used again.

    Raises:
        HistoryError: if the history cannot be read, with a message for the user.
    """
    try:
        with closing(History(path)) as history:
            moment = _moment(history, step, from_ns, now_ns)
            if isinstance(moment, SwitchResult):
                return moment
            past = read_past(history, moment.at_ns, before.past if isinstance(before, PastSource) else None)
    except sqlite3.Error as error:
        raise HistoryError(f"{path}: cannot be read: {error}") from None
    if past.at_ns != moment.at_ns:
        moment = msgspec.structs.replace(moment, at_ns=past.at_ns, asked_ns=moment.at_ns)
    return moment, PastSource(title, past)


def _moment(history: History, step: PastStep, from_ns: int, now_ns: int) -> PastMoment | SwitchResult:
    if step.at is not None:
        at_ns = step.at(now_ns)
        return PastMoment(at_ns=at_ns) if history.session_at(at_ns) is not None else SwitchResult.BEGINNING
    if step.to_mark:
        marks = _marks(history, step.by, from_ns)
        if not marks:
            return SwitchResult.NO_MARK
        mark = marks[0]
        return PastMoment(at_ns=mark.at_ns, cause=mark.cause, name=mark.name, text=mark.text, more=len(marks) - 1)
    beside_ns = history.beside(from_ns, step.by, STEPPED)
    if beside_ns is None:
        return SwitchResult.NEWEST if step.by > 0 else SwitchResult.BEGINNING
    return PastMoment(at_ns=beside_ns)


def _marks(history: History, by: int, from_ns: int) -> list[Mark]:
    """Return the marks at the next instant that has any, or at the previous one; none before the beginning."""
    begin_ns = min((session.from_ns for session in history.sessions()), default=0)
    span = (max(from_ns, begin_ns - 1), _LAST_NS) if by > 0 else (begin_ns - 1, from_ns - 1)
    marks = history.marks(*span)
    nearest = marks[0 if by > 0 else -1].at_ns if marks else 0
    return [mark for mark in marks if mark.at_ns == nearest]
