"""Numbers of a chart over time, for a plotting widget."""

from __future__ import annotations

from typing import NamedTuple


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
    commands: tuple[float, ...]
    """Seconds since the start of each disruption command of the first forecast."""
