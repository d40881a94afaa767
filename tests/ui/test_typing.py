"""Keys typed faster than the screen can react."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import pytest
from textual import events
from textual.keys import key_to_character
from textual.pilot import Pilot
from textual.widgets import Input

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.screens.frame import FrameScreen
from karptui.screens.help import HelpScreen
from karptui.screens.list_screen import ListScreen
from karptui.screens.nodes import NodesScreen
from karptui.screens.pools import PoolDetailScreen, PoolsScreen
from karptui.screens.text import TextScreen
from karptui.screens.whatif.dialogs import ask_aside
from karptui.screens.whatif.screen import WhatIfScreen
from karptui.screens.whatif.workbook import DocumentReader, Made
from karptui.sources.source import Phase
from karptui.whatif.scenario import Opening
from karptui.whatif.sheet import Sheet
from karptui.widgets.info_line import InfoLine
from karptui.widgets.prompt import Prompt, PromptInput
from karptui.widgets.row_table.table import RowTable
from tests.builders import NOW_NS
from tests.ui.conftest import MakeApp
from tests.ui.fleet import a_fleet, status
from tests.ui.stage import an_app, front, press, running, settled
from tests.ui.test_states import ReportingSource


@pytest.fixture
def app() -> KarptuiApp:
    return an_app(clock=FrozenClock(NOW_NS))


def type_at_once(app: KarptuiApp, *keys: str) -> None:
    """Put keys into the app's queue without waiting for their effects."""
    for key in keys:
        app.post_message(events.Key(key, key_to_character(key)))


async def test_keys_typed_before_the_first_screen_wait_for_it(app: KarptuiApp) -> None:
    type_at_once(app, "colon", *"theme", "space", *"nord", "enter", "question_mark")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.pause()
        assert app.theme == "nord"
        assert isinstance(app.screen, HelpScreen)


async def test_a_key_typed_while_a_screen_opens_does_not_fail(app: KarptuiApp) -> None:
    async def fetch() -> str:
        return "a: 1"

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for turns in range(8):
            type_at_once(app, "G")
            for _ in range(turns):
                await asyncio.sleep(0)
            app.push_screen(TextScreen("a", fetch))
            await pilot.pause()
            assert isinstance(app.screen, TextScreen), turns
            await pilot.press("escape")
            assert isinstance(app.screen, NodesScreen)


