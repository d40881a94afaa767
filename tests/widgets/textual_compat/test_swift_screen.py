"""What a partial update draws is what a full one has there, and no more than has changed is asked of widgets."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate
from textual.app import App, ComposeResult
from textual.containers import ScrollableContainer
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widget import Widget

from karptui.widgets.textual_compat.swift_screen import SparingCompositor, SwiftScreen, _is_covered
from tests.canvas import Canvas

WIDTH, HEIGHT = 40, 14


class Patch(Widget):
    """Shows letters, which change; notes what it is asked to draw."""

    def __init__(self, *, id: str, colour: str) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self.colour = Style(color=colour)
        self.letters: dict[tuple[int, int], str] = {}
        self.asked: list[Region] = []

    def render_lines(self, crop: Region) -> list[Strip]:
        self.asked.append(crop)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        text = "".join(self.letters.get((x, y), ".") for x in range(self.size.width))
        return Strip([Segment(text, self.colour)], self.size.width)

    def change(self, region: Region, letter: str) -> None:
        """Show a letter in a region."""
        for y in region.line_range:
            for x in range(region.x, region.right):
                self.letters[x, y] = letter
        self.refresh(region)


class Ground(SwiftScreen):
    """Two neighbours, one before both, one wholly behind another, and one that is scrolled."""

    def compose(self) -> ComposeResult:
        yield Patch(id="left", colour="red")
        yield Patch(id="right", colour="green")
        yield Patch(id="hidden", colour="yellow")
        yield Patch(id="over", colour="blue")
        yield Patch(id="top", colour="magenta")
        with ScrollableContainer(id="frame"):
            yield Patch(id="scrolled", colour="cyan")


class Host(App[None]):
    """Shows that screen."""

    CSS = """
    Ground { layers: back middle front; }
    Patch { position: absolute; }
    #left { layer: back; width: 20; height: 8; }
    #right { layer: back; width: 20; height: 8; offset: 20 0; }
    #hidden { layer: back; width: 6; height: 2; offset: 12 4; }
    #over { layer: middle; width: 16; height: 5; offset: 10 3; }
    #top { layer: front; width: 5; height: 6; offset: 17 1; }
    #frame { layer: back; width: 30; height: 5; offset: 4 9; position: absolute; }
    #scrolled { position: relative; width: 50; height: 12; }
    """

    def get_default_screen(self) -> Ground:
        return Ground()


def compositor_of(app: App[None]) -> SparingCompositor:
    found = app.screen._compositor
    assert isinstance(found, SparingCompositor)
    return found


def update_of(app: App[None], *patches: Widget) -> ChopsUpdate:
    """Return what is drawn after patches have changed, in the place of the screen's own drawing."""
    compositor = compositor_of(app)
    compositor.update_widgets(set(patches))
    update = compositor.render_partial_update()
    assert update is not None
    return update


def some_region(chance: random.Random, size: tuple[int, int]) -> Region:
    width, height = chance.randint(1, size[0]), chance.randint(1, size[1])
    return Region(chance.randint(0, size[0] - width), chance.randint(0, size[1] - height), width, height)


@asynccontextmanager
async def quiet(scroll: tuple[int, int] = (0, 0)) -> AsyncIterator[Host]:
    """Show the screen, and let only the test draw."""
    host = Host()
    async with host.run_test(size=(WIDTH, HEIGHT)) as pilot:
        host.screen.query_one("#frame").scroll_to(*scroll, animate=False, immediate=True)
        await pilot.pause()
        with host.batch_update():
            for patch in host.screen.query(Patch):
                patch._exchange_repaint_regions()  # that it is new has been seen to
                patch.asked.clear()
            yield host


def asked(app: Host) -> dict[str, list[Region]]:
    """Return which patches were asked for what."""
    return {str(patch.id): patch.asked for patch in app.screen.query(Patch) if patch.asked}


def patch_of(app: Host, name: str) -> Patch:
    return app.screen.query_one(f"#{name}", Patch)


