"""The History and Changes screens over histories of the demo."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import TextArea

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.screens.changes import ChangesScreen
from karptui.screens.history import HistoryScreen
from karptui.screens.pools import PoolDetailScreen
from karptui.screens.text import TextScreen
from karptui.sources.history.store import PREDICTION, History, Mark, Sample
from karptui.sources.history.writer import HistoryWriter
from tests.builders import present, text_of
from tests.histories import BEGIN_NS, record_demo, write_marks
from tests.ui.stage import column, front, history_app, running, settled, worked

MINUTES = 6


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "demo.karptui"
    record_demo(path, 60 * MINUTES)
    writer = HistoryWriter(path, "")
    for minute in range(1, MINUTES):
        at_ns = BEGIN_NS + minute * 60 * NS_PER_SECOND
        writer.write_samples(
            Sample(
                at_ns=at_ns, pool=pool, nodes=minute, price_per_hour=float(minute), held_per_hour=0.5,
                cpu_requested_millis=minute * 100, cpu_allocatable_millis=1000,
            )
            for pool in ("general", "batch")
        )  # fmt: skip
    writer.close()
    marks = (
        Mark(at_ns=BEGIN_NS + 10**9, cause=PREDICTION, code=code, object_kind="Pod") for code in ("right", "wrong")
    )
    write_marks(path, [*marks])
    return path


async def test_sums_rows_charts_and_the_share_of_right_predictions(history: Path) -> None:
    app = history_app(history)
    async with running(app, (190, 50), is_analysed=False) as (_, pilot):
        app.run_command("history")
        await worked(pilot, is_analysed=False)
        screen = front(app, HistoryScreen)
        assert {"-", "general", "batch"} <= set(column(app, 1))
        assert screen.current is not None
        assert screen.current.pool is None
        cost, cpu = (chart.chart for chart in screen.charts[:2])
        assert cost is not None
        assert cost.title == "cost, $/h"
        assert cost.lines[0].values == (2.0, 4.0, 6.0, 8.0, 10.0)
        assert cpu is not None
        assert cpu.lines[0].values == pytest.approx((10.0, 20.0, 30.0, 40.0, 50.0))
        assert not screen.charts[2].display, "nothing is known about memory"
        app.run_command("filter pool=batch")
        await worked(pilot, is_analysed=False)
        assert screen.current.pool == "batch"
        cost = present(screen.charts[0].chart)
        assert cost.lines[0].values == (1.0, 2.0, 3.0, 4.0, 5.0)
        app.run_command("about")
        await worked(pilot, is_analysed=False)
        text = front(app, TextScreen).query_one(TextArea).text
        assert "recorded from 2026-11-28 14:00:00Z to 2026-11-28 14:06:00Z" in text
        assert "predictions: 1 of 2 placements right (50 %)" in text


@pytest.fixture(scope="module")
def edited_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "demo.karptui"
    record_demo(path, 200)
    return path


async def test_changes_of_a_recorded_time_lead_to_objects_and_gone_nodes(edited_history: Path) -> None:
    app = history_app(edited_history)
    async with running(app, (140, 30), is_analysed=False) as (_, pilot):
        app.run_command("changes yesterday")
        await settled(pilot, is_analysed=False)
        assert not isinstance(app.screen, ChangesScreen)
        app.run_command("changes -0s")
        await worked(pilot, is_analysed=False)
        screen = front(app, ChangesScreen)
        assert screen.listing.rows is not None
        assert "nothing is recorded in that time" in "".join(
            text for text, _ in screen.placeholder(screen.listing.rows)
        )
        await pilot.press("escape", "escape", "1")
        app.run_command("changes -3m")
        await worked(pilot, is_analysed=False)
        screen = front(app, ChangesScreen)
        kinds = column(app)
        assert kinds == sorted(kinds, key=["Node", "NodeClaim", "Pod"].index)
        assert {"Node", "Pod"} <= set(kinds)
        assert "(3m)" in text_of(screen.explain())
        assert screen.current is not None
        assert screen.current.kind == "Node"
        await pilot.press("enter")
        await settled(pilot, is_analysed=False)
        front(app, PoolDetailScreen)
        opened = History(edited_history)
        last_ns = opened.sessions()[-1].to_ns
        gone = {change.key for change in opened.changes(0, last_ns, ("NodeClaim",)) if change.is_deletion}
        opened.close()
        await pilot.press("escape", "escape", "1")
        app.open_screen("events", filter_text=f"kind=NodeClaim object={min(gone)}")
        await settled(pilot, is_analysed=False)
        await pilot.press("e")
        await worked(pilot, is_analysed=False)
        text = front(app, TextScreen).query_one(TextArea).text
        assert text.startswith("The node is gone.\nNodeClaim ")
