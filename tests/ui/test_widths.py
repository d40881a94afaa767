from __future__ import annotations

from collections.abc import Sequence

from karptui.clock import FrozenClock
from karptui.screens.registry import ENTRIES
from karptui.views.row import Cell
from karptui.widgets.key_line import KeyLine
from karptui.widgets.row_table.layout import Placed, text_width
from karptui.widgets.row_table.table import RowTable
from karptui.widgets.titled_pane import StoryLines
from tests.ui.fleet import NOW_NS, screen_text
from tests.ui.stage import demo_app, layout_of, press, running, settled

SIZES = ((80, 24), (120, 40), (200, 60))
SMALL = SIZES[:2]


def drawn(cell: Cell, placed: Placed) -> str:
    """Return the text that the table draws: the long form if the column uses it and it fits."""
    is_short = cell.short and (not placed.is_long or text_width(cell.text) > placed.width)
    return cell.short if is_short else cell.text


def cells_of(table: RowTable) -> list[Sequence[Cell]]:
    """Return the cells of every column, visible or not."""
    return [*zip(*(table.rows[index].cells for index in range(len(table.rows))), strict=True)]


def cut(cells: Sequence[Cell], placed: Placed) -> list[str]:
    """Return the cut texts of a column."""
    return [text for text in (drawn(cell, placed) for cell in cells) if text_width(text) > placed.width]


def needed(title: str, cells: Sequence[Cell], placed: Placed) -> int:
    """Return the width that a column needs for its title with an arrow, its bars, and all its rows."""
    if placed.bar_width:
        return placed.width
    return max(text_width(title) + 1, *(text_width(drawn(cell, placed)) for cell in cells))


def cut_for_nothing(table: RowTable) -> list[str]:
    """Return texts that are cut although there are unused cells at the edge or in other columns."""
    layout, cells, headings = layout_of(table), cells_of(table), table.headings
    blank = max(table.scrollable_content_region.width - layout.width, 0)
    wanted = (needed(headings[placed.index].title, cells[placed.index], placed) for placed in layout.columns)
    free = blank + sum(max(placed.width - most, 0) for placed, most in zip(layout.columns, wanted, strict=True))
    return [
        f"{headings[placed.index].id} has {placed.width} cells, {free} are free: {text}"
        for placed in layout.columns
        for text in cut(cells[placed.index], placed)
        if free
    ]


async def test_no_row_is_cut_if_cells_are_free_and_why_is_never_cut() -> None:
    async with running(demo_app(FrozenClock(NOW_NS)), SIZES[0]) as (app, pilot):
        for entry in ENTRIES:
            await press(pilot, entry.key)
            table = app.screen.query_one(RowTable)
            assert len(table.rows), entry.name
            for size in SIZES:
                await pilot.resize_terminal(*size)
                assert cut_for_nothing(table) == [], (entry.name, size)
                if entry is ENTRIES[0] and size in SMALL:
                    assert_verdicts_are_whole(table)


def assert_verdicts_are_whole(table: RowTable) -> None:
    """Check that no cell of WHY is cut."""
    why = next(placed for placed in layout_of(table).columns if table.headings[placed.index].id == "why")
    cells = cells_of(table)[why.index]
    assert {"budget 0/2", "idle, due", "spot: 6/15 types"} <= {cell.text for cell in cells}
    assert cut(cells, why) == []
    assert why.x + why.width <= table.scrollable_content_region.width


async def test_the_verdict_is_wrapped_again_if_the_terminal_becomes_smaller() -> None:
    shown = []
    for size in SMALL[::-1]:
        async with running(demo_app(FrozenClock(NOW_NS)), size) as (app, pilot):
            await pilot.resize_terminal(*SIZES[0])
            await settled(pilot)
            shown.append(screen_text(app).partition("Nodes [")[0])
    assert shown[0] == shown[1]


async def test_texts_use_only_the_lines_that_rows_leave_free() -> None:
    async with running(demo_app(FrozenClock(NOW_NS)), (80, 40)) as (app, pilot):
        await press(pilot, "5")
        story, table = app.screen.query_one(StoryLines), app.screen.query_one(RowTable)
        assert "kube-scheduler" in screen_text(app)
        assert table.outer_size.height >= len(table.rows) + 2
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        assert story.outer_size.height <= 10
        await press(pilot, "enter")
        for height in (60, 40):
            await pilot.resize_terminal(120, height)
            await settled(pilot)
            assert app.screen.query_one(KeyLine).region.bottom == height
