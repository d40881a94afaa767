"""Pick lists: keys, pointer, updates, and that the terminal shows the current lines."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.pilot import Pilot
from textual.widgets import Button

from karptui.widgets.pick_list import Pick, PickList
from karptui.widgets.textual_compat.dimmed import LayeredScreen
from tests.canvas import Canvas, Cell

WIDTH, HEIGHT = 24, 6


class Ground(LayeredScreen):
    """A list with a button beneath it."""

    def compose(self) -> ComposeResult:
        yield PickList(id="list")
        yield Button("other")


class Host(App[None]):
    """Records the picked lines."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    PickList { width: 24; height: 6; color: $foreground; background: $surface; }
    PickList.narrow { width: 3; }
    PickList.wide { width: 34; height: 4; }
    PickList.none { width: 1; height: 0; }
    PickList.auto { height: auto; max-height: 5; }
    PickList > .pick-list--heading { color: red; }
    PickList > .pick-list--hover { background: green; }
    PickList > .pick-list--cursor { background: blue; }
    PickList:focus > .pick-list--cursor { background: yellow; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.picked: list[str] = []

    def get_default_screen(self) -> Ground:
        return Ground()

    def on_pick_list_picked(self, event: PickList.Picked) -> None:
        self.picked.append(event.key)


def a_pick(key: str, text: str = "", *, is_heading: bool = False, has_gap: bool = False) -> Pick:
    return Pick(key, Content(text or f"line {key}"), is_heading, has_gap)


def many(count: int, *, headings: Iterable[int] = (), gaps: Iterable[int] = ()) -> list[Pick]:
    return [a_pick(str(at), is_heading=at in set(headings), has_gap=at in set(gaps)) for at in range(count)]


def picked(pilot: Pilot[None]) -> list[str]:
    """Return the keys of the picked lines."""
    assert isinstance(pilot.app, Host)
    return pilot.app.picked


@asynccontextmanager
async def shown(
    monkeypatch: pytest.MonkeyPatch, picks: Iterable[Pick] = ()
) -> AsyncIterator[tuple[Pilot[None], PickList, Canvas]]:
    app = Host()
    async with app.run_test(size=(40, 12)) as pilot:
        pick_list = app.screen.query_one(PickList)
        pick_list.focus()
        pick_list.set_picks(list(picks))
        await pilot.pause()
        yield pilot, pick_list, Canvas.behind(app, monkeypatch)


def redrawn(pick_list: PickList) -> list[list[Cell]]:
    """Return the list's cells, drawn without any cache."""
    kept = pick_list._strips, pick_list._drawn, pick_list._lines, pick_list._column
    pick_list._strips, pick_list._drawn, pick_list._lines, pick_list._column = {}, {}, {}, None
    try:
        return Canvas(pick_list.render_lines(pick_list.outer_size.region)).rows
    finally:
        pick_list._strips, pick_list._drawn, pick_list._lines, pick_list._column = kept


def background_of(canvas: Canvas, pick_list: PickList, y: int) -> str:
    """Return the name of a line's background colour."""
    style = canvas.at(pick_list.region)[y][1][1]
    assert style is not None
    assert style.bgcolor is not None
    return style.bgcolor.name


YELLOW, BLUE, GREEN = "#ffff00", "#0000ff", "#008000"


# Keys


async def test_keys_move_by_lines_and_pages_and_stop_at_the_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20, headings=(0, 4), gaps=(4,))) as (pilot, pick_list, _):
        places = []
        for key in ("up", "down", "j", "k", "pagedown", "pagedown", "pageup", "end", "down", "G", "home", "pageup"):
            await pilot.press(key)
            places.append(pick_list.current_key)
        assert places == ["1", "2", "3", "2", "6", "11", "6", "19", "19", "19", "1", "1"]


@pytest.mark.parametrize("picks", [[], many(3, headings=(0, 1, 2))])
async def test_keys_do_nothing_without_lines(monkeypatch: pytest.MonkeyPatch, picks: list[Pick]) -> None:
    async with shown(monkeypatch, picks) as (pilot, pick_list, _):
        await pilot.press("down", "up", "pagedown", "pageup", "home", "end")
        pick_list.action_select()
        await pilot.click(PickList, offset=(3, 1))
        assert pick_list.current_key == ""
        assert picked(pilot) == []


async def test_the_cursor_can_be_moved_by_code(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20, headings=(0,))) as (_, pick_list, _canvas):
        pick_list.move_to("17")
        assert (pick_list.current_key, pick_list.scroll_offset.y) == ("17", 12)
        pick_list.action_edge(-1)
        assert (pick_list.current_key, pick_list.scroll_offset.y) == ("1", 0)
        with pytest.raises(StopIteration):
            pick_list.move_to("0")


