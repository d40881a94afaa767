"""The screen behind a question: it looks as Textual would dim it, and is looked at again when it changes."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App, ComposeResult
from textual.geometry import Region, Size
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.widgets import Label, Static

from karptui.screens.dimmed import DimmedScreen

LOOK = "align: center middle; background: $background 60%;"


class Behind(Screen[None]):
    """Two lines, one of them coloured."""

    @property
    def is_current(self) -> bool:
        return super().is_current and self.app.screen is self

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


class TwoScreens(App[None]):
    ENABLE_COMMAND_PALETTE = False

    def on_mount(self) -> None:
        self.push_screen(Behind())


def drawn(screen: Screen[None]) -> list[Strip]:
    return screen.render_lines(Region(0, 0, *screen.size))


async def lines_with(before: Callable[[], Screen[None]]) -> list[Strip]:
    app = TwoScreens()
    async with app.run_test(size=(30, 8)) as pilot:
        await app.push_screen(before())
        await pilot.pause()
        return [strip.simplify() for strip in app.screen._compositor.render_strips()]


async def test_it_looks_as_textual_dims() -> None:
    assert await lines_with(Ours) == await lines_with(Theirs)


async def test_only_lines_that_changed_are_dimmed_again() -> None:
    app = TwoScreens()
    async with app.run_test(size=(30, 8)) as pilot:
        behind, front = app.screen, Ours()
        await app.push_screen(front)
        await pilot.pause()
        before = drawn(front)
        behind.query_one("#first", Static).update("other")
        await pilot.pause()
        assert drawn(front) == before, "not looked at yet"
        front._look_behind()
        after = drawn(front)
        assert after[0].text.startswith("other")
        assert all(new is old for new, old in zip(after[1:], before[1:], strict=True))
        app.pop_screen()
        await pilot.pause()
        assert drawn(behind)[0] is not None
        assert behind.query_one("#first", Static).render_lines(Region(0, 0, 30, 1))[0].text.startswith("other")


async def test_another_size_is_drawn_anew() -> None:
    app = TwoScreens()
    async with app.run_test(size=(30, 8)) as pilot:
        front = Ours()
        await app.push_screen(front)
        await pilot.resize_terminal(40, 10)
        await pilot.pause()
        front._look_behind()
        lines = drawn(front)
        assert (len(lines), lines[0].cell_length) == (10, 40)
        assert [strip.text for strip in front.render_lines(Region(1, 0, 3, 1))] == ["irs"]


async def test_without_transparency_nothing_shows_through() -> None:
    app = TwoScreens()
    async with app.run_test(size=(30, 8)) as pilot:
        front = Ours()
        await app.push_screen(front)
        front.styles.background = "black"
        await pilot.pause()
        assert not drawn(front)[0].text.strip()


async def test_a_screen_that_grows_leaves_no_hole() -> None:
    app = TwoScreens()
    async with app.run_test(size=(30, 8)) as pilot:
        behind, front = app.screen, Ours()
        await app.push_screen(front)
        await pilot.pause()
        for screen in (front, behind):
            screen._screen_resized(Size(60, 16))  # one after the other, and before they hear of it
            assert [strip.cell_length for strip in front._compositor.render_strips()] == [60] * 16
