"""When to try again: time as the loops of a live source see it, replaceable in tests."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Final

import msgspec

FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 30.0


class Bell:
    """Lets a thread sleep until it is time, or until another thread rings."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def wait(self, seconds: float) -> None:
        """Sleep; a ring since the last wait counts."""
        self._event.wait(seconds)
        self._event.clear()

    def ring(self) -> None:
        """Wake the sleeper."""
        self._event.set()


class Waits(msgspec.Struct, frozen=True):
    """Clocks, chance and waiting of one loop."""

    pause: Callable[[float], None] = msgspec.field(default_factory=lambda: Bell().wait)
    """Waits for seconds, or until woken."""
    now_ns: Callable[[], int] = time.time_ns
    monotonic: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    """A number from 0 to 1."""

    def between(self, low: float, high: float) -> float:
        """Return a random number in a range."""
        return low + (high - low) * self.chance()


class Backoff:
    """Waits that double from one second to thirty, each cut by up to a half at random."""

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        self._lock = threading.Lock()
        self.failures = 0
        """Failures in a row."""
        self._doublings = 0

    def next_seconds(self) -> float:
        """Return the delay after one more failure, in seconds."""
        with self._lock:
            step = min(LONGEST_SECONDS, FIRST_SECONDS * float(1 << min(self._doublings, 8)))
            self.failures += 1
            self._doublings += 1
        return step * self._waits.between(0.5, 1.0)

    def reset(self) -> None:
        """Begin again with a second: something has worked."""
        with self._lock:
            self.failures = self._doublings = 0

    def shorten(self) -> None:
        """Begin again with a second, as something else has worked; failures in a row still count as such."""
        with self._lock:
            self._doublings = 0


LONGEST_QUEUE: Final = 2
"""Turns that anybody waits for at a ceiling."""


class Ceiling:
    """Limits a rate: a burst at once, and then a number per second."""

    def __init__(self, waits: Waits, burst: float, per_second: float) -> None:
        self._waits = waits
        self._burst = self._left = burst
        self._per_second = per_second
        self._at: float | None = None

    def wait_seconds(self) -> float:
        """Let one caller through, and return its delay; later callers wait longer."""
        now = self._waits.monotonic()
        if self._at is not None:
            self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        # Callers that were woken early are not compensated.
        self._left = max(self._left - 1, -LONGEST_QUEUE)
        return max(0.0, -self._left / self._per_second)


class SpacedTurns:
    """Spreads occasional work of many threads: one per interval."""

    def __init__(self, waits: Waits, seconds: float) -> None:
        self._waits = waits
        self._seconds = seconds
        self._lock = threading.Lock()
        self._last = float("-inf")

    def next_seconds(self) -> float:
        """Return the delay until the next free turn, in seconds."""
        with self._lock:
            now = self._waits.monotonic()
            self._last = max(now, self._last) + self._seconds
            return self._last - now