@pytest.mark.parametrize("seed", range(6))
async def test_partial_updates_add_up_to_the_whole_screen(seed: int) -> None:
    chance = random.Random(seed)
    async with quiet(scroll=(chance.randint(0, 9), chance.randint(0, 6))) as app:
        patches, scrolled = list(app.screen.query(Patch)), patch_of(app, "scrolled")
        compositor = compositor_of(app)
        canvas = Canvas(compositor.render_strips())
        for letter in "abcdefghijklmnopqrstuvwxyz":
            changed = chance.sample(patches, chance.randint(1, 4))
            for patch in changed:
                for _ in range(chance.randint(1, 3)):
                    patch.change(some_region(chance, patch.outer_size), letter)
            compositor.update_widgets(set(changed))
            update = compositor.render_partial_update()
            if update is not None:
                canvas.take(update)
            else:
                assert changed == [scrolled], "of all others something is on the screen"
            assert canvas.rows == Canvas(compositor.render_strips()).rows, letter
        assert any(cell[0] != "." for row in canvas.rows for cell in row)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        pytest.param(
            {"left": [Region(0, 0, 3, 1)], "right": [Region(14, 7, 3, 1)]},
            {"left": [Region(0, 0, 20, 1)], "right": [Region(0, 7, 20, 1)]},
            id="only rows that changed",
        ),
        pytest.param(
            {"left": [Region(0, 1, 3, 1), Region(0, 6, 3, 1)]},
            {"left": [Region(0, 1, 20, 6)]},
            id="rows between two changes in one",
        ),
        pytest.param(
            {"hidden": [Region(0, 0, 6, 2)]},
            {"over": [Region(0, 1, 16, 2)], "top": [Region(0, 3, 5, 2)]},
            id="nothing of what stands wholly behind others",
        ),
        pytest.param(
            {"left": [Region(9, 3, 3, 1)]},
            {"left": [Region(0, 3, 20, 1)], "over": [Region(0, 0, 16, 1)]},
            id="what is seen beside others",
        ),
    ],
)
async def test_what_is_asked_for(changes: dict[str, list[Region]], wanted: dict[str, list[Region]]) -> None:
    async with quiet() as app:
        for name, regions in changes.items():
            for region in regions:
                patch_of(app, name).change(region, "x")
        update_of(app, *(patch_of(app, name) for name in changes))
        assert asked(app) == wanted


async def test_only_the_cells_that_changed_are_drawn() -> None:
    async with quiet() as app:
        left, right = patch_of(app, "left"), patch_of(app, "right")
        left.change(Region(0, 0, 3, 1), "x")
        right.change(Region(14, 7, 3, 1), "x")
        assert sorted(update_of(app, left, right).spans) == [(0, 0, 3), (7, 34, 37)]


async def test_only_what_a_frame_lets_through_is_asked() -> None:
    async with quiet() as app:
        frame, scrolled = app.screen.query_one("#frame"), patch_of(app, "scrolled")
        assert frame.scrollable_content_region.size < scrolled.outer_size
        scrolled.change(Region(0, 0, 50, 12), "x")
        update_of(app, scrolled)
        [region] = asked(app)["scrolled"]
        assert region.size == frame.scrollable_content_region.size


async def test_a_full_update_asks_everybody() -> None:
    async with quiet() as app:
        patch_of(app, "left").change(Region(0, 0, 1, 1), "x")
        compositor_of(app).update_widgets({patch_of(app, "left")})
        compositor_of(app).render_full_update()
        assert set(asked(app)) == {"left", "right", "hidden", "over", "top", "scrolled"}
        assert compositor_of(app).render_partial_update() is None, "nothing is left to draw"


async def test_everything_is_asked_again_after_a_partial_update_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with quiet() as app:
        left = patch_of(app, "left")
        with monkeypatch.context() as broken:
            broken.setattr(left, "render_line", lambda y: 1 // 0)
            left.change(Region(0, 0, 3, 1), "x")
            with pytest.raises(ZeroDivisionError):
                update_of(app, left)
        compositor_of(app).render_strips()
        assert set(asked(app)) == {"left", "right", "hidden", "over", "top", "scrolled"}


regions = st.builds(Region, st.integers(0, 9), st.integers(0, 6), st.integers(1, 8), st.integers(1, 5))


@given(regions, st.lists(regions, max_size=6))
def test_covered_is_what_has_each_cell_behind_another(region: Region, drawn: list[Region]) -> None:
    cells = [Offset(x, y) for y in region.line_range for x in range(region.x, region.right)]
    assert _is_covered(region, drawn) == all(any(one.contains_point(cell) for one in drawn) for cell in cells)
