from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content
from textual.style import Style
from textual.visual import RenderOptions

from karptui.views.column import Heading
from karptui.views.row import Bar, Cell, Row
from karptui.widgets.row_table.layout import EMPTY, Widths, fit, measure
from karptui.widgets.sentences import Beside
from karptui.widgets.titled_pane import fitted_title

NAME = Heading("name", "NAME", min_width=6, max_width=30)
POOL = Heading("pool", "POOL", min_width=5, drop_order=2)
CPU = Heading("cpu", "CPU", min_width=9, fill_width=20)
AGE = Heading("age", "AGE", min_width=3, drop_order=1, is_right_aligned=True)
ARCH = Heading("arch", "ARCH", is_wide_only=True)
HEADINGS = (NAME, POOL, CPU, AGE, ARCH)
WIDTHS = (Widths(20, 8), Widths(8, 8), Widths(12, 4, has_bar=True), Widths(4, 4), Widths(5, 5))
OPTIONS = RenderOptions(lambda _: Style.null(), {})


def drawn(available: int, **given: object) -> list[tuple[str, int, bool]]:
    layout = fit(HEADINGS, WIDTHS, available, **given)  # type: ignore[arg-type]  # handed on as they came
    assert layout.width <= available or given.get("is_wide")
    return [(HEADINGS[placed.index].id, placed.width, placed.is_long) for placed in layout.columns]


LONG_POOL, LONG_AGE = ("pool", 8, True), ("age", 4, True)


@pytest.mark.parametrize(("available", "expected"), [
    pytest.param(120, [("name", 20, True), LONG_POOL, ("cpu", 21, True), LONG_AGE], id="the bar grows"),
    pytest.param(50, [("name", 20, True), LONG_POOL, ("cpu", 13, False), LONG_AGE], id="one short form"),
    pytest.param(36, [("name", 8, False), LONG_POOL, ("cpu", 11, False), LONG_AGE], id="short forms"),
    pytest.param(30, [("name", 6, False), ("pool", 6, False), ("cpu", 9, False), LONG_AGE], id="cut to the least"),
    pytest.param(27, [("name", 8, False), ("cpu", 11, False), LONG_AGE], id="one dropped"),
    pytest.param(20, [("name", 8, False), ("cpu", 9, False)], id="two dropped, in their order"),
])  # fmt: skip
def test_columns_are_shortened_then_cut_then_dropped(available: int, expected: list[tuple[str, int, bool]]) -> None:
    assert drawn(available) == expected


def test_texts_are_cut_before_numbers_and_get_spare_cells() -> None:
    node = Heading("node", "NODE", min_width=12)
    for available, widths in ((60, [12, 20]), (32, [9, 20]), (30, [7, 20]), (29, [7, 19])):
        layout = fit((node, NAME), (Widths(7, 7), Widths(20, 20)), available)
        assert [placed.width for placed in layout.columns] == widths
    memory = Heading("mem", "MEM", min_width=4, is_right_aligned=True)
    layout = fit((NAME, memory, POOL), (Widths(20, 20), Widths(7, 7), Widths(8, 8)), 24)
    assert [(placed.index, placed.width) for placed in layout.columns] == [(0, 7), (1, 7), (2, 6)]


def test_the_wide_layout_drops_nothing_and_cuts_nothing() -> None:
    layout = fit(HEADINGS, WIDTHS, 30, is_wide=True)
    assert [HEADINGS[placed.index].id for placed in layout.columns] == ["name", "pool", "cpu", "age", "arch"]
    assert [placed.width for placed in layout.columns] == [8, 8, 9, 4, 5]
    assert layout.width > 30


def test_the_sorted_column_has_room_for_its_arrow() -> None:
    widths = (Widths(4, 4), Widths(4, 4))
    headings = (NAME, Heading("pods", "PODS"))
    assert fit(headings, widths, 80, sorted_id="pods").columns[1].width == 5


def test_a_bar_smaller_than_its_minimum_is_left_out() -> None:
    heading = Heading("pods", "PODS", min_width=5, bar_min=0)
    assert fit((heading,), (Widths(6, 6, has_bar=True),), 8).columns[0].bar_width == 0
    heading = Heading("pods", "PODS", min_width=5, fill_width=20, bar_min=0)
    assert fit((heading,), (Widths(6, 6, has_bar=True),), 40).columns[0].bar_width == 13
    assert fit(HEADINGS, WIDTHS, 120).columns[2].bar_width == 21 - 12 - 1


def test_measured_widths_are_the_maximum_in_cells() -> None:
    rows = [Row("a", (Cell("節点", short="ab"), Cell("1", bar=Bar(0, 1, 2)))), Row("b", (Cell("abc"), Cell("")))]
    assert measure(rows, 2) == (Widths(4, 3), Widths(1, 1, has_bar=True))
    assert measure(rows, 2, (Widths(9, 1), Widths())) == (Widths(9, 3), Widths(1, 1, has_bar=True))


