"""Go's ``sort.Slice``, which is not stable: the order of equal keys affects Karpenter's decisions.

Source: the pattern-defeating quicksort of Go's ``sort`` package (1.26).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

_INSERTION_MAX: Final = 12
_NINTHER_MIN: Final = 50
_MAX_EXCHANGES: Final = 12
_MAX_REPAIRS: Final = 5
_MASK_64: Final = (1 << 64) - 1


def go_sort(keys: Sequence[Any]) -> list[int]:
    """Return the indexes of ``keys`` in the order of Go's unstable sort."""
    return _Sorter(keys).sorted()


def go_least(keys: Sequence[Any], count: int) -> list[int]:
    """Return the indexes that come first in `go_sort`, in any order.

    Most of the work is saved, because ranges on one side of the cut need no sorting.
    """
    return _Sorter(keys, count).sorted()[:count]


class _Sorter:
    """Keys and their original indexes, moved together.

    Args:
        cut: Only determine which keys come before this position; -1 to sort everything.
    """

    __slots__ = ("cut", "keys", "order")

    def __init__(self, keys: Sequence[Any], cut: int = -1) -> None:
        self.keys = list(keys)
        self.order = list(range(len(keys)))
        self.cut = cut

    def sorted(self) -> list[int]:
        size = len(self.keys)
        self.sort(0, size, size.bit_length())
        return self.order

    def swap(self, i: int, j: int) -> None:
        keys, order = self.keys, self.order
        keys[i], keys[j] = keys[j], keys[i]
        order[i], order[j] = order[j], order[i]

    def less(self, i: int, j: int) -> bool:
        return bool(self.keys[i] < self.keys[j])

    def sort(self, a: int, b: int, budget: int) -> None:
        was_balanced = was_partitioned = True
        cut = self.cut
        while True:
            # Ranges are sorted independently, so a range that does not contain the cut can stay unsorted.
            if b <= cut or a >= cut >= 0:
                return
            length = b - a
            if length <= _INSERTION_MAX:
                self.insertion_sort(a, b)
                return
            if budget == 0:
                self.heap_sort(a, b)
                return
            if not was_balanced:
                self.scatter(a, b)
                budget -= 1
            pivot, exchanges = self.choose_pivot(a, b)
            if exchanges == _MAX_EXCHANGES:
                self.reverse(a, b)
                pivot, exchanges = (b - 1) - (pivot - a), 0
            if was_balanced and was_partitioned and exchanges == 0 and self.repair(a, b):
                return
            if a > 0 and not self.less(a - 1, pivot):
                a = self.partition_equal(a, b, pivot)
                continue
            middle, was_partitioned = self.partition(a, b, pivot)
            left, right = middle - a, b - middle
            if left < right:
                was_balanced = left >= length // 8
                self.sort(a, middle, budget)
                a = middle + 1
            else:
                was_balanced = right >= length // 8
                self.sort(middle + 1, b, budget)
                b = middle

    def insertion_sort(self, a: int, b: int) -> None:
        keys, order = self.keys, self.order
        for i in range(a + 1, b):
            key, index, j = keys[i], order[i], i
            while j > a and key < keys[j - 1]:
                keys[j], order[j] = keys[j - 1], order[j - 1]
                j -= 1
            keys[j], order[j] = key, index

    def heap_sort(self, a: int, b: int) -> None:
        size = b - a
        for root in range((size - 1) // 2, -1, -1):
            self.sift_down(root, size, a)
        for last in range(size - 1, -1, -1):
            self.swap(a, a + last)
            self.sift_down(0, last, a)

    def sift_down(self, root: int, size: int, first: int) -> None:
        while True:
            child = 2 * root + 1
            if child >= size:
                return
            if child + 1 < size and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child

    def scatter(self, a: int, b: int) -> None:
        length = b - a
        random, modulus = length, 1 << length.bit_length()
        middle = a + (length // 4) * 2 - 1
        for i in range(3):
            random ^= (random << 13) & _MASK_64
            random ^= random >> 7
            random ^= (random << 17) & _MASK_64
            other = random & (modulus - 1)
            if other >= length:
                other -= length
            self.swap(middle + i, a + other)

    def choose_pivot(self, a: int, b: int) -> tuple[int, int]:
        """Return the pivot's index and the number of exchanges: 0 suggests ascending order, 12 descending."""
        length = b - a
        i, j, k = a + length // 4, a + length // 4 * 2, a + length // 4 * 3
        exchanges = 0
        if length >= _NINTHER_MIN:
            i, exchanges = self.median(i - 1, i, i + 1, exchanges)
            j, exchanges = self.median(j - 1, j, j + 1, exchanges)
            k, exchanges = self.median(k - 1, k, k + 1, exchanges)
        return self.median(i, j, k, exchanges)

    def median(self, x: int, y: int, z: int, exchanges: int) -> tuple[int, int]:
        if self.less(y, x):
            x, y, exchanges = y, x, exchanges + 1
        if self.less(z, y):
            y, z, exchanges = z, y, exchanges + 1
        if self.less(y, x):
            x, y, exchanges = y, x, exchanges + 1
        return y, exchanges

    def reverse(self, a: int, b: int) -> None:
        self.keys[a:b] = self.keys[a:b][::-1]
        self.order[a:b] = self.order[a:b][::-1]

    def repair(self, a: int, b: int) -> bool:
        """Move up to five displaced elements; return whether the range is then sorted."""
        i = a + 1
        for _ in range(_MAX_REPAIRS):
            while i < b and not self.less(i, i - 1):
                i += 1
            if i == b:
                return True
            if b - a < _NINTHER_MIN:
                return False
            self.swap(i, i - 1)
            if i - a >= 2:
                for j in range(i - 1, 0, -1):
                    if not self.less(j, j - 1):
                        break
                    self.swap(j, j - 1)
            if b - i >= 2:
                for j in range(i + 1, b):
                    if not self.less(j, j - 1):
                        break
                    self.swap(j, j - 1)
        return False

    def partition_equal(self, a: int, b: int, pivot: int) -> int:
        """Split into keys equal to the pivot and greater ones; return the start of the greater ones."""
        self.swap(a, pivot)
        i, j = a + 1, b - 1
        while True:
            while i <= j and not self.less(a, i):
                i += 1
            while i <= j and self.less(a, j):
                j -= 1
            if i > j:
                return i
            self.swap(i, j)
            i, j = i + 1, j - 1

    def partition(self, a: int, b: int, pivot: int) -> tuple[int, bool]:
        """Split into lesser keys and the rest; return the pivot's index and whether nothing moved."""
        self.swap(a, pivot)
        keys, order = self.keys, self.order
        key = keys[a]
        i, j = a + 1, b - 1
        was_partitioned = True
        while True:
            while i <= j and keys[i] < key:
                i += 1
            while i <= j and not keys[j] < key:
                j -= 1
            if i > j:
                self.swap(j, a)
                return j, was_partitioned
            was_partitioned = False
            keys[i], keys[j] = keys[j], keys[i]
            order[i], order[j] = order[j], order[i]
            i, j = i + 1, j - 1
