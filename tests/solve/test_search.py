from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import combinations
from math import comb
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from karptui.solve.search import Chosen, Sets, highest_good, search_sets

ItemT = TypeVar("ItemT")
FoundT = TypeVar("FoundT")


def of_each(result: Callable[[ItemT], FoundT]) -> Callable[[Iterable[ItemT]], Iterable[FoundT]]:
    """Return a function that answers many items as workers do: it takes a few before it answers the first."""

    def items_tried(items: Iterable[ItemT]) -> Iterable[FoundT]:
        ahead = deque[ItemT]()
        for item in items:
            ahead.append(item)
            if len(ahead) > 3:
                yield result(ahead.popleft())
        yield from map(result, ahead)

    return items_tried


@given(st.integers(1, 300), st.integers(-1, 299))
def test_bisection_finds_the_highest_good_value(count: int, last: int) -> None:
    asked: list[int] = []

    def is_good(position: int) -> bool:
        asked.append(position)
        return position <= last

    line = highest_good(count, of_each(is_good), most=count)
    assert line.highest == (min(last, count - 1) if last >= 0 else None)
    assert line.is_monotone
    assert sorted(asked) == list(line.tried)
    assert len(asked) == len(set(asked)) <= 8 + 8 + 9


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_all_values_are_tried_if_they_are_not_monotone(good: list[bool]) -> None:
    line = highest_good(len(good), of_each(good.__getitem__), most=len(good))
    linear = max((position for position, is_one in enumerate(good) if is_one), default=None)
    if line.is_monotone:
        # The tried values are monotone, so the answer is the highest good one.
        assert line.highest is None or good[line.highest]
        assert all(good[position] is (line.highest is not None and position <= line.highest) for position in line.tried)
    else:
        assert line.highest == linear
        assert line.tried == tuple(range(len(good)))


@given(st.lists(st.booleans(), min_size=1, max_size=16))
def test_few_values_are_all_tried(good: list[bool]) -> None:
    line = highest_good(len(good), of_each(good.__getitem__), most=16)
    if len(line.tried) == len(good):
        assert line.highest == max((position for position, is_one in enumerate(good) if is_one), default=None)


def test_of_many_values_a_sample_is_tried_and_the_edge_is_searched() -> None:
    def is_good(position: int) -> bool:
        return position < 10 or 500 <= position <= 733

    line = highest_good(1000, of_each(is_good), most=20)
    assert line.highest == 733
    assert not line.is_monotone
    assert len(line.tried) < 60


def all_sets(count: int, largest: int) -> list[Chosen]:
    return [combination for size in range(1, largest + 1) for combination in combinations(range(count), size)]


def noting(tried: list[Chosen]) -> Callable[[Chosen], int]:
    def value(chosen: Chosen) -> int:
        tried.append(chosen)
        return len(chosen)

    return value


@given(st.integers(0, 6), st.integers(1, 4), st.data())
def test_every_set_is_tried_if_the_limit_allows_it(count: int, largest: int, data: st.DataObject) -> None:
    sets = all_sets(count, min(largest, count))
    excluded = set(data.draw(st.lists(st.sampled_from(sets), unique=True))) if sets else set()
    tried: list[Chosen] = []
    result = search_sets(count, largest, len(sets), of_each(noting(tried)), excluded.__contains__)
    assert tried == [numbers for numbers in sets if numbers not in excluded]
    assert result == Sets(len(tried), len(tried))


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=12), st.integers(1, 3), st.integers(1, 40))
def test_the_limit_is_kept_and_additive_gains_are_found(worth: list[int], largest: int, most: int) -> None:
    tried: list[Chosen] = []

    def value(chosen: Chosen) -> int:
        tried.append(chosen)
        return -sum(worth[number] for number in chosen)

    sets = search_sets(len(worth), largest, most, of_each(value), lambda _: False)
    assert len(tried) == len(set(tried)) == sets.tried <= most
    assert sets.all == sum(comb(len(worth), size) for size in range(1, largest + 1))
    if most >= len(worth) + 2 * len(worth) * 6:
        best = max(sum(worth[number] for number in chosen) for chosen in all_sets(len(worth), largest))
        assert max(sum(worth[number] for number in chosen) for chosen in tried) == best


def test_excluded_sets_do_not_count_towards_the_limit() -> None:
    tried: list[Chosen] = []
    sets = search_sets(6, 2, 3, of_each(noting(tried)), lambda numbers: sum(numbers) % 2 == 1, listed=100)
    assert tried == [(0,), (2,), (4,)]
    assert sets == Sets(3, sum(sum(numbers) % 2 == 0 for numbers in all_sets(6, 2)))
