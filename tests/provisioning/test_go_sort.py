from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from karptui.provisioning.go_sort import _Sorter, go_least, go_sort

VECTORS = Path(__file__).resolve().parent.parent / "data" / "go-sort-vectors.txt.gz"


def test_orders_equal_keys_as_go_does() -> None:
    """Each line holds keys and the order in which Go's ``sort.Slice`` left them."""
    with gzip.open(VECTORS, "rt") as lines:
        for line in lines:
            _, keys, order = line.split(":")
            assert go_sort([int(key) for key in keys.split()]) == [int(index) for index in order.split()], line


@pytest.mark.parametrize(("keys", "order"), [
    ([], []),
    ([7], [0]),
    ([1, 0, *range(2, 60)], [1, 0, *range(2, 60)]),
    ([*range(1, 60), 0], [59, *range(59)]),
    ([2] + [1] * 13, [6, 12, 2, 3, 4, 5, 8, 13, 1, 9, 10, 11, 7, 0]),
    ([1] * 20, list(range(20))),
    ([3, 1, 2] * 5, [10, 1, 4, 13, 7, 2, 14, 5, 8, 11, 6, 9, 12, 0, 3]),
])  # fmt: skip
def test_small_examples(keys: list[int], order: list[int]) -> None:
    assert go_sort(keys) == order


def test_reverses_what_is_in_reverse_order() -> None:
    assert go_sort(range(100, 0, -1)) == list(range(99, -1, -1))


@pytest.mark.parametrize("keys", [[3, 1, 2] * 9, list(range(40)), [5] * 30])
def test_sorts_by_heap_once_its_budget_is_spent(keys: list[int]) -> None:
    sorter = _Sorter(keys)
    sorter.sort(0, len(keys), 0)
    assert sorter.keys == sorted(keys)
    assert [keys[index] for index in sorter.order] == sorter.keys


def test_the_least_elements_match_go() -> None:
    with gzip.open(VECTORS, "rt") as lines:
        for line in lines:
            _, keys, order = line.split(":")
            whole = [int(index) for index in order.split()]
            for count in (0, len(whole) // 3, len(whole)):
                assert set(go_least([int(key) for key in keys.split()], count)) == set(whole[:count]), line
