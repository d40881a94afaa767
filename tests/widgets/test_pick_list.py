"""Lines to pick from: keys, pointer, refreshes, and that what stands on the terminal is what the list says."""

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
    """Notes what is picked."""

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
    """Return the keys of what has been picked."""
    assert isinstance(pilot.app, Host)
    return pilot.app.picked


@asynccontextmanager
async def shown(
    monkeypatch: pytest.MonkeyPatch, picks: Iterable[Pick] = ()
) -> AsyncIterator[tuple[Pilot[None], PickList, Canvas]]:
    """Show lines; the list has the keys."""
    app = Host()
    async with app.run_test(size=(40, 12)) as pilot:
        found = app.screen.query_one(PickList)
        found.focus()
        found.set_picks(list(picks))
        await pilot.pause()
        yield pilot, found, Canvas.behind(app, monkeypatch)


def drawn_anew(found: PickList) -> list[list[Cell]]:
    """Return the list's cells as they are when nothing drawn before is used."""
    kept = found._strips, found._drawn, found._lines, found._column
    found._strips, found._drawn, found._lines, found._column = {}, {}, {}, None
    try:
        return Canvas(found.render_lines(found.outer_size.region)).rows
    finally:
        found._strips, found._drawn, found._lines, found._column = kept


def ground_of(canvas: Canvas, found: PickList, y: int) -> str:
    """Return the colour that a line stands on, by its name or by its parts."""
    style = canvas.at(found.region)[y][1][1]
    assert style is not None
    assert style.bgcolor is not None
    return style.bgcolor.name


YELLOW, BLUE, GREEN = "#ffff00", "#0000ff", "#008000"


# Keys


async def test_keys_move_by_lines_and_pages_and_stop_at_the_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20, headings=(0, 4), gaps=(4,))) as (pilot, found, _):
        places = []
        for key in ("up", "down", "j", "k", "pagedown", "pagedown", "pageup", "end", "down", "G", "home", "pageup"):
            await pilot.press(key)
            places.append(found.current_key)
        assert places == ["1", "2", "3", "2", "6", "11", "6", "19", "19", "19", "1", "1"]


@pytest.mark.parametrize("picks", [[], many(3, headings=(0, 1, 2))])
async def test_keys_do_nothing_where_there_is_nothing_to_pick(
    monkeypatch: pytest.MonkeyPatch, picks: list[Pick]
) -> None:
    async with shown(monkeypatch, picks) as (pilot, found, _):
        await pilot.press("down", "up", "pagedown", "pageup", "home", "end")
        found.action_select()
        await pilot.click(PickList, offset=(3, 1))
        assert found.current_key == ""
        assert picked(pilot) == []


async def test_the_owner_moves_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20, headings=(0,))) as (_, found, _canvas):
        found.move_to("17")
        assert (found.current_key, found.scroll_offset.y) == ("17", 12)
        found.move_to_start()
        assert (found.current_key, found.scroll_offset.y) == ("1", 0)
        with pytest.raises(StopIteration):
            found.move_to("0")


# What is seen


async def test_a_scrolled_list_shows_the_heading_above_its_first_line_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20, headings=(0,))) as (pilot, found, canvas):
        await pilot.press("end")
        assert found.scroll_offset.y == 14
        await pilot.press(*["up"] * 18)
        assert found.current_key == "1"
        assert canvas.texts(found.region)[0].startswith(" line 0")


async def test_more_headings_than_fit_do_not_push_the_cursor_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(30, headings=range(10))) as (pilot, found, _):
        await pilot.press("end", "home")
        assert found.current_key == "10"
        assert found.scroll_offset.y <= 10 < found.scroll_offset.y + HEIGHT


async def test_the_cursor_is_as_far_from_the_edge_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20)) as (pilot, found, _):
        await pilot.press(*["down"] * 8)
        assert found.scroll_offset.y == 3
        found.set_picks([a_pick(str(at), f"other {at}") for at in range(20)])
        await pilot.pause()
        assert (found.current_key, found.scroll_offset.y) == ("8", 3)


async def test_fewer_lines_scroll_no_further_than_they_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20)) as (pilot, found, canvas):
        await pilot.press("end")
        found.set_picks([*many(3), a_pick("19")])
        await pilot.pause()
        assert (found.current_key, found.scroll_offset.y) == ("19", 0)
        assert [text.strip() for text in canvas.texts(found.region)] == [
            "line 0",
            "line 1",
            "line 2",
            "line 19",
            "",
            "",
        ]


async def test_a_cursor_whose_line_is_gone_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20)) as (pilot, found, _):
        await pilot.press("end")
        found.set_picks(many(19, headings=(0,)))
        await pilot.pause()
        assert (found.current_key, found.scroll_offset.y) == ("1", 0)
        found.set_picks(many(19, headings=(0, 1)))
        assert found.current_key == "2", "what has become a heading is left"


async def test_of_several_lines_with_one_key_the_first_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    picks = [a_pick("a", "first"), a_pick("b"), a_pick("a", "second")]
    async with shown(monkeypatch, picks) as (_, found, canvas):
        assert found.picks == tuple(picks[:2])
        assert [text.strip() for text in canvas.texts(found.region)][:3] == ["first", "line b", ""]


WORDS = (
    "short",
    "exactly-twenty-one-xx",
    "a line that is far too long for the list",
    "日本語のとても長い一行の文字列です",
    "e\u0301" * 30,
    "[b]no markup[/]",
)


