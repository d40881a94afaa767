"""Long questions of which the newest counts: a newer one, or the user, cancels the running one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from karptui.session.answers import Progress
from karptui.session.pace import Turns

if TYPE_CHECKING:
    from karptui.provisioning.reporter import Pause, Reporter

ResultT = TypeVar("ResultT")


class OneAtATime:
    """Runs one long question at a time, in the thread that asks."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._numbers = itertools.count(1)
        self._newest = 0
        self._progress = Progress()
        self._name = ""
        """The part of the question that is running."""

    def progress(self) -> Progress:
        """Return the progress of the running question."""
        return self._progress

    def cancel(self) -> None:
        """Cancel the running question."""
        self._newest = next(self._numbers)
        self._progress = Progress()

    def _run(self, work: Callable[[Pause, Reporter], ResultT]) -> ResultT | None:
        """Return the answer to a question; None if it was cancelled.

        Args:
            work: Answers it; calls what it is given between two steps.
        """
        from karptui.provisioning.reporter import Cancelled  # noqa: PLC0415 - the first rows wait for no engine

        self.cancel()
        number = self._newest

        def pause() -> None:
            if self._newest != number:
                raise Cancelled
            self._turns.take()

        def report(done: int, total: int) -> None:
            pause()
            self._progress = Progress(done, total, self._name)

        try:
            return work(pause, report)
        except Cancelled:
            return None
