"""How a long run says where it is, and how it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol


class Cancelled(Exception):  # noqa: N818 - a request, not an error
    """Raised by a reporter to stop a run; the run lets it through."""


class Reporter(Protocol):
    """Called now and then from within a run; may raise `Cancelled`."""

    def __call__(self, done: int, total: int) -> None:
        """Take note of progress.

        Args:
            done: Pods that have a place.
            total: Pods of the run.
        """


def silent(done: int, total: int) -> None:
    """Take no note."""


Pause = Callable[[], None]
"""Called now and then while a cluster is made ready, so that whoever does so can let others have their turn."""


def no_pause() -> None:
    """Go on."""


Ask = Callable[[Any, Any, Reporter], Any]
"""A function of a module, which other processes find by name: called with what all items have in common, and one."""


Each = Callable[[Ask, object, Iterable[object], Reporter], Iterator[Any]]
"""Asks the same of many items; the answers come in the order of the items, wherever each is worked out.

Called with what is asked, what all items have in common, the items, which are taken as they are needed, a few ahead,
and what hears of the progress of what is worked out here; it may raise `Cancelled`.
"""


def one_by_one(ask: Ask, common: object, items: Iterable[object], reporter: Reporter) -> Iterator[Any]:
    """Ask one item after the other, here."""
    for item in items:
        yield ask(common, item, reporter)
