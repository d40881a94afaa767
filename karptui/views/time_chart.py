"""Numbers of a chart over time, for a plotting widget."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

from karptui.kube.timestamps import NS_PER_SECOND

_TICKS: Final = 7
_DAY_SECONDS: Final = 86_400


class Line(NamedTuple):
    """One line of a chart: a value that holds from its instant until the next."""

    name: str
    seconds: tuple[float, ...]
    """Seconds since the start."""
    values: tuple[float, ...]


class TimeChart(NamedTuple):
    """A chart over time."""

    title: str
    lines: tuple[Line, ...]
    ticks: tuple[tuple[float, str], ...]
    """(seconds since the start, clock time in UTC)."""
    commands: tuple[float, ...] = ()
    """Seconds since the start of each disruption command of the first forecast."""


def ticks_of(from_ns: int, span_ns: int) -> tuple[tuple[float, str], ...]:
    """Return the ticks of a time that begins at an instant."""
    span = span_ns / NS_PER_SECOND
    form = "%H:%M" if span <= _DAY_SECONDS else "%d %b %H:%M"
    instants = [span * number / (_TICKS - 1) for number in range(_TICKS)]
    return tuple((at, datetime.fromtimestamp(from_ns / NS_PER_SECOND + at, UTC).strftime(form)) for at in instants)
