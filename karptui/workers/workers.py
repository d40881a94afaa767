"""What runs a function over many items, and how its results come back: in the order of the items, whoever ran it.

The function belongs to a module, so that other processes find it by name. Its arguments are the common data,
an item, and a function that returns whether the result is still needed.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol

from karptui.errors import RequestError

Question = Callable[[Any, Any, Callable[[], bool]], Any]
"""Takes the common data, an item, and a function that returns whether the result is no longer needed."""
MOST_LOST: Final = 3
"""Limit of workers lost in a row without a result."""


class WorkersError(RequestError):
    """The workers cannot be used, die repeatedly or are lost; the text is a message for the user."""


class Workers(Protocol):
    """Runs questions; one run at a time."""

    @property
    def count(self) -> int:
        """How many at once."""
        ...

    @property
    def sees_files(self) -> bool:
        """Whether a path names the same file there as here."""
        ...

    def run(self, question: Question, common: object, items: Iterable[object]) -> Iterator[tuple[int, Any]]:
        """Yield the position of each item and its result as soon as it is ready; the caller may stop early.

        Raises:
            WorkersError: if no worker is left.
        """
        ...

    def cancel(self) -> None:
        """End soon: results that are not ready are never given. May be called from another thread."""
        ...

    def close(self) -> None:
        """Let go of the workers."""
        ...


def never() -> bool:
    """Return False: a worker in another process is ended when its result is no longer wanted, not asked to stop."""
    return False


def in_order(results: Iterable[tuple[int, Any]]) -> Iterator[Any]:
    """Yield results in the order of their items."""
    early: dict[int, Any] = {}
    awaited = 0
    for position, result in results:
        early[position] = result
        while awaited in early:
            yield early.pop(awaited)
            awaited += 1


class _Pickler(pickle.Pickler):
    dispatch_table = copyreg.dispatch_table.copy()


def _proxied(mapping: Mapping[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(dict(mapping))


def _reduced(mapping: MappingProxyType[Any, Any]) -> tuple[Any, tuple[dict[Any, Any]]]:
    return _proxied, (dict(mapping),)


_Pickler.dispatch_table[MappingProxyType] = _reduced


def packed(value: object) -> bytes:
    """Return a value for another process; read-only mappings, which pickle refuses, included."""
    target = io.BytesIO()
    _Pickler(target, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return target.getvalue()


def unpacked(data: bytes) -> Any:
    """Return data packed by another process; unpickling can run any code, so the sender must be trusted."""
    return pickle.loads(data)  # noqa: S301 - from a process of this program, or a Dask cluster that the user trusts