# Visible lines


async def test_moving_to_the_first_line_scrolls_its_heading_into_view(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20, headings=(0,))) as (pilot, pick_list, canvas):
        await pilot.press("end")
        assert pick_list.scroll_offset.y == 14
        await pilot.press(*["up"] * 18)
        assert pick_list.current_key == "1"
        assert canvas.texts(pick_list.region)[0].startswith(" line 0")
        pick_list.set_picks(many(30, headings=range(10)))
        await pilot.press("end", "home")
        assert pick_list.current_key == "10"
        assert pick_list.scroll_offset.y <= 10 < pick_list.scroll_offset.y + HEIGHT, (
            "headings do not push the cursor out of view"
        )


@pytest.mark.parametrize(("keys", "picks", "place"), [
    pytest.param(["down"] * 8, [a_pick(str(at), f"other {at}") for at in range(20)], ("8", 3), id="as far down"),
    pytest.param(["end"], [*many(3), a_pick("19")], ("19", 0), id="no further than fewer lines reach"),
    pytest.param(["end"], many(19, headings=(0,)), ("1", 0), id="at the beginning if the line is gone"),
    pytest.param(["down"], many(20, headings=(0, 1)), ("2", 0), id="below if the line is a heading now"),
])  # fmt: skip
async def test_the_cursor_stays_on_its_line_after_an_update(
    monkeypatch: pytest.MonkeyPatch, keys: list[str], picks: list[Pick], place: tuple[str, int]
) -> None:
    async with shown(monkeypatch, many(20)) as (pilot, pick_list, canvas):
        await pilot.press(*keys)
        pick_list.set_picks(picks)
        await pilot.pause()
        assert (pick_list.current_key, pick_list.scroll_offset.y) == place
        assert canvas.at(pick_list.region) == redrawn(pick_list)


async def test_only_the_first_of_several_lines_with_one_key_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    picks = [a_pick("a", "first"), a_pick("b"), a_pick("a", "second")]
    async with shown(monkeypatch, picks) as (_, pick_list, canvas):
        assert pick_list.picks == tuple(picks[:2])
        assert [text.strip() for text in canvas.texts(pick_list.region)][:3] == ["first", "line b", ""]


WORDS = (
    "short",
    "exactly-twenty-one-xx",
    "a line that is far too long for the list",
    "日本語のとても長い一行の文字列です",
    "e\u0301" * 30,
    "[b]no markup[/]",
)


@pytest.mark.parametrize("look", ["", "narrow", "wide"])
async def test_every_line_fills_exactly_the_width(monkeypatch: pytest.MonkeyPatch, look: str) -> None:
    async with shown(monkeypatch, [a_pick(word, word) for word in WORDS]) as (pilot, pick_list, canvas):
        pick_list.set_classes(look)
        await pilot.pause()
        for strip in pick_list.render_lines(pick_list.outer_size.region):
            assert sum(cell_len(segment.text) for segment in strip) == strip.cell_length == pick_list.outer_size.width
        assert canvas.at(pick_list.region) == redrawn(pick_list)
        if look != "narrow":
            first = canvas.texts(pick_list.region)
            assert first[0].rstrip() == " short"
            assert first[2][: pick_list.size.width - 1].rstrip().endswith("…")


async def test_keys_move_the_cursor_of_a_hidden_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with shown(monkeypatch, many(20)) as (pilot, pick_list, _):
        await pilot.press("end")
        pick_list.set_classes("none")
        await pilot.pause()
        await pilot.press("up", "pageup")
        pick_list.set_classes("")
        await pilot.pause()
        assert pick_list.current_key == "17"
        assert pick_list.scroll_offset.y <= 17 < pick_list.scroll_offset.y + HEIGHT


async def test_a_list_with_automatic_height_grows_with_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(2)) as (pilot, pick_list, canvas):
        pick_list.set_classes("auto")
        await pilot.pause()
        for count, height in ((3, 3), (20, 5), (40, 5), (1, 1)):
            pick_list.set_picks(many(count))
            await pilot.pause()
            assert pick_list.size.height == height
            assert canvas.at(pick_list.region) == redrawn(pick_list)


# The pointer


async def test_a_click_moves_the_cursor_and_picks(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20, headings=(0,), gaps=(2,))) as (pilot, pick_list, _):
        for y in (0, 2):
            await pilot.click(PickList, offset=(3, y))
            assert picked(pilot) == []
        await pilot.click(PickList, offset=(3, 4))
        assert pick_list.current_key == "3"
        assert picked(pilot) == ["3"]
        await pilot.click(PickList, offset=(WIDTH - 1, 5))
        assert picked(pilot) == ["3"], "a click on the scroll bar picks no line"


