"""The chart of a forecast: cost or nodes over time, as numbers for a plotting widget."""

from __future__ import annotations

from collections.abc import Sequence

from karptui.forward.result import Moment, Played, StepKind
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.answers import Forecast
from karptui.views.sanitize import clean
from karptui.views.time_chart import Line, TimeChart, ticks_of


def forecast_chart(plays: Sequence[Forecast], horizon_ns: int, unedited: str) -> TimeChart | None:
    """Return the cost over time, or the number of nodes if prices are unknown; None without a forecast."""
    named_plays = [(clean(play.name) or unedited, play.played) for play in plays if play.played is not None]
    if not named_plays:
        return None
    first = named_plays[0][1]
    is_priced = all(
        played.has_prices and not any(moment.unpriced for moment in played.series) for _, played in named_plays
    )
    is_priced = is_priced and any(moment.price_per_hour for moment in first.series)
    lines = tuple(_line(name, played, horizon_ns, is_priced=is_priced) for name, played in named_plays)
    commands = tuple(
        (step.at_ns - first.from_ns) / NS_PER_SECOND for step in first.steps if step.kind is StepKind.DISRUPT
    )
    title = "cost, $/h" if is_priced else "nodes"
    return TimeChart(f"{title} · ▴ disruption command", lines, ticks_of(first.from_ns, horizon_ns), commands)


def _line(name: str, played: Played, horizon_ns: int, *, is_priced: bool) -> Line:
    def value(moment: Moment) -> float:
        return moment.price_per_hour if is_priced else float(moment.nodes)

    seconds: list[float] = []
    values: list[float] = []
    for moment in played.series:
        at = (moment.at_ns - played.from_ns) / NS_PER_SECOND
        if values:  # a step, not a slope
            seconds.append(at)
            values.append(values[-1])
        seconds.append(at)
        values.append(value(moment))
    seconds.append(horizon_ns / NS_PER_SECOND)
    values.append(values[-1])
    return Line(name, tuple(seconds), tuple(values))
