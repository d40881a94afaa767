from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from karptui.views.sanitize import LIMIT, clean, clean_lines


@pytest.mark.parametrize(("hostile", "shown"), [
    ("ip-10-0-0-1", "ip-10-0-0-1"),
    ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
    ("a\nb\r\nc\td", "a⏎b⏎c d"),
    ("\x07bell\x7f", "␇bell␡"),
    ("\x9b31mred", "�31mred"),
    ("abc\u202edef\u2066x", "abc�def�x"),
    ("zero\u200bwidth\ufeff\u00ad", "zerowidth"),
    ("line\u2028sep\x85", "line⏎sep⏎"),
    ("no\u00a0break\u3000wide", "no break wide"),
    ("\ud800lone", "�lone"),
    ("e\u0301\u0301\u0301\u0301", "e\u0301\u0301"),
    ("heart\u2764\ufe0f", "heart\u2764"),
    ("[bold]node[/] 節点 עברית", "[bold]node[/] 節点 עברית"),
])  # fmt: skip
def test_what_a_terminal_would_act_on_is_made_visible(hostile: str, shown: str) -> None:
    assert clean(hostile) == shown


def test_a_huge_text_costs_no_more_than_its_limit() -> None:
    assert clean("x" * 10_000_000) == "x" * (LIMIT - 1) + "…"
    assert clean("abcdef", limit=4) == "abc…"


def test_lines_stay_lines_and_tabs_become_blanks() -> None:
    assert clean_lines("a\r\n\tb\x1b\nc") == ["a", "    b␛", "c"]


@given(st.text(alphabet=st.characters(), max_size=60))
def test_nothing_that_steers_a_terminal_survives(text: str) -> None:
    shown = clean(text)
    shown.encode()
    assert clean(shown) == shown
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in shown)
    assert cell_len(shown) == sum(map(cell_len, shown))