@pytest.mark.parametrize("times", [2, 3])
async def test_repeated_clicks_select_no_text(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    async with shown(monkeypatch, many(3)) as (pilot, pick_list, canvas):
        await pilot.click(PickList, offset=(3, 2), times=times)
        await pilot.pause()
        assert canvas.at(pick_list.region) == redrawn(pick_list)
        assert not pilot.app.screen.selections


async def test_the_line_under_the_pointer_is_highlighted(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20, headings=(3,))) as (pilot, pick_list, canvas):
        plain = background_of(canvas, pick_list, 2)
        await pilot.hover(PickList, offset=(3, 2))
        assert [background_of(canvas, pick_list, y) for y in range(4)] == [YELLOW, plain, GREEN, plain]
        await pilot.hover(PickList, offset=(3, 3))
        assert [background_of(canvas, pick_list, y) for y in range(4)] == [YELLOW, plain, plain, plain], (
            "a heading is not highlighted"
        )
        await pilot.hover(PickList, offset=(3, 0))
        assert background_of(canvas, pick_list, 0) == YELLOW, "the cursor's line keeps its colour"
        await pilot.hover(PickList, offset=(3, 1))
        await pilot.hover(Button)
        assert background_of(canvas, pick_list, 1) == plain


# Redrawing


async def test_moving_the_cursor_draws_two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20)) as (pilot, pick_list, _):
        asked: list[int] = []
        draw = pick_list.draw_line

        def noted(y: int, first: Any, body: Any) -> Any:
            asked.append(y)
            return draw(y, first, body)

        monkeypatch.setattr(pick_list, "draw_line", noted)
        await pilot.press("down")
        assert sorted(asked) == [0, 1]
        asked.clear()
        pick_list.set_picks([*many(4), a_pick("4", "other"), *many(20)[5:]])
        await pilot.pause()
        assert asked == [4]
        asked.clear()
        pick_list.set_picks(pick_list.picks)
        await pilot.pause()
        assert asked == []


async def test_the_cache_does_not_keep_removed_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch) as (pilot, pick_list, canvas):
        for at in range(30):
            pick_list.set_picks([a_pick("a", f"{at}"), a_pick("b", f"{at + 100}")])
            await pilot.pause()
        assert len(pick_list._strips) <= 2 * 2 + HEIGHT + HEIGHT
        assert canvas.at(pick_list.region) == redrawn(pick_list)


@pytest.mark.parametrize("seed", range(2))
async def test_the_terminal_shows_the_list_after_random_actions(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = random.Random(seed)
    async with shown(monkeypatch, many(12, headings=(0, 5), gaps=(5,))) as (pilot, pick_list, canvas):
        for _ in range(40):
            done = chance.choice(("key", "key", "key", "picks", "hover", "click", "wheel", "theme", "focus", "size"))
            match done:
                case "key":
                    await pilot.press(*chance.choices(("up", "down", "pageup", "pagedown", "home", "end"), k=2))
                case "picks":
                    count = chance.choice((0, 3, 12, 40))
                    heads = chance.sample(range(count + 1), min(count, 2))
                    pick_list.set_picks(
                        [
                            a_pick(str(at), chance.choice(WORDS), is_heading=at in heads, has_gap=chance.random() < 0.2)
                            for at in range(count)
                        ]
                    )
                case "hover":
                    await pilot.hover(PickList, offset=(chance.randrange(3), chance.randrange(4)))
                case "click":
                    await pilot.click(PickList, offset=(chance.randrange(3), chance.randrange(4)))
                case "wheel":
                    pick_list.scroll_relative(y=chance.choice((-3, 3)), animate=False, immediate=True)
                case "theme":
                    pilot.app.theme = chance.choice(("textual-dark", "textual-light"))
                case "focus":
                    (pick_list if chance.random() < 0.7 else pilot.app.screen.query_one(Button)).focus()
                case "size":
                    pick_list.set_classes(chance.choice(("", "", "wide", "narrow")))
            await pilot.pause()
            assert canvas.at(pick_list.region) == redrawn(pick_list), done
            assert canvas.rows == Canvas(pilot.app.screen._compositor.render_strips()).rows, done


async def test_a_line_drawn_before_the_resize_event_has_the_new_width(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(3)) as (_, pick_list, _):
        for width in (34, 12, WIDTH - 1):
            assert pick_list.draw_line(1, 0, Size(width, HEIGHT)).cell_length == width
