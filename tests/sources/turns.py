"""Stands in for the rest between two readings of a source's thread, so that a test makes one reading at a time."""

from __future__ import annotations

import threading
from typing import TypeVar

from karptui.sources.periodic import PeriodicSource

NewsT = TypeVar("NewsT")


class Turns:
    """Hands the source's thread its turns."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        """What the source asked to rest for."""
        self._rests, self._go = threading.Semaphore(0), threading.Semaphore(0)

    def wait(self, stopped: threading.Event, seconds: float) -> bool:
        self.seconds.append(seconds)
        self._rests.release()
        assert self._go.acquire(timeout=20)
        return stopped.is_set()

    def read(self, source: PeriodicSource[NewsT]) -> NewsT:
        """Have the source read once, and return what it knows then."""
        if self.seconds:
            self._go.release()
        else:
            source.start()
        assert self._rests.acquire(timeout=20)
        return source.latest()

    def end(self, source: PeriodicSource[NewsT]) -> None:
        """Stop the source and let its thread end."""
        source.stop()
        self._go.release()
