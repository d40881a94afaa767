from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from karptui.views.row import Tone
from karptui.widgets.plain import hanging


def broken(text: str, width: int, indent: int = 0) -> list[str]:
    first, between, rest = text.partition(" · ")
    pieces = tuple((part, Tone.NORMAL) for part in (first, between, rest))
    return ["".join(word for word, _ in line).rstrip() for line in hanging((pieces,), width, indent)]


@pytest.mark.parametrize(
    ("text", "width", "indent", "expected"),
    [
        pytest.param("node abc · of def", 10, 0, ["node abc ·", "of def"], id="a separator that fits stays"),
        pytest.param("node abcd · of def", 10, 0, ["node abcd", "of def"], id="one that does not is the break itself"),
        pytest.param("node abcd · of def", 9, 0, ["node abcd", "of def"], id="where the line is full"),
        pytest.param("nodes abcdef · of", 13, 2, ["nodes abcdef", "  of"], id="and what follows is set in"),
        pytest.param("node abcd ·", 9, 0, ["node abcd"], id="nothing behind it leaves no empty line"),
        pytest.param("a · b", 0, 0, ["a · b"], id="no width yet"),
        pytest.param("", 10, 0, [""], id="an empty line"),
        pytest.param("is team.io/role=web now", 12, 0, ["is team.io/", "role=web now"], id="a label between its parts"),
        pytest.param("is team.io/role=web", 9, 0, ["is", "team.io/", "role=web"], id="in a line of its own"),
        pytest.param("spot,on-demand,x", 13, 2, ["spot,", "  on-demand,x"], id="a list between its items"),
        pytest.param("abcdefghijkl a", 10, 0, ["abcdefghijkl", "a"], id="a word without parts stays whole"),
    ],
)
def test_no_line_begins_with_a_separator(text: str, width: int, indent: int, expected: list[str]) -> None:
    assert broken(text, width, indent) == expected


@given(st.lists(st.text("ab界", min_size=1, max_size=6), min_size=1, max_size=14), st.integers(12, 40))
def test_lines_keep_their_words_and_their_width(words: list[str], width: int) -> None:
    lines = broken(" · ".join(words), width)
    assert all(cell_len(line) <= width for line in lines)
    assert not any(line.lstrip().startswith("·") for line in lines)
    assert [word for line in lines for word in line.split() if word != "·"] == words
