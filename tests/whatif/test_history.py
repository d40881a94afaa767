"""Undo and redo."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from karptui.whatif.sheet import TYPING, History


def test_steps_go_back_and_on_again() -> None:
    history = History("a").push("b", "weight").push("c", "limit")
    back = history.undo()
    assert back is not None
    assert (back[0].present, back[1]) == ("b", "limit")
    again = back[0].redo()
    assert again is not None
    assert (again[0], again[1]) == (history, "limit")
    assert history.redo() is None
    assert History("a").undo() is None


def test_keys_that_follow_each_other_are_one_step() -> None:
    history = History("").push("a", TYPING).push("ab", TYPING).push("ab!", "weight").push("ab!c", TYPING)
    result = []
    while (moved := history.undo()) is not None:
        history, why = moved
        result.append((history.present, why))
    assert result == [("ab!", TYPING), ("ab", "weight"), ("", TYPING)]


@given(st.lists(st.tuples(st.integers(), st.sampled_from(["a", "b"])), max_size=8))
def test_undoing_everything_and_doing_it_again_changes_nothing(steps: list[tuple[int, str]]) -> None:
    history = History(-1)
    for state, why in steps:
        history = history.push(state, why)
    moved, count = history, 0
    while (back := moved.undo()) is not None:
        moved, count = back[0], count + 1
    assert moved.present == -1
    for _ in range(count):
        forward = moved.redo()
        assert forward is not None
        moved = forward[0]
    assert moved == history
