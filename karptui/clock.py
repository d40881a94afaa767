"""Where the time comes from, so that tests and recordings can stand still."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch."""
        return time.time_ns()


@dataclass(slots=True)
class FrozenClock:
    """A clock that stands at one instant until it is told otherwise: tests, snapshots taken elsewhere."""

    instant_ns: int
    """Nanoseconds since the epoch."""

    def now_ns(self) -> int:
        """Return the instant the clock stands at."""
        return self.instant_ns
