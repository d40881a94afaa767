"""The Changes screen, and the explanation of nodes that are gone, over a history of the demo."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import TextArea

from karptui.screens.changes import ChangesScreen
from karptui.screens.pools import PoolDetailScreen
from karptui.screens.text import TextScreen
from karptui.sources.history.store import History
from tests.builders import text_of
from tests.histories import record_demo
from tests.ui.stage import column, front, history_app, running, settled, worked


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "demo.karptui"
    record_demo(path, 200)
    return path


async def test_changes_of_a_recorded_time_lead_to_objects_and_gone_nodes(history: Path) -> None:
    app = history_app(history)
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
        opened = History(history)
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
