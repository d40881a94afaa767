"""Worker processes on this machine.

A worker that dies is replaced, and its items are retried. A worker exits as soon as this process has ended
(even by SIGKILL), or no longer needs it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from karptui.workers.workers import MOST_LOST, Question, Workers, WorkersError, never, packed, unpacked

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_POLL_SECONDS: Final = 0.05
_AHEAD: Final = 2
"""Items handed over for each process, so that none waits for the next."""


class NearWorkers:
    """A number of processes; a single one is this process."""

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
        """Yield positions and results as soon as they are ready."""
        self._is_cancelled.clear()
        return self._here(question, common, items) if self.count <= 1 else self._elsewhere(question, common, items)

    def _here(self, question: Question, common: object, items: Iterable[object]) -> Iterator[tuple[int, Any]]:
        for position, item in enumerate(items):
            if self._is_cancelled.is_set():
                return
            yield position, question(common, item, self._is_cancelled.is_set)

    def _elsewhere(self, question: Question, common: object, items: Iterable[object]) -> Iterator[tuple[int, Any]]:
        method = _start_method()
        context = multiprocessing.get_context(method)
        # A screen has put something without a descriptor in the place of stderr, which the first process would inherit.
        with contextlib.redirect_stderr(sys.__stderr__):
            resource_tracker.ensure_running()
        # Nothing is ever written to this pipe. It ends when this process closes it or is gone.
        lifeline, held_here = context.Pipe(duplex=False)
        packed_common = packed(common)
        inherited = held_here if method == "fork" else None

        def opened() -> ProcessPoolExecutor:
            with _starting(self.count):
                return ProcessPoolExecutor(
                    self.count, context, initializer=_begin, initargs=(packed_common, lifeline, inherited)
                )

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
                    again.extendleft(sorted(pending.values(), key=itemgetter(0), reverse=True))
                    pending.clear()
                    pool.shutdown()
                    pool = opened()
        finally:
            held_here.close()
            # Unfinished items fail once the workers have ended. Shutting down earlier can hang on a full queue.
            wait(pending)
            pool.shutdown(cancel_futures=True)
            lifeline.close()

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
            numbered = again.popleft() if again else next(source, None)
            if numbered is None:
                return True
            item = packed(numbered[1])
            try:
                with _starting(self.count):
                    pending[pool.submit(_answer, question, item)] = numbered
            except BrokenProcessPool:
                again.appendleft(numbered)
                return False
        return True


@contextlib.contextmanager
def _starting(count: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WorkersError(f"{count} processes cannot be started: {error.strerror or error}") from None


def _start_method() -> str:
    """Return multiprocessing's start method: fork (quick) is safe only while this process has a single thread."""
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


# In the worker processes

_STATE: dict[str, Any] = {}


def _begin(packed_common: bytes, lifeline: Connection, inherited: Connection | None) -> None:
    if inherited is not None:
        inherited.close()
    threading.Thread(target=_end_with, args=(lifeline,), name="lifeline", daemon=True).start()
    # Ctrl-c is sent to every process of the terminal; the parent decides when its workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _STATE["common"] = unpacked(packed_common)


def _end_with(lifeline: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)


def _answer(question: Question, item: bytes) -> bytes:
    return packed(question(_STATE["common"], unpacked(item), never))


MOST_PROCESSES: Final = 256
FAR: Final = ("tcp://", "tls://")
"""How the address of a Dask scheduler begins."""


def workers_at(text: str) -> Workers:
    """Return the workers for the user's text: a number of local processes, or a Dask scheduler's address.

    Raises:
        WorkersError: if it is neither, or no scheduler answers.
    """
    if text.startswith(FAR):
        from karptui.workers.far import FarWorkers  # noqa: PLC0415 - Dask is imported only when asked for

        return FarWorkers(text)
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PROCESSES:
        raise WorkersError(f"{text!r} is neither a number of processes nor the address of a Dask scheduler (tcp://…)")

    return NearWorkers(int(text))
