"""Line wrapping measured in cells, and removal of control characters."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from karptui.views import wrapping
from karptui.views.row import Tone
from karptui.views.sanitize import LIMIT, clean, clean_lines
from karptui.views.wrapping import LEAST, hanging, wrapped, wrapped_below, wrapped_from
from tests.builders import text_of, texts_of


def broken(text: str, width: int, indent: int = 0) -> list[str]:
    first, between, rest = text.partition(" · ")
    pieces = tuple((part, Tone.NORMAL) for part in (first, between, rest))
    return [text_of(line).rstrip() for line in hanging((pieces,), width, indent)]


@pytest.mark.parametrize(("text", "width", "indent", "expected"), [
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
    pytest.param("abcdefghijkl a", 10, 0, ["abcdefghij", "kl a"], id="a word without parts where the line ends"),
])  # fmt: skip
def test_no_line_begins_with_a_separator(text: str, width: int, indent: int, expected: list[str]) -> None:
    assert broken(text, width, indent) == expected


@given(st.lists(st.text("ab界", min_size=1, max_size=6), min_size=1, max_size=14), st.integers(12, 40))
def test_lines_keep_their_words_and_their_width(words: list[str], width: int) -> None:
    lines = broken(" · ".join(words), width)
    assert all(cell_len(line) <= width for line in lines)
    assert not any(line.lstrip().startswith("·") for line in lines)
    assert [word for line in lines for word in line.split() if word != "·"] == words


def test_the_column_the_tail_and_the_tones_are_kept() -> None:
    line = ((" ! ", Tone.WARNING), ("one two three four five", Tone.NORMAL), (" six", Tone.STRONG))
    assert wrapped_from(line, 30, 3, 8) == (
        ((" ! ", Tone.WARNING), ("one two three four", Tone.NORMAL)),
        (("   five", Tone.NORMAL), (" six", Tone.STRONG)),
    )
    assert texts_of(wrapped_from(line, 5, 3, 8)) == texts_of(wrapped_from(line, 3 + 8 + LEAST, 3, 8))


def test_verbatim_text_is_clean_with_one_cell_per_character() -> None:
    plain = [char for char in map(chr, range(sys.maxunicode + 1)) if wrapping._PLAIN.fullmatch(char)]
    assert {*" ~·→…─✔✘"} <= {*plain}
    assert [char for char in plain if clean(char) != char or cell_len(char, "latest") != 1] == []


def test_a_line_that_fits_is_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result may have thousands of lines, so wrapping must be skipped cheaply."""
    monkeypatch.setattr(wrapping, "_words", None)
    line = (("    team-a/web-1: ", Tone.STRONG), ("n1 → a new m7i.large", Tone.NORMAL))
    assert wrapped_below(line, 38) == wrapped((line,), 38) == (line,)


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
def test_control_characters_are_made_visible(hostile: str, shown: str) -> None:
    assert clean(hostile) == shown


def test_a_huge_text_costs_no_more_than_its_limit() -> None:
    assert clean("x" * 10_000_000) == "x" * (LIMIT - 1) + "…"
    assert clean("abcdef", limit=4) == "abc…"


def test_lines_stay_lines_and_tabs_become_blanks() -> None:
    assert clean_lines("a\r\n\tb\x1b\nc") == ["a", "    b␛", "c"]


@given(st.text(alphabet=st.characters(), max_size=60))
def test_control_sequences_are_removed(text: str) -> None:
    shown = clean(text)
    shown.encode()
    assert clean(shown) == shown
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in shown)
    assert cell_len(shown) == sum(map(cell_len, shown))
