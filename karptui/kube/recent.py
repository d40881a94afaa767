"""Answers that are kept: as long as somebody asks again and again, or as long as nothing that counts has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class _Kept(Generic[KeyT, ValueT]):
    """An answer, and when it was asked for last."""

    __slots__ = ("asked", "key", "value")

    def __init__(self, key: KeyT, value: ValueT, asked: int) -> None:
        self.key, self.value, self.asked = key, value, asked


class Recent(Generic[KeyT, ValueT]):
    """Keeps a few answers by what they were made of; what nobody has asked for in a while is let go.

    Keys are compared one by one, so they need no hash. Threads may ask at the same time: while one makes an answer,
    others that need one made wait, as answers are megabytes large and what is made of one is kept by its identity.
    """

    def __init__(self, *, most: int, patience: int) -> None:
        """Begin without any.

        Args:
            most: Answers that are kept at most.
            patience: After so many questions that were about others an answer is let go.
        """
        self._most, self._patience = most, patience
        self._kept: tuple[_Kept[KeyT, ValueT], ...] = ()
        self._questions = 0
        self._making = threading.RLock()

    def get(self, key: KeyT, make: Callable[[], ValueT]) -> ValueT:
        """Return the answer for a key, made anew where it is not kept."""
        self._questions += 1
        known = self._find(key)
        if known is None:
            with self._making:
                known = self._find(key) or self._made(key, make)
        return known.value

    def _find(self, key: KeyT) -> _Kept[KeyT, ValueT] | None:
        kept = self._kept
        for one in kept:
            if one.key is key or one.key == key:
                one.asked = self._questions
                if self._is_outdated(kept[-1]) and self._making.acquire(blocking=False):
                    try:
                        self._kept = self._asked_lately()
                    finally:
                        self._making.release()
                return one
        return None

    def _made(self, key: KeyT, make: Callable[[], ValueT]) -> _Kept[KeyT, ValueT]:
        made = _Kept(key, make(), self._questions)
        self._kept = (made, *self._asked_lately()[: self._most - 1])
        return made

    def values(self) -> tuple[ValueT, ...]:
        """Return every answer that is kept, the last that was asked for first."""
        return tuple(value for _, value in self.items())

    def items(self) -> tuple[tuple[KeyT, ValueT], ...]:
        """Return what they were made of as well."""
        return tuple((one.key, one.value) for one in self._by_question())

    def _asked_lately(self) -> tuple[_Kept[KeyT, ValueT], ...]:
        return tuple(one for one in self._by_question() if not self._is_outdated(one))

    def _by_question(self) -> list[_Kept[KeyT, ValueT]]:
        return sorted(self._kept, key=lambda one: -one.asked)

    def _is_outdated(self, one: _Kept[KeyT, ValueT]) -> bool:
        return self._questions - one.asked > self._patience


T = TypeVar("T")


class LastAnswer(Generic[T]):
    """Remembers the last answer as long as what it was made of stays the same; for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inputs: tuple[object, ...] = ()
        self._equals: tuple[object, ...] = ()
        self._answer: T | None = None

    def get(self, inputs: tuple[object, ...], make: Callable[[], T], equals: tuple[object, ...] = ()) -> T:
        """Return the answer for some inputs, made anew unless they are those of the last one.

        Args:
            inputs: Compared by identity.
            make: Works the answer out.
            equals: Inputs that are compared by value.
        """
        with self._lock:
            answer = self._answer
            if answer is None or equals != self._equals or not _same(inputs, self._inputs):
                answer = make()
                self._inputs, self._equals, self._answer = inputs, equals, answer
            return answer


def _same(left: tuple[object, ...], right: tuple[object, ...]) -> bool:
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))
