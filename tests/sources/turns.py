"""Replaces a source's rests between readings, so that a test triggers each reading."""

from __future__ import annotations

import threading
from typing import TypeVar

from karptui.sources.periodic import PeriodicSource

NewsT = TypeVar("NewsT")


class Turns:
    """Lets the source's thread read once at a time."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        """The rests that the source requested."""
        self._rests, self._go = threading.Semaphore(0), threading.Semaphore(0)

    def wait(self, stopped: threading.Event, seconds: float) -> bool:
        self.seconds.append(seconds)
        self._rests.release()
        assert self._go.acquire(timeout=20)
        return stopped.is_set()

    def read(self, source: PeriodicSource[NewsT]) -> NewsT:
        """Let the source read once; return its latest news."""
        if self.seconds:
            self._go.release()
        else:
            source.start()
        assert self._rests.acquire(timeout=20)
        return source.latest()

    def end(self, source: PeriodicSource[NewsT]) -> None:
        """Stop the source and its thread."""
        source.stop()
        self._go.release()
