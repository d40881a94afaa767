"""A line chart over time with axes, drawn by plotext."""

from __future__ import annotations

from typing import Any, Final

from textual_plotext import PlotextPlot

from karptui.views.time_chart import TimeChart

_COLOURS: Final = ((59, 142, 210), (222, 140, 30), (60, 160, 110), (170, 110, 190))
_MARGIN: Final = 0.15
"""Share of the value range left free above and below the lines."""


class TimeChartView(PlotextPlot):
    """Draws a chart: a line per forecast, a mark per command, and the instant of the cursor."""

    _shown: tuple[TimeChart | None, float | None] = (None, None)

    @property
    def chart(self) -> TimeChart | None:
        return self._shown[0]

    def show(self, chart: TimeChart | None, cursor_seconds: float | None) -> None:
        """Draw a chart, unless it is drawn already; None draws nothing.

        Args:
            cursor_seconds: Instant to mark, in seconds since the start; None for none.
        """
        if (chart, cursor_seconds) == self._shown:
            return
        self._shown = chart, cursor_seconds
        plot: Any = self.plt
        plot.clear_figure()
        if chart is not None:
            _draw(plot, chart, cursor_seconds)
        self.refresh()


def _draw(plot: Any, chart: TimeChart, cursor_seconds: float | None) -> None:
    values = [value for line in chart.lines for value in line.values]
    low, high = min(values), max(values)
    margin = (high - low) * _MARGIN or max(high * _MARGIN, 0.1)
    for line, colour in zip(chart.lines, _COLOURS, strict=False):
        label = line.name if len(chart.lines) > 1 else None
        plot.plot(line.seconds, line.values, marker="hd", color=colour, label=label)
    if cursor_seconds is not None:
        plot.vline(cursor_seconds, "gray")
    if marks := [at for at in chart.commands if at <= chart.ticks[-1][0]]:
        plot.scatter(marks, [low - margin] * len(marks), marker="▴", color=_COLOURS[1])
    plot.ylim(low - margin, high + margin)
    plot.xlim(0, chart.ticks[-1][0])
    plot.xticks([at for at, _ in chart.ticks], [text for _, text in chart.ticks])
    plot.title(chart.title)
