from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from karptui.widgets.row_table.canvas import Cursor


def test_the_cursor_follows_its_key() -> None:
    cursor = Cursor()
    assert cursor.key is None
    cursor.replace(("a", "b", "c"))
    assert cursor.move_to(1)
    assert not cursor.move_to(1)
    assert cursor.replace(("x", "a", "b", "c")) == 1
    assert cursor.key == "b"
    assert cursor.replace(("b", "c")) == -2


def test_a_row_that_goes_leaves_the_cursor_at_its_place() -> None:
    cursor = Cursor()
    cursor.replace(("a", "b", "c"))
    cursor.move_to(2)
    cursor.replace(("a", "b"))
    assert cursor.key == "b"
    cursor.replace(())
    assert cursor.key is None
    cursor.replace(("q",))
    assert cursor.key == "q"


def test_until_somebody_moves_it_the_cursor_stays_on_the_first_row() -> None:
    cursor = Cursor()
    cursor.replace(("m",))
    cursor.replace(("a", "m"))
    assert cursor.key == "a"


def test_marks_go_with_their_rows() -> None:
    cursor = Cursor()
    cursor.toggle_mark()
    cursor.replace(("a", "b"))
    cursor.toggle_mark()
    assert cursor.move_to_key("b")
    assert not cursor.move_to_key("z")
    cursor.toggle_mark()
    assert cursor.marked == {"a", "b"}
    cursor.replace(("b",))
    assert cursor.marked == {"b"}
    cursor.toggle_mark()
    assert cursor.marked == frozenset()


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True)), st.integers(-2, 9))
def test_the_cursor_is_always_inside(lists: list[list[str]], target: int) -> None:
    cursor = Cursor()
    for keys in lists:
        before = cursor.key
        cursor.replace(tuple(keys))
        assert 0 <= cursor.index < max(len(keys), 1)
        if cursor.has_moved and before in keys:
            assert cursor.key == before
        cursor.move_to(target)
        assert 0 <= cursor.index < max(len(keys), 1)
