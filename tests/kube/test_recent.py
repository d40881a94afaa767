from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from karptui.kube.recent import Recent

SECONDS = 60.0


class Answer:
    """An object that allows weak references."""


def test_an_answer_is_computed_once_for_equal_keys() -> None:
    recent: Recent[object, Answer] = Recent(most=2, patience=9)
    first = recent.get({"a": 1}, Answer)
    assert recent.get({"a": 1}, Answer) is first
    assert recent.get({"a": 2}, Answer) is not first
    assert recent.get({"a": 1}, Answer) is first


@pytest.mark.parametrize("most", [2, 16])
def test_unused_answers_are_dropped(most: int) -> None:
    recent: Recent[str, Answer] = Recent(most=most, patience=3)
    watched = weakref.ref(recent.get("old", Answer))
    for _ in range(3):
        recent.get("new", Answer)
    gc.collect()
    assert watched() is not None
    recent.get("new", Answer)
    gc.collect()
    assert watched() is None, "the answer was kept after its patience was over"
    assert len(recent.values()) == 1


def test_threads_that_ask_at_once_get_one_answer() -> None:
    recent: Recent[str, Answer] = Recent(most=4, patience=9)
    is_making, may_end = threading.Event(), threading.Event()
    result: list[Answer] = []

    def make() -> Answer:
        is_making.set()
        assert may_end.wait(SECONDS)
        result.append(Answer())
        return result[-1]

    def ask_while_one_makes() -> Answer:
        assert is_making.wait(SECONDS)
        asked.set()
        return recent.get("key", make)

    asked = threading.Event()
    with ThreadPoolExecutor(2) as threads:
        answers = [threads.submit(recent.get, "key", make), threads.submit(ask_while_one_makes)]
        assert asked.wait(SECONDS)
        may_end.set()
        assert [future.result(SECONDS) for future in answers] == [*result, *result]
    assert len(result) == 1


def test_cached_answers_are_returned_while_another_is_computed() -> None:
    recent: Recent[str, Answer] = Recent(most=4, patience=9)
    answer = recent.get("known", Answer)

    def make() -> Answer:
        with ThreadPoolExecutor(1) as other:
            assert other.submit(recent.get, "known", Answer).result(SECONDS) is answer
        return Answer()

    assert recent.get("new", make) is not answer