NUMBERS = (Heading("name", "NAME"), *(Heading(name, name.upper(), is_right_aligned=True) for name in "abc"))
"""In a wide layout these columns occupy cells 0-11, 13-22, 24-33 and 35-44."""


def test_scrolling_goes_from_column_to_column() -> None:
    layout = fit(NUMBERS, (Widths(10, 10),) * 4, 24, is_wide=True)
    assert [placed.x for placed in layout.columns] == [2, 13, 24, 35]
    assert (layout.frozen_width, layout.width) == (13, 45)
    assert layout.scrolled_by(0, 1, 24) == 11
    assert layout.scrolled_by(11, 1, 24) == 22
    assert layout.scrolled_by(22, 1, 24) == 22
    assert layout.scrolled_by(22, -1, 24) == 11
    assert layout.scrolled_by(11, -1, 24) == 0
    assert layout.scrolled_by(0, -1, 24) == 0
    assert EMPTY.scrolled_by(0, 1, 24) == 0
    assert layout.scrolled_by(11, 1, 20) == 22
    assert layout.last_offset(15) == 30


def test_numbers_that_do_not_fit_at_the_edge_are_hidden() -> None:
    layout = fit(NUMBERS, (Widths(10, 10),) * 4, 24, is_wide=True)
    assert layout.whole_until(0, 30) == 24
    assert layout.whole_until(0, 23) == 23
    assert layout.whole_until(11, 20) == 13
    assert layout.whole_until(0, 45) == 45


@given(
    st.lists(
        st.tuples(st.integers(1, 20), st.integers(1, 40), st.integers(0, 3), st.booleans(), st.booleans()),
        min_size=1,
        max_size=8,
    ),
    st.integers(20, 220),
)
def test_no_cell_is_cut_if_there_are_spare_cells(
    columns: list[tuple[int, int, int, bool, bool]], available: int
) -> None:
    headings = [
        Heading(str(at), "T", min_width=3, max_width=60, drop_order=drop, is_right_aligned=is_right)
        for at, (_, _, drop, is_right, _) in enumerate(columns)
    ]
    widths = [Widths(short + more, short) for short, more, _, _, _ in columns]
    layout = fit(headings, widths, available)
    spare = available - layout.width
    for placed in layout.columns:
        width = widths[placed.index]
        assert placed.width >= (width.text if placed.is_long else width.short) or spare <= 0
        assert placed.is_long or width.text - placed.width > spare


@pytest.mark.parametrize(("width", "expected"), [
    (21, " abc ─ 界 · def · gh "),
    (20, " abc ─ 界 · def "),
    (16, " abc ─ 界 · def "),
    (15, " abc ─ 界 "),
    (5, " abc ─ 界 · def · gh "),
    (-4, " abc ─ 界 · def · gh "),
])  # fmt: skip
def test_a_title_shows_only_the_parts_that_fit(width: int, expected: str) -> None:
    content = fitted_title(Content(" abc ─ 界 · def · gh "), width)
    assert content.plain == expected


def lines(beside: Beside, width: int) -> list[str]:
    strips = beside.render_strips(width, None, Style.null(), OPTIONS)
    return [strip.text.rstrip() for strip in strips]


def beside(title: str, detail: str) -> Beside:
    return Beside(Content(title), Content(detail))


@pytest.mark.parametrize(
    ("title", "detail", "width", "expected"),
    [
        ("weight", "of the pool", 40, ["weight  of the pool"]),
        ("weight", "", 40, ["weight"]),
        ("weight", "pools of more weight are tried first, then those of less", 38,
         ["weight  pools of more weight are tried", "        first, then those of less"]),
        ("ab", "the first of words that are wrapped", 30, ["ab  the first of words that", "    are wrapped"]),
        ("日本", "the first of words that are wrapped here", 30,
         ["日本  the first of words that", "      are wrapped here"]),
        ("a very long title of a choice", "short", 40, ["a very long title of a choice  short"]),
        ("a very long title of a choice", "which leaves too little room for the detail beside it", 40,
         ["a very long title of a choice", "    which leaves too little room for the", "    detail beside it"]),
    ],
)  # fmt: skip
def test_details_are_wrapped_in_their_own_column(title: str, detail: str, width: int, expected: list[str]) -> None:
    assert lines(beside(title, detail), width) == expected


words = st.lists(st.text("abcdé日", min_size=1, max_size=9), max_size=12).map(" ".join)


@given(words, words, st.integers(8, 60))
def test_all_text_is_shown_and_the_height_is_correct(title: str, detail: str, width: int) -> None:
    result = beside(title, detail)
    strips = result.render_strips(width, None, Style.null(), OPTIONS)
    assert len(strips) == result.get_height({}, width)
    assert all(strip.cell_length <= width for strip in strips)
    shown = "".join(strip.text for strip in strips).replace(" ", "")
    assert shown == f"{title}{detail}".replace(" ", "")
    assert result.get_optimal_width({}, width) == cell_len(str(result))
    assert len(result.render_strips(width, 1, Style.null(), OPTIONS)) == 1