async def test_rows_that_arrive_after_their_screen_was_closed_are_ignored(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A screen's widgets are removed one by one before the screen itself."""
    are_ready = asyncio.Event()

    async def in_time(make: Callable[[], object]) -> object:
        await are_ready.wait()
        return make()

    async def go(table: RowTable) -> None:
        are_ready.set()
        for _ in range(5):
            await asyncio.sleep(0)

    async with running(make_app(), (80, 24)) as (app, pilot):
        monkeypatch.setattr("karptui.screens.list_screen.BUILT_AT_ONCE", 0)
        monkeypatch.setattr("karptui.screens.row_sources.asyncio.to_thread", in_time)
        monkeypatch.setattr(RowTable, "on_unmount", go, raising=False)
        app.push_screen(PoolDetailScreen("general"))
        await pilot.pause()
        assert isinstance(app.screen, PoolDetailScreen)
        await pilot.press("escape")
        assert are_ready.is_set()
        assert isinstance(app.screen, NodesScreen)


@pytest.mark.parametrize("before", ["2", "6"])
async def test_a_key_goes_to_the_screen_opened_by_the_previous_key(make_app: MakeApp, before: str) -> None:
    """Textual alone would handle keys that open screens before keys typed earlier."""
    async with running(make_app(), (120, 30)) as (app, pilot):
        for after in ("1", "colon", "slash"):
            await press(pilot, before)
            pressed_on = app.screen
            type_at_once(app, "enter", after)
            await settled(pilot)
            if after == "1":
                assert isinstance(app.screen, NodesScreen)
                assert len(app.screen_stack) == 1
                continue
            is_detail = before != "6"  # on Blockers, enter expands a row
            assert (app.screen is not pressed_on) == is_detail
            assert pressed_on.query_one(Prompt).is_open == (not is_detail)
            assert app.screen.query_one(Prompt).is_open == (after == "colon" or isinstance(app.screen, ListScreen))
            await pilot.press("escape", "escape", "1")


@pytest.mark.parametrize("opener", ["slash", "colon"])
async def test_text_typed_after_a_digit_goes_to_the_screen_that_opens(make_app: MakeApp, opener: str) -> None:
    async with running(make_app(), (120, 30)) as (app, pilot):
        for digit in ("2", "5", "9"):
            before = app.screen
            type_at_once(app, digit, opener, *"e1:/?q")
            await settled(pilot)
            assert app.screen is not before
            assert app.screen.query_one(PromptInput).value == "e1:/?q"
            assert not before.query_one(Prompt).is_open
            await pilot.press("escape", "escape")


async def test_keys_typed_after_one_that_opens_a_dialog_go_to_the_dialog(make_app: MakeApp) -> None:
    async with running(make_app(), (120, 30)) as (app, pilot):
        type_at_once(app, "2", "down", "ctrl+t", "a", *"ou")
        await settled(pilot)
        assert app.screen.is_modal
        assert app.screen.query_one(Input).value == "ou"


async def test_only_keys_that_need_rows_wait_for_them(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long lists are built in a thread: the table keeps arrow keys, and the key after them waits too."""
    are_ready = asyncio.Event()

    async def in_time(make: Callable[[], object]) -> object:
        await are_ready.wait()
        return make()

    async with running(make_app(), (120, 30)) as (app, pilot):
        monkeypatch.setattr("karptui.screens.list_screen.BUILT_AT_ONCE", 0)
        monkeypatch.setattr("karptui.screens.row_sources.asyncio.to_thread", in_time)
        type_at_once(app, "2", "down", "down", "ctrl+t")
        await pilot.pause()
        assert isinstance(app.screen, PoolsScreen)
        assert not app.screen.table.rows
        monkeypatch.undo()
        are_ready.set()
        await settled(pilot)
        assert isinstance(app.screen, WhatIfScreen)
        assert "name: gpu" in app.whatif.book.sheet.text


def without_pools(phase: Phase) -> ReportingSource:
    """Return a fleet whose NodePools are not read, without objects derived from them."""
    fleet = a_fleet()
    del fleet.objects[Kind.NODEPOOL]
    source = ReportingSource(fleet)
    source.reports = tuple(status(kind, phase if kind is Kind.NODEPOOL else Phase.LIVE) for kind in Kind)
    return source


@pytest.mark.parametrize(("phase", "digits"), [(Phase.FORBIDDEN, "2567"), (Phase.NOT_INSTALLED, "2")])
async def test_keys_do_not_wait_for_rows_that_cannot_arrive(make_app: MakeApp, phase: Phase, digits: str) -> None:
    async with running(make_app(source=without_pools(phase)), (120, 30)) as (app, pilot):
        for digit in digits:
            await press(pilot, digit)
            assert not app.screen.query_one(RowTable).rows
            await pilot.press("ctrl+t")
            assert isinstance(app.screen, WhatIfScreen), digit
            await pilot.press("escape")


async def test_keys_wait_three_seconds_for_rows_and_only_once(make_app: MakeApp) -> None:
    """After one wait in vain, later keys on the screen do not wait for rows."""
    async with running(make_app(source=without_pools(Phase.CONNECTING)), (120, 30)) as (app, pilot):
        await press(pilot, "2")
        type_at_once(app, "ctrl+t", "e")
        await asyncio.sleep(2.5)
        assert isinstance(app.screen, PoolsScreen)
        assert "esc skips it" in str(app.screen.query_one("#info", InfoLine).render())
        await asyncio.sleep(1)
        assert isinstance(app.screen, WhatIfScreen)
        assert app.screen.focused is app.screen.edit_pane.editor
        await pilot.press("escape", "escape")
        assert isinstance(app.screen, PoolsScreen)
        await pilot.press("ctrl+t")
        assert isinstance(app.screen, WhatIfScreen)


@pytest.fixture
def let_go(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Return an event that lets the documents of a what-if load."""
    event, add_to = asyncio.Event(), DocumentReader.add_to

    async def held(reader: DocumentReader, sheet: Sheet, opening: Opening) -> Made:
        await event.wait()
        return await add_to(reader, sheet, opening)

    monkeypatch.setattr(DocumentReader, "add_to", held)
    return event


async def ask_once(asked: asyncio.Event, screen: FrameScreen) -> None:
    """Open the help on a screen once the event is set."""
    await asked.wait()
    screen.app.push_screen(HelpScreen(screen, ()))


async def wait_long(pilot: Pilot[None]) -> None:
    await asyncio.sleep(10)
    await pilot.pause()


async def test_keys_wait_for_an_opening_screen_without_a_time_limit(make_app: MakeApp, let_go: asyncio.Event) -> None:
    async with running(make_app(), (120, 30)) as (app, pilot):
        type_at_once(app, "2", "down", "down", "ctrl+t", "right", "right")
        await wait_long(pilot)
        assert "esc skips it" in str(app.screen.query_one("#info", InfoLine).render())
        let_go.set()
        await settled(pilot)
        assert isinstance(app.screen, WhatIfScreen)
        assert "weight: 2" in app.whatif.book.sheet.text


@pytest.mark.parametrize(("key", "screen"), [("escape", PoolsScreen), ("1", NodesScreen)])
async def test_a_leaving_key_ends_the_wait(
    make_app: MakeApp, let_go: asyncio.Event, key: str, screen: type[FrameScreen]
) -> None:
    async with running(make_app(), (120, 30)) as (app, pilot):
        type_at_once(app, "2", "down", "down", "ctrl+t", "right", "right")
        await wait_long(pilot)
        assert isinstance(app.screen, WhatIfScreen)
        await pilot.press(key)
        assert type(app.screen) is screen
        await pilot.press("slash")
        assert app.screen.query_one(Prompt).is_open


async def test_leaving_before_a_dialog_opens_cancels_the_dialog(make_app: MakeApp) -> None:
    """The key cancels the dialog that has not opened yet, and does not leave the screen."""
    asked = asyncio.Event()
    async with running(make_app(), (120, 30)) as (app, pilot):
        await pilot.press("2", "enter")
        detail = front(app, PoolDetailScreen)
        ask_aside(detail, partial(ask_once, asked, detail))
        type_at_once(app, "down")
        await wait_long(pilot)
        assert "esc skips it" in str(detail.info.render())
        await pilot.press("q")
        assert "cancelled" in str(detail.info.render())
        asked.set()
        await pilot.pause()
        assert app.screen is detail
        await pilot.press("down")
        assert "cancelled" not in str(detail.info.render())
        await pilot.press("q")
        assert isinstance(app.screen, PoolsScreen)


async def test_a_key_after_a_click_waits_for_what_the_click_opens(make_app: MakeApp) -> None:
    """The time since the last key does not count: only this key's own wait does."""
    asked = asyncio.Event()
    async with running(make_app(), (120, 30)) as (app, pilot):
        await pilot.press("2", "enter")
        detail = front(app, PoolDetailScreen)
        await wait_long(pilot)
        app.post_message(events.MouseDown(None, 1, 1, 0, 0, 1, False, False, False))
        await pilot.pause()
        ask_aside(detail, partial(ask_once, asked, detail))
        type_at_once(app, "escape")
        await pilot.pause()
        asked.set()
        await settled(pilot)
        assert app.screen is detail
        assert "cancelled" not in str(detail.info.render())
