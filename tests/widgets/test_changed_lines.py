"""Texts become others by replacing lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.widgets.yaml_editor.changed_lines import ChangedLines, changed_lines

LINES = st.lists(st.sampled_from("abc"), min_size=1, max_size=7)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["a", "b", "c"], ["a", "x", "c"], ChangedLines(1, 1, ("x",))),
        (["a", "c"], ["a", "b", "c"], ChangedLines(1, 1, ("b", "c"))),
        (["a", "b", "c"], ["a", "c"], ChangedLines(1, 2, ("c",))),
        ([""], ["a", "b"], ChangedLines(0, 0, ("a", "b"))),
        (["a", "b"], [""], ChangedLines(0, 1, ("",))),
    ],
)
def test_what_is_replaced(before: list[str], after: list[str], expected: ChangedLines) -> None:
    assert changed_lines(before, after) == expected


@given(LINES, LINES)
def test_one_text_becomes_the_other(before: list[str], after: list[str]) -> None:
    first, last, lines = changed_lines(before, after)
    assert lines
    assert first <= last
    assert [*before[:first], *lines, *before[last + 1 :]] == after
