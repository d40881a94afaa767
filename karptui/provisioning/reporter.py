"""How a long run says where it is, and how it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


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
