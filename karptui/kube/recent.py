"""Thread-safe caches for large answers: `Recent` by key, `LastAnswer` for the latest inputs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class _Kept(Generic[KeyT, ValueT]):
    """A cached value and the number of the last query for it."""

    __slots__ = ("asked", "key", "value")

    def __init__(self, key: KeyT, value: ValueT, question_number: int) -> None:
        self.key, self.value, self.asked = key, value, question_number


class Recent(Generic[KeyT, ValueT]):
    """A small cache that drops values not queried for a while.

    Keys are compared one by one and need no hash. Only one thread makes a value at a time, and others wait:
    values take megabytes, and other caches use their identity as key.
    """

    def __init__(self, *, most: int, patience: int) -> None:
        """Create an empty cache.

        Args:
            patience: A value is dropped after this many queries for other keys.
        """
        self._most, self._patience = most, patience
        self._kept: tuple[_Kept[KeyT, ValueT], ...] = ()
        self._questions = 0
        self._making = threading.RLock()

    def get(self, key: KeyT, make: Callable[[], ValueT]) -> ValueT:
        """Return the value for a key, from the cache or by calling ``make``."""
        self._questions += 1
        entry = self._find(key)
        if entry is None:
            with self._making:
                entry = self._find(key) or self._add(key, make)
        return entry.value

    def _find(self, key: KeyT) -> _Kept[KeyT, ValueT] | None:
        kept = self._kept
        for entry in kept:
            if entry.key is key or entry.key == key:
                entry.asked = self._questions
                if self._is_outdated(kept[-1]) and self._making.acquire(blocking=False):
                    try:
                        self._kept = self._used_lately()
                    finally:
                        self._making.release()
                return entry
        return None

    def _add(self, key: KeyT, make: Callable[[], ValueT]) -> _Kept[KeyT, ValueT]:
        entry = _Kept(key, make(), self._questions)
        self._kept = (entry, *self._used_lately()[: self._most - 1])
        return entry

    def values(self) -> tuple[ValueT, ...]:
        """Return all values, the last queried first."""
        return tuple(value for _, value in self.items())

    def items(self) -> tuple[tuple[KeyT, ValueT], ...]:
        """Return all keys and values, the last queried first."""
        return tuple((entry.key, entry.value) for entry in self._by_question())

    def _used_lately(self) -> tuple[_Kept[KeyT, ValueT], ...]:
        return tuple(entry for entry in self._by_question() if not self._is_outdated(entry))

    def _by_question(self) -> list[_Kept[KeyT, ValueT]]:
        return sorted(self._kept, key=lambda entry: -entry.asked)

    def _is_outdated(self, entry: _Kept[KeyT, ValueT]) -> bool:
        return self._questions - entry.asked > self._patience


T = TypeVar("T")


class LastAnswer(Generic[T]):
    """Caches a single answer until its inputs change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inputs: tuple[object, ...] = ()
        self._equals: tuple[object, ...] = ()
        self._answer: T | None = None

    def get(self, inputs: tuple[object, ...], make: Callable[[], T], equals: tuple[object, ...] = ()) -> T:
        """Return the answer for some inputs, calling ``make`` only if they differ from the previous inputs.

        Args:
            inputs: Compared by identity.
            equals: Inputs compared by value.
        """
        with self._lock:
            answer = self._answer
            if answer is None or equals != self._equals or not _same(inputs, self._inputs):
                answer = make()
                self._inputs, self._equals, self._answer = inputs, equals, answer
            return answer


def _same(left: tuple[object, ...], right: tuple[object, ...]) -> bool:
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))
