"""Answers that are let go when nobody asks for them any more."""

from __future__ import annotations

import gc
import weakref

import pytest

from karptui.kube.recent import Recent


class Answer:
    """Something that can be watched."""


def test_an_answer_is_made_once_for_keys_that_are_equal() -> None:
    recent: Recent[object, Answer] = Recent(most=2, patience=9)
    first = recent.get({"a": 1}, Answer)
    assert recent.get({"a": 1}, Answer) is first
    assert recent.get({"a": 2}, Answer) is not first
    assert recent.get({"a": 1}, Answer) is first


def test_no_more_are_kept_than_that_and_the_oldest_goes() -> None:
    recent: Recent[str, Answer] = Recent(most=2, patience=99)
    first, second = recent.get("a", Answer), recent.get("b", Answer)
    assert recent.get("a", Answer) is first
    third = recent.get("c", Answer)
    assert set(recent.values()) == {first, third}
    assert recent.get("b", Answer) is not second


@pytest.mark.parametrize("most", [2, 16])
def test_what_nobody_asks_for_is_let_go(most: int) -> None:
    recent: Recent[str, Answer] = Recent(most=most, patience=3)
    watched = weakref.ref(recent.get("old", Answer))
    for _ in range(3):
        recent.get("new", Answer)
    gc.collect()
    assert watched() is not None
    recent.get("new", Answer)
    gc.collect()
    assert watched() is None, "the question after the last that it was kept for lets it go"
    assert len(recent.values()) == 1
