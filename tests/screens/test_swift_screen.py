"""What a key did is on the screen at once; everything else waits for the next frame."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Static

from karptui.screens import swift_screen
from karptui.screens.compositor import SparingCompositor
from karptui.screens.swift_screen import FRAME_SECONDS, SwiftScreen


class Keys:
    """Stands for the keyboard and for the clock."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.is_typing = True

    def monotonic(self) -> float:
        return self.now

    def is_busy(self, now: float) -> bool:
        return self.is_typing and now == self.now


class Front(SwiftScreen):
    """Shows a text that scrolls."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = 0

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static("\n".join(map(str, range(100))))

    def _compositor_refresh(self) -> None:
        self.drawn += 1
        super()._compositor_refresh()


class Host(App[None]):
    """Shows that screen."""

    def get_default_screen(self) -> Front:
        return Front()


@asynccontextmanager
async def shown(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Front, Keys]]:
    """Show a screen that has nothing left to draw, a frame after the last drawing."""
    app, keys = Host(), Keys()
    monkeypatch.setattr(swift_screen, "time", keys)
    monkeypatch.setattr(swift_screen, "KEYBOARD", keys)
    async with app.run_test() as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, Front)
        keys.now += FRAME_SECONDS
        screen.drawn = 0
        yield screen, keys


async def idle(screen: Front) -> bool:
    """Have the screen do what it does when nothing else is to be done; return whether Textual's own is left out."""
    event = events.Idle()
    await screen._on_idle(event)
    return bool(event._no_default_action)


def touch(screen: Front) -> None:
    """Have something on the screen changed."""
    screen.query_one(Static)._repaint_required = True
    screen._dirty_widgets.add(screen.query_one(Static))


async def test_what_a_key_changed_is_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch) as (screen, _):
        assert isinstance(screen._compositor, SparingCompositor)
        touch(screen)
        assert await idle(screen)
        assert screen.drawn == 1
        assert not screen._dirty_widgets
        assert not await idle(screen)
        assert screen.drawn == 1, "there was nothing to draw"


async def test_no_sooner_than_a_frame_after_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch) as (screen, keys):
        touch(screen)
        assert await idle(screen)
        touch(screen)
        keys.now += 0.9 * FRAME_SECONDS
        assert not await idle(screen)
        keys.now += 0.2 * FRAME_SECONDS
        assert await idle(screen)
        assert screen.drawn == 2


async def test_frames_are_waited_for_while_nobody_types(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch) as (screen, keys):
        keys.is_typing = False
        touch(screen)
        assert not await idle(screen)
        assert screen.drawn == 0
        assert screen._dirty_widgets, "Textual draws it with the next frame"


async def test_scrolling_is_shown_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch) as (screen, _):
        scrolled = screen.query_one(VerticalScroll)
        scrolled.scroll_to(y=7, animate=False, immediate=True)
        text, before = screen.query_one(Static), screen.query_one(Static).region.y
        screen._scroll_required = True
        assert await idle(screen)
        assert not screen._scroll_required
        assert text.region.y == before - 7


@pytest.mark.parametrize("wanted", ["_layout_required", "_recompose_required"])
async def test_nothing_is_drawn_before_it_is_in_its_place(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    async with shown(monkeypatch) as (screen, _):
        touch(screen)
        setattr(screen, wanted, True)
        assert not await idle(screen)
        assert screen.drawn == 0
        setattr(screen, wanted, False)
        assert await idle(screen)


async def test_nothing_is_drawn_while_changes_are_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch) as (screen, _):
        with screen.app.batch_update():
            touch(screen)
            assert not await idle(screen)
            assert screen.drawn == 0


async def test_a_screen_behind_another_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch) as (screen, keys):
        await screen.app.push_screen(Screen())
        await screen.app.push_screen(Screen())  # Textual counts the next one behind as seen
        keys.now += FRAME_SECONDS
        drawn = screen.drawn
        touch(screen)
        assert not await idle(screen)
        assert screen.drawn == drawn
