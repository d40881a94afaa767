"""An internal error is one message on the screen, and everything else keeps working."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.worker import WorkerFailed

from karptui.app import KarptuiApp
from karptui.screens.nodes import NodesScreen
from karptui.session.follower import ClusterFollower
from karptui.widgets.row_table.table import RowTable
from tests.canvas import draw_at_once
from tests.ui.conftest import MakeApp
from tests.ui.fleet import FleetSource, lines_of
from tests.ui.stage import press, running

pytestmark = pytest.mark.crashes
SIZE = (120, 30)
SECRET = "eyJhbGciOiJSUzI1NiJ9.c2VjcmV0"


def fails(*_: Any, **__: Any) -> Any:
    """Raise an error with a secret token in a local variable and in its message."""
    header = f"Bearer {SECRET}"
    raise ZeroDivisionError(f"cannot divide {header}")


def told(app: KarptuiApp) -> str:
    return next((line for line in lines_of(app) if "internal error" in line), "")


async def assert_app_works(app: KarptuiApp, pilot: Any) -> None:
    """Check that the app still switches between screens."""
    await press(pilot, "3")
    assert app.current_mode == "claims"
    await press(pilot, "1")
    assert app.current_mode == "nodes"
    assert app.is_running
    assert app.return_code is None


async def test_a_failing_view_is_reported_and_recovers(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        before = lines_of(app)
        with monkeypatch.context() as patch:
            patch.setattr(NodesScreen, "show_state", fails)
            app.show_changes(is_changed=True)
            await pilot.pause()
            assert "internal error while showing Nodes: ZeroDivisionError: cannot divide [removed]" in told(app)
            assert "● live" in lines_of(app)[0]
            await assert_app_works(app, pilot)
        await press(pilot, "down", "up")
        assert told(app) == ""
        assert lines_of(app)[:5] == before[:5]


async def test_the_crash_report_contains_no_token(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(make_app(), (200, 30)) as (app, pilot):
        monkeypatch.setattr(NodesScreen, "show_state", fails)
        app.show_changes(is_changed=True)
        await pilot.pause()
        _, _, name = told(app).partition("report in ")
        report = Path(name.split()[0])
        text = report.read_text()
        assert "test_faults.py" in text
        assert SECRET not in text
        assert "Bearer" not in text
        assert SECRET not in "\n".join(lines_of(app))


@pytest.mark.parametrize(("part", "keys", "sentence"), [
    pytest.param("frame.tab_notes", [], "showing the top bar", id="top bar"),
    pytest.param("nodes.NodesScreen.action_copy", ["c"], "taking the key c: ZeroDivisionError", id="key"),
    pytest.param("command_line.run", ["colon", *"wide", "enter"], "", id="command"),
    pytest.param("help.HelpScreen.compose", ["question_mark"], "", id="screen that opens"),
])  # fmt: skip
async def test_a_failing_part_is_reported_in_one_message(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, part: str, keys: list[str], sentence: str
) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        with monkeypatch.context() as patch:
            patch.setattr(f"karptui.screens.{part}", fails)
            app.show_changes(is_changed=True)
            await pilot.press(*keys)
            await pilot.pause()
            assert f"internal error while {sentence}" in told(app)
            await pilot.press("escape")
        await assert_app_works(app, pilot)
        await pilot.press("down")
        assert told(app) == ""


async def test_a_failing_poll_is_reported(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        monkeypatch.setattr(ClusterFollower, "poll", fails)
        app.feed.tick()
        await pilot.pause()
        assert "internal error while applying changes: ZeroDivisionError" in told(app)
        await assert_keys_work(app, pilot)


async def assert_keys_work(app: KarptuiApp, pilot: Any) -> None:
    await pilot.press("3")
    assert app.current_mode == "claims"


async def test_a_failing_poll_in_a_thread_is_reported(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.session.follower.LARGE_FROM_PODS", 10)
    async with running(make_app(), SIZE) as (app, pilot):
        with monkeypatch.context() as patch:
            patch.setattr(ClusterFollower, "poll", fails)
            app.feed.tick()
            for _ in range(100):
                await asyncio.sleep(0.02)
                await pilot.pause()
                if told(app):
                    break
            assert "internal error while applying changes: ZeroDivisionError" in told(app)
        await assert_app_works(app, pilot)


async def test_a_failing_worker_is_reported(make_app: MakeApp) -> None:
    async with running(make_app(), SIZE) as (app, pilot):

        async def work() -> None:
            fails()

        app.run_worker(work())
        with pytest.raises(WorkerFailed):
            await app.workers.wait_for_complete()
        await pilot.pause()
        assert "internal error while working in the background: ZeroDivisionError" in told(app)
        await assert_app_works(app, pilot)


async def test_a_widget_that_fails_to_draw_is_reported(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        draw_at_once(monkeypatch)
        with monkeypatch.context() as patch:
            patch.setattr(RowTable, "draw_line", fails)
            app.screen.refresh(layout=True)
            app.screen.query_one(RowTable).refresh()
            await pilot.pause()
            await pilot.pause()
            assert "internal error while drawing: ZeroDivisionError" in told(app)
            assert "● live" in lines_of(app)[0]
        await assert_app_works(app, pilot)


async def test_an_error_before_the_first_frame_ends_the_app(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.app.app_commands", fails)
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
    assert app.return_code == 1


async def test_an_object_that_cannot_be_shown_is_named_in_the_top_bar(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(make_app(), (200, 30)) as (app, pilot):
        app.follower.trouble = "Pod web/broken cannot be shown: ZeroDivisionError"
        app.show_changes(is_changed=True)
        await pilot.pause()
        assert "✖ Pod web/broken cannot be shown: ZeroDivisionError" in lines_of(app)[0]


async def test_refresh_makes_the_source_try_again(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    refreshed: list[str] = []
    monkeypatch.setattr(FleetSource, "refresh", lambda self: refreshed.append(self.title))
    async with running(make_app(), SIZE) as (_, pilot):
        await pilot.press("ctrl+r")
        assert refreshed == ["prod-eu-1"]