@pytest.mark.parametrize("look", ["", "narrow", "wide"])
async def test_every_line_fills_its_width_and_no_more(monkeypatch: pytest.MonkeyPatch, look: str) -> None:
    async with shown(monkeypatch, [a_pick(word, word) for word in WORDS]) as (pilot, found, canvas):
        found.set_classes(look)
        await pilot.pause()
        for strip in found.render_lines(found.outer_size.region):
            assert sum(cell_len(segment.text) for segment in strip) == strip.cell_length == found.outer_size.width
        assert canvas.at(found.region) == drawn_anew(found)
        if look != "narrow":
            first = canvas.texts(found.region)
            assert first[0].rstrip() == " short"
            assert first[2][: found.size.width - 1].rstrip().endswith("…")


async def test_a_list_without_room_draws_nothing_and_keeps_its_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20)) as (pilot, found, _):
        await pilot.press("end")
        found.set_classes("none")
        await pilot.pause()
        await pilot.press("up", "pageup")
        found.set_classes("")
        await pilot.pause()
        assert found.current_key == "17"
        assert found.scroll_offset.y <= 17 < found.scroll_offset.y + HEIGHT


async def test_a_list_that_is_as_high_as_its_lines_grows_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(2)) as (pilot, found, canvas):
        found.set_classes("auto")
        await pilot.pause()
        for count, height in ((3, 3), (20, 5), (40, 5), (1, 1)):
            found.set_picks(many(count))
            await pilot.pause()
            assert found.size.height == height
            assert canvas.at(found.region) == drawn_anew(found)


# The pointer


async def test_a_click_moves_the_cursor_and_picks(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20, headings=(0,), gaps=(2,))) as (pilot, found, _):
        for y in (0, 2):
            await pilot.click(PickList, offset=(3, y))
            assert picked(pilot) == []
        await pilot.click(PickList, offset=(3, 4))
        assert found.current_key == "3"
        assert picked(pilot) == ["3"]
        await pilot.click(PickList, offset=(WIDTH - 1, 5))
        assert picked(pilot) == ["3"], "the scroll bar is no line"


@pytest.mark.parametrize("times", [2, 3])
async def test_clicks_in_a_row_select_no_text(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    async with shown(monkeypatch, many(3)) as (pilot, found, canvas):
        await pilot.click(PickList, offset=(3, 2), times=times)
        await pilot.pause()
        assert canvas.at(found.region) == drawn_anew(found)
        assert not pilot.app.screen.selections


async def test_the_line_under_the_pointer_is_lit(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20, headings=(3,))) as (pilot, found, canvas):
        plain = ground_of(canvas, found, 2)
        await pilot.hover(PickList, offset=(3, 2))
        assert [ground_of(canvas, found, y) for y in range(4)] == [YELLOW, plain, GREEN, plain]
        await pilot.hover(PickList, offset=(3, 3))
        assert [ground_of(canvas, found, y) for y in range(4)] == [YELLOW, plain, plain, plain], "a heading is not"
        await pilot.hover(PickList, offset=(3, 0))
        assert ground_of(canvas, found, 0) == YELLOW, "the cursor stays what it is"
        await pilot.hover(PickList, offset=(3, 1))
        await pilot.hover(Button)
        assert ground_of(canvas, found, 1) == plain


# What is drawn again


async def test_moving_the_cursor_draws_two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(20)) as (pilot, found, _):
        asked: list[int] = []
        draw = found.draw_line

        def noted(y: int, first: Any, body: Any) -> Any:
            asked.append(y)
            return draw(y, first, body)

        monkeypatch.setattr(found, "draw_line", noted)
        await pilot.press("down")
        assert sorted(asked) == [0, 1]
        asked.clear()
        found.set_picks([*many(4), a_pick("4", "other"), *many(20)[5:]])
        await pilot.pause()
        assert asked == [4]
        asked.clear()
        found.set_picks(found.picks)
        await pilot.pause()
        assert asked == []


async def test_lines_that_are_gone_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch) as (pilot, found, canvas):
        for at in range(30):
            found.set_picks([a_pick("a", f"{at}"), a_pick("b", f"{at + 100}")])
            await pilot.pause()
        assert len(found._strips) <= 2 * 2 + HEIGHT + HEIGHT
        assert canvas.at(found.region) == drawn_anew(found)


@pytest.mark.parametrize("seed", range(5))
async def test_whatever_is_done_the_terminal_shows_what_the_list_says(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    async with shown(monkeypatch, many(12, headings=(0, 5), gaps=(5,))) as (pilot, found, canvas):
        for _ in range(40):
            done = chance.choice(("key", "key", "key", "picks", "hover", "click", "wheel", "theme", "focus", "size"))
            match done:
                case "key":
                    await pilot.press(*chance.choices(("up", "down", "pageup", "pagedown", "home", "end"), k=2))
                case "picks":
                    count = chance.choice((0, 3, 12, 40))
                    heads = chance.sample(range(count + 1), min(count, 2))
                    found.set_picks(
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
                    found.scroll_relative(y=chance.choice((-3, 3)), animate=False, immediate=True)
                case "theme":
                    pilot.app.theme = chance.choice(("textual-dark", "textual-light"))
                case "focus":
                    (found if chance.random() < 0.7 else pilot.app.screen.query_one(Button)).focus()
                case "size":
                    found.set_classes(chance.choice(("", "", "wide", "narrow")))
            await pilot.pause()
            assert canvas.at(found.region) == drawn_anew(found), done
            assert canvas.rows == Canvas(pilot.app.screen._compositor.render_strips()).rows, done


async def test_a_line_drawn_before_the_new_width_is_heard_of_has_that_width(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, many(3)) as (_, found, _):
        for width in (34, 12, WIDTH - 1):
            assert found.draw_line(1, 0, Size(width, HEIGHT)).cell_length == width
