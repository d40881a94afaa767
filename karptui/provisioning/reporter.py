"""Progress reports and cancellation of long runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, TypeVar

T = TypeVar("T")
PART: Final = 2_000
"""Number of pods between two pauses: about a millisecond of work."""


class Cancelled(Exception):  # noqa: N818 - a request, not an error
    """Raised by a reporter to stop a run, which does not catch it."""


Reporter = Callable[[int, int], None]
"""Called from time to time with the numbers of scheduled pods and of all pods of a run; may raise `Cancelled`."""


def silent(done: int, total: int) -> None:
    """Ignore progress."""


Pause = Callable[[], None]
"""Called from time to time while a cluster is prepared, to let other threads run."""


def no_pause() -> None:
    """Do nothing."""


def with_pauses(items: Sequence[T], pause: Pause, every: int = PART) -> Iterator[T]:
    """Yield all items, with a pause before every so many."""
    return chain.from_iterable(_parts(items, pause, every))


def _parts(items: Sequence[T], pause: Pause, size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        pause()
        yield items[start : start + size]


Ask = Callable[[Any, Any, Reporter], Any]
"""A module-level function, so that other processes can import it; called with the common data and an item."""


Each = Callable[[Ask, object, Iterable[object], Reporter], Iterator[Any]]
"""Calls a function for many items, possibly in other processes; yields the results in order.

Called with the function, the common data, the items (read a few ahead) and a reporter for local progress, which may
raise `Cancelled`.
"""


def one_by_one(ask: Ask, common: object, items: Iterable[object], reporter: Reporter) -> Iterator[Any]:
    """Call the function for each item in this process."""
    for item in items:
        yield ask(common, item, reporter)
