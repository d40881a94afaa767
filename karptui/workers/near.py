"""Processes of this machine; one that dies is replaced, and what it was at is asked again."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, Final

from karptui.workers.workers import MOST_LOST, Question, WorkersError, packed, unpacked

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event as EventType

_POLL_SECONDS: Final = 0.05
_AHEAD: Final = 2
"""Items handed over for each process, so that none waits for the next."""


class NearWorkers:
    """So many processes; a single one is this process."""

    sees_files: Final = True

    def __init__(self, count: int) -> None:
        self.count = count
        self._is_cancelled = threading.Event()

    def cancel(self) -> None:
        """End soon; may be called from another thread."""
        self._is_cancelled.set()

    def close(self) -> None:
        """Do nothing: processes last as long as a run."""

    def run(self, question: Question, common: object, items: Iterable[object]) -> Iterator[tuple[int, Any]]:
        """Yield positions and results as they are ready.

        Raises:
            WorkersError: when processes die over and over.
        """
        self._is_cancelled.clear()
        return self._here(question, common, items) if self.count <= 1 else self._elsewhere(question, common, items)

    def _here(self, question: Question, common: object, items: Iterable[object]) -> Iterator[tuple[int, Any]]:
        for position, item in enumerate(items):
            if self._is_cancelled.is_set():
                return
            yield position, question(common, item, self._is_cancelled.is_set)

    def _elsewhere(self, question: Question, common: object, items: Iterable[object]) -> Iterator[tuple[int, Any]]:
        context = multiprocessing.get_context(_way_to_begin())
        # A screen has put something without a descriptor in the place of stderr, which the first process would inherit.
        with contextlib.redirect_stderr(sys.__stderr__):
            resource_tracker.ensure_running()
        stop = context.Event()
        given = packed(common)

        def opened() -> ProcessPoolExecutor:
            return ProcessPoolExecutor(self.count, context, initializer=_begin, initargs=(given, stop))

        source, again = enumerate(items), deque[tuple[int, object]]()
        pending: dict[Future[bytes], tuple[int, object]] = {}
        lost_in_a_row = 0
        pool = opened()
        try:
            while not self._is_cancelled.is_set():
                is_broken = not self._hand_over(pool, question, pending, again, source)
                if not (pending or again):
                    return
                ready, _ = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in ready:
                    try:
                        result = unpacked(future.result())
                    except BrokenProcessPool:
                        is_broken = True
                        continue
                    lost_in_a_row = 0
                    yield pending.pop(future)[0], result
                if is_broken:
                    lost_in_a_row += 1
                    if lost_in_a_row >= MOST_LOST:
                        raise WorkersError(f"{MOST_LOST} processes in a row have died at work")
                    again.extendleft(sorted(pending.values(), key=_position, reverse=True))
                    pending.clear()
                    pool.shutdown()
                    pool = opened()
        finally:
            # What is being worked on ends at its next look, so that nobody waits for it.
            stop.set()
            pool.shutdown(cancel_futures=True)

    def _hand_over(
        self,
        pool: ProcessPoolExecutor,
        question: Question,
        pending: dict[Future[bytes], tuple[int, object]],
        again: deque[tuple[int, object]],
        source: Iterator[tuple[int, object]],
    ) -> bool:
        """Give the pool as much as it can use; return whether it takes anything."""
        while len(pending) < _AHEAD * self.count:
            given = again.popleft() if again else next(source, None)
            if given is None:
                return True
            try:
                pending[pool.submit(_answer, question, packed(given[1]))] = given
            except BrokenProcessPool:
                again.appendleft(given)
                return False
        return True


def _way_to_begin() -> str:
    """Return how processes begin: with what this one has imported, where there is no thread that holds anything."""
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


def _position(given: tuple[int, object]) -> int:
    return given[0]


# In the other processes

_STATE: dict[str, Any] = {}


def _begin(given: bytes, stop: EventType) -> None:
    # Ctrl-c is sent to all; whoever asked for the results ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _STATE["common"], _STATE["stop"] = unpacked(given), stop


def _answer(question: Question, item: bytes) -> bytes:
    return packed(question(_STATE["common"], unpacked(item), _STATE["stop"].is_set))
