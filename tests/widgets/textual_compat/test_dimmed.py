"""The dimmed screen behind a dialog: it looks as in Textual, and follows changes of the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App, ComposeResult
from textual.geometry import Region, Size
from textual.pilot import Pilot
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.widgets import Label, Static

from karptui.widgets.textual_compat.dimmed import DimmedScreen, LayeredScreen

LOOK = "align: center middle; background: $background 60%;"


class Behind(LayeredScreen):
    """Two lines, one of them coloured."""

    def compose(self) -> ComposeResult:
        yield Static("first", id="first")
        yield Static("[red on blue]second[/] line", id="second")


class Ours(DimmedScreen[None]):
    CSS = f"Ours {{ {LOOK} }}"

    def compose(self) -> ComposeResult:
        yield Label("?")


class Theirs(ModalScreen[None]):
    CSS = f"Theirs {{ {LOOK} }}"

    def compose(self) -> ComposeResult:
        yield Label("?")


class Turning(LayeredScreen):
    """Two texts, side by side in a wide terminal and one above the other in a narrow one."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (40, "-wide")]  # noqa: RUF012 - as Textual declares it
    CSS = """
    Turning { layout: horizontal; }
    Turning.-narrow { layout: vertical; }
    Turning Static { width: 1fr; height: 1fr; }
    """

    def compose(self) -> ComposeResult:
        yield Static("one", id="one")
        yield Static("two")


class TwoScreens(App[None]):
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, behind: Callable[[], Screen[None]] = Behind) -> None:
        super().__init__()
        self._made_behind = behind

    def on_mount(self) -> None:
        self.push_screen(self._made_behind())


def drawn(screen: Screen[Any]) -> list[Strip]:
    return screen.render_lines(Region(0, 0, *screen.size))


async def lines_with(before: Callable[[], Screen[None]]) -> list[Strip]:
    app = TwoScreens()
    async with app.run_test(size=(30, 8)) as pilot:
        await app.push_screen(before())
        await pilot.pause()
        return [strip.simplify() for strip in app.screen._compositor.render_strips()]


async def test_the_dimmed_screen_equals_that_of_textual() -> None:
    assert await lines_with(Ours) == await lines_with(Theirs)


async def test_only_lines_that_changed_are_dimmed_again() -> None:
    app = TwoScreens()
    async with app.run_test(size=(30, 8)) as pilot:
        behind, front = app.screen, Ours()
        await app.push_screen(front)
        await pilot.pause()
        before = drawn(front)
        behind.query_one("#first", Static).update("other", layout=False)
        await pilot.pause()
        assert drawn(front) == before, "not updated before the next look at the screen behind"
        front._look_behind()
        after = drawn(front)
        assert after[0].text.startswith("other")
        assert all(new is old for new, old in zip(after[1:], before[1:], strict=True))
        app.pop_screen()
        await pilot.pause()
        assert drawn(behind)[0] is not None
        assert behind.query_one("#first", Static).render_lines(Region(0, 0, 30, 1))[0].text.startswith("other")


async def test_a_larger_terminal_is_filled_completely() -> None:
    app = TwoScreens()
    async with app.run_test(size=(30, 8)) as pilot:
        behind, front = app.screen, Ours()
        await app.push_screen(front)
        await pilot.pause()
        for screen in (front, behind):
            screen._screen_resized(Size(60, 16))  # one screen after the other, before either handles a resize event
            assert [strip.cell_length for strip in front._compositor.render_strips()] == [60] * 16


async def settled(app: App[None], pilot: Pilot[None], shown: list[str]) -> list[str]:
    """Wait until the terminal shows these lines, and return the lines it shows."""
    for _ in range(40):
        if texts(app) == shown:
            break
        await pilot.pause(0.025)
    return texts(app)


def texts(app: App[None]) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


async def test_widgets_that_move_on_the_dimmed_screen_are_redrawn() -> None:
    app = TwoScreens(Turning)
    async with app.run_test(size=(30, 8)) as pilot:
        behind = app.screen
        await app.push_screen(Ours())
        await pilot.pause()
        assert texts(app)[0] == "one"
        behind.query_one("#one", Static).display = False
        wanted = ["two", *texts(app)[1:4], "", *texts(app)[5:]]
        assert await settled(app, pilot, wanted) == wanted
