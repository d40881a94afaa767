"""A text beside another stays in its own column, and below where that would be too narrow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content
from textual.style import Style
from textual.visual import RenderOptions

from karptui.widgets.sentences import Beside

OPTIONS = RenderOptions(lambda _: Style.null(), {})


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
def test_details_hang_in_their_column(title: str, detail: str, width: int, expected: list[str]) -> None:
    assert lines(beside(title, detail), width) == expected


words = st.lists(st.text("abcdé日", min_size=1, max_size=9), max_size=12).map(" ".join)


@given(words, words, st.integers(8, 60))
def test_nothing_is_lost_and_the_height_is_as_said(title: str, detail: str, width: int) -> None:
    result = beside(title, detail)
    strips = result.render_strips(width, None, Style.null(), OPTIONS)
    assert len(strips) == result.get_height({}, width)
    assert all(strip.cell_length <= width for strip in strips)
    shown = "".join(strip.text for strip in strips).replace(" ", "")
    assert shown == f"{title}{detail}".replace(" ", "")
    assert result.get_optimal_width({}, width) == cell_len(str(result))
    assert len(result.render_strips(width, 1, Style.null(), OPTIONS)) == 1
