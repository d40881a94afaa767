"""Search: a value on a line by halving, a set of changes by growing the best; both within a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, islice
from math import comb
from typing import Any, Final

import msgspec

_PROBES: Final = 8
"""Values on either side of the answer that are tried to see whether the line rises without exception."""
_KEPT: Final = 6
"""Sets of each size that are grown further."""


class ValueLine(msgspec.Struct, frozen=True):
    """Result of a search along a line of values."""

    highest: int | None
    """Position of the last good value; None if no tried value is good."""
    tried: tuple[int, ...]
    """Positions that were tried, sorted."""
    is_monotone: bool
    """Whether of those tried every one below the answer is good, and none above."""


def highest_good(count: int, are_good: Callable[[Iterable[int]], Iterable[bool]], most: int) -> ValueLine:
    """Return the last good value of a line that begins good and usually ends bad.

    Bisects the line and then checks values on either side. If one contradicts, all values are tried, or an evenly
    spread sample, and the last good one is followed up to its edge.

    Args:
        count: Number of values; at least one.
        are_good: Returns whether the values at positions are good; called once for each position.
        most: Limit of tried values if the line is not monotone.
    """
    verdicts: dict[int, bool] = {}

    def learn(positions: Iterable[int]) -> None:
        unknown = [position for position in dict.fromkeys(positions) if position not in verdicts]
        verdicts.update(zip(unknown, are_good(unknown), strict=True))

    def good(position: int) -> bool:
        learn([position])
        return verdicts[position]

    def edge(low: int, high: int) -> int:
        """Return the last good position, where ``low`` is good and ``high`` is not, or beyond the end."""
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if good(middle) else (low, middle)
        return low

    highest = edge(0, count) if good(0) else -1
    learn((*_spread(0, highest, _PROBES), *_spread(highest + 1, count, _PROBES)))
    is_monotone = all(is_one is (position <= highest) for position, is_one in verdicts.items())
    if not is_monotone:
        learn(_spread(0, count, most))
        highest = max((position for position, is_one in verdicts.items() if is_one), default=-1)
        if highest >= 0:
            highest = edge(highest, min((position for position in verdicts if position > highest), default=count))
    return ValueLine(highest if highest >= 0 else None, tuple(sorted(verdicts)), is_monotone)


def _spread(first: int, end: int, most: int) -> Iterator[int]:
    """Yield positions from one up to before another, evenly spread and with both ends."""
    count = end - first
    if count <= most:
        yield from range(first, end)
        return
    for step in range(most):
        yield first + step * (count - 1) // (most - 1)


Chosen = tuple[int, ...]
"""Positions of the members of a set, rising."""


class Sets(msgspec.Struct, frozen=True):
    """How a search among sets went."""

    tried: int
    all: int
    """How many sets there are of these sizes."""


def search_sets(
    count: int,
    largest: int,
    most: int,
    values: Callable[[Iterable[Chosen]], Iterable[Any]],
    excludes: Callable[[Chosen], bool],
    *,
    listed: int = 0,
) -> Sets:
    """Try sets of things: all of them within the bound, or the best of each size with one more thing.

    Args:
        values: Called with sets, each once; yields a sort key for each, the lower the better.
        excludes: Returns whether a set is impossible or like a set that was tried; it does not count.
        listed: Limit of sets listed one by one if most of them are excluded; at least ``most``.
    """
    sizes = range(1, min(largest, count) + 1)
    total = sum(comb(count, size) for size in sizes)
    if total <= max(most, listed):
        tried = excluded = 0

        def allowed(size: int) -> Iterator[Chosen]:
            nonlocal tried, excluded
            for combination in combinations(range(count), size):
                if excludes(combination):
                    excluded += 1
                elif tried < most:
                    tried += 1
                    yield combination

        # One size after another: results of smaller sets may exclude larger ones.
        for size in sizes:
            for _ in values(allowed(size)):
                pass
        return Sets(tried, total - excluded)
    seen: set[Chosen] = set()
    best: list[Chosen] = []
    alone: list[int] = list(range(count))
    for size in sizes:
        grown = ((index,) for index in range(count)) if size == 1 else _grown(best[:_KEPT], alone)
        drawn: list[Chosen] = []
        keys = list(values(_noted(islice(_new(grown, seen, excludes), most - len(seen)), seen, drawn)))
        best = [chosen for _, chosen in sorted(zip(keys, drawn, strict=True))]
        if size == 1:
            alone = [chosen[0] for chosen in best]
        if not best or len(seen) >= most:
            break
    return Sets(len(seen), total)


def _grown(sets: list[Chosen], things: Iterable[int]) -> Iterator[Chosen]:
    """Yield sets with one thing more, beginning with the best single things."""
    for more in things:
        for chosen in sets:
            if more not in chosen:
                yield tuple(sorted((*chosen, more)))


def _noted(sets: Iterable[Chosen], seen: set[Chosen], drawn: list[Chosen]) -> Iterator[Chosen]:
    for chosen in sets:
        seen.add(chosen)
        drawn.append(chosen)
        yield chosen


def _new(sets: Iterable[Chosen], seen: set[Chosen], excludes: Callable[[Chosen], bool]) -> Iterator[Chosen]:
    for chosen in sets:
        if chosen not in seen and not excludes(chosen):
            yield chosen
