"""The History screen: cost, requests and usage over time, and what Karpenter did, from the recorded history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from textual import work
from textual.containers import Horizontal
from textual.content import Content

from karptui.kube.timestamps import PastTime
from karptui.screens.host import Host
from karptui.screens.list_screen import ListScreen
from karptui.screens.row_sources import OwnRows
from karptui.session.answers import PastMoment
from karptui.session.history_report import HistoryReport, HistoryStep
from karptui.sources.history.store import HistoryError
from karptui.views.history import TABLE, charts_of, pool_text, sparklines, sum_lines, table_of
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Rows, Sort, TableSpec
from karptui.widgets.time_chart import TimeChartView
from karptui.widgets.titled_pane import Panel

AnswerT = TypeVar("AnswerT")
SINCE: Final = "-24h"
CHARTS_FROM_HEIGHT: Final = 30
"""Minimum terminal height for charts, in lines."""
_CHART_WIDTH: Final = 60
"""Minimum width of a chart; as many are shown as fit."""


async def from_history(host: Host, read: Callable[[Path, int | None], AnswerT]) -> AnswerT | str:
    """Read the followed cluster's history in a thread, up to the moment shown; return the reason if it cannot."""
    history, shown = host.moments.history(), host.moments.shown
    if not isinstance(history, Path):
        return history
    try:
        return await asyncio.to_thread(read, history, shown.at_ns if isinstance(shown, PastMoment) else None)
    except HistoryError as error:
        return str(error)


class HistoryScreen(ListScreen[HistoryStep]):
    """Steps of the whole cluster and of each NodePool; charts of the one under the cursor."""

    entry_name = "events"
    title_text = "History"
    has_objects = False

    def __init__(self, since: PastTime) -> None:
        self.panel = Panel("history")
        self.charts = tuple(TimeChartView() for _ in range(3))
        self._chart_row = Horizontal(*self.charts, id="history-charts")
        super().__init__(_by_pool(TABLE), OwnRows(lambda: self._steps), above=(self.panel, self._chart_row))
        self._since = since
        self._report: HistoryReport | None = None
        self._steps: tuple[HistoryStep, ...] = ()
        self._problem = ""

    def prepare(self) -> None:
        super().prepare()
        self._read()

    @work(exclusive=True, group="history", exit_on_error=False)
    async def _read(self) -> None:
        report = self.host.session.history_report
        answer = await from_history(self.host, lambda history, until_ns: report(history, self._since, until_ns))
        self._problem = answer if isinstance(answer, str) else ""
        if not isinstance(answer, str):
            self._report, self._steps = answer, answer.steps
            self.use_table(_by_pool(table_of(self._steps)))
        self.refresh_view(is_forced=True)

    def show_state(self) -> None:
        self.panel.show_title(Content(" History "))
        self._show_charts()
        super().show_state()

    def _show_charts(self) -> None:
        pool = self.current.pool if self.current is not None else None
        lines: tuple[Pieces, ...] = ()
        if self._report is not None:
            chosen = [step for step in self._steps if step.pool == pool]
            whose = f"NodePool {clean(pool_text(chosen[0]))}" if pool is not None and chosen else "the whole cluster"
            is_charted = self.size.height >= CHARTS_FROM_HEIGHT
            lines = (
                ((f"{whose}:", Tone.MUTED),),
                *(() if is_charted else sparklines(chosen)),
                *sum_lines(chosen, self._report.predictions),
            )
        self.panel.lines.set_lines(lines)
        charts = [chart for chart in charts_of(self._steps, pool) if chart is not None]
        room = max(self.size.width // _CHART_WIDTH, 1) if self.size.height >= CHARTS_FROM_HEIGHT else 0
        self._chart_row.display = bool(charts[:room])
        for number, view in enumerate(self.charts):
            view.display = number < min(room, len(charts))
            if view.display:
                view.show(charts[number], None)

    def cursor_moved(self) -> None:
        super().cursor_moved()
        self._show_charts()

    def on_resize(self) -> None:
        self._show_charts()

    def placeholder(self, rows: Rows[HistoryStep]) -> Pieces:
        """Return that it is read, or why there is nothing."""
        if self._problem:
            return ((clean(self._problem), Tone.WARNING),)
        if rows.total or self._report is not None:
            return super().placeholder(rows)
        return (("reading the history…", Tone.ACTIVE),)

    def name_of(self, item: HistoryStep) -> str:
        return pool_text(item)

    def action_refresh_data(self) -> None:
        super().action_refresh_data()
        self._read()


def _by_pool(table: TableSpec[HistoryStep]) -> TableSpec[HistoryStep]:
    """Return a table that shows the whole cluster first, then each NodePool."""
    return msgspec.structs.replace(table, default_sort=Sort("pool"))
