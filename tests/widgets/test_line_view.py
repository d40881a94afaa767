from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color
from rich.style import Style
from textual.pilot import Pilot
from textual.scrollbar import ScrollBarRender

from karptui.views.row import Tone
from karptui.widgets.line_view import ScrollColumn, Thumb
from karptui.widgets.pick_list import Line, LineList
from karptui.widgets.row_table import RowTable
from tests.widgets.harness import WidgetApp
from tests.widgets.test_row_table import SPEC, many

BAR, BACK = Color.parse("#ff0000"), Color.parse("#000000")
WIDTH = 40


@given(st.integers(1, 80), st.integers(1, 200_000), st.floats(0, 1))
def test_the_bar_is_textuals_own(height: int, more: int, share: float) -> None:
    total = height + more
    position = int(share * more)
    segments = ScrollBarRender.render_bar(height, total, height, position, 1, True, BACK, BAR).segments
    column = ScrollColumn.draw(Thumb.of(height, total, position), Style(color=BAR, bgcolor=BACK))
    for y, theirs in enumerate(segments):
        ours = column.cell(y)
        assert theirs.style is not None
        assert ours.style is not None
        assert (ours.text, bool(ours.style.reverse)) == (theirs.text, bool(theirs.style.reverse))


@pytest.mark.parametrize(("height", "total"), [(0, 5), (5, 5), (5, 3)])
def test_no_thumb_where_everything_is_seen(height: int, total: int) -> None:
    assert Thumb.of(height, total, 0) is None
    column = ScrollColumn.draw(None, Style(color=BAR, bgcolor=BACK))
    assert column.cell(0) == column.empty


async def rows_in_view(pilot: Pilot[None], table: RowTable) -> None:
    table.set_rows(many(100))
    table.focus()
    await pilot.pause()


async def test_the_scroll_bar_pages_and_drags() -> None:
    table = RowTable(SPEC.headings())
    async with WidgetApp(table).run_test(size=(WIDTH, 12)) as pilot:
        await rows_in_view(pilot, table)
        await pilot.click(table, offset=(WIDTH - 1, 11))
        assert table.scroll_offset.y == 11
        await pilot.click(table, offset=(WIDTH - 1, 1))
        assert table.scroll_offset.y == 0
        assert table.cursor_index == 0, "the reader did not choose a row"
    table = RowTable(SPEC.headings())
    async with WidgetApp(table).run_test(size=(WIDTH, 12)) as pilot:
        await rows_in_view(pilot, table)
        await pilot.mouse_down(table, offset=(WIDTH - 1, 1))
        await pilot.hover(table, offset=(WIDTH - 1, 6))
        assert table.scroll_offset.y == pytest.approx(5 * 101 / 11, abs=1)
        await pilot.mouse_up(table, offset=(WIDTH - 1, 6))
        scrolled_to = table.scroll_offset.y
        await pilot.hover(table, offset=(WIDTH - 1, 2))
        assert table.scroll_offset.y == scrolled_to


def a_line(key: str, *, is_heading: bool = False) -> Line:
    return Line(key, ((f"line {key}", Tone.NORMAL),), is_heading)


async def test_enter_opens_lines_that_are_no_headings_and_a_key_is_listed_once() -> None:
    app = WidgetApp(lines := LineList())
    async with app.run_test() as pilot:
        lines.focus()
        lines.show_lines((a_line("head", is_heading=True), a_line("a"), a_line("tail", is_heading=True), a_line("b")))
        await pilot.press("enter", "j", "enter", "g", "enter")
        assert app.heard == [LineList.Opened("a"), LineList.Opened("b"), LineList.Opened("a")]
        lines.show_lines((a_line("x"), a_line("x")))
        assert [pick.key for pick in lines.picks] == ["x"]
