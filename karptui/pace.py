"""How the work beside the screen is kept from holding up keys."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SWITCH_SECONDS: Final = 0.001
"""How long a thread that decodes may go on while a key waits; Python's own five milliseconds add up."""
YOUNG_OBJECTS: Final = 5_000
"""So many new objects are looked through for garbage at a time."""
YOUNG_ROUNDS, MIDDLE_ROUNDS = 5, 200
"""How often the objects that outlive that are looked through: seldom, as walking a cluster takes a while."""
SLICE_SECONDS: Final = 0.002
"""How long a thread works before it lets the screen have its turn."""
PAUSE_SECONDS: Final = 0.0005
LEAST_SECONDS: Final = 0.2
"""Between two times that the mailbox is emptied."""
REST_FACTOR: Final = 2.0
"""For so many times as long as taking over changes took, changes collect before they are taken over again."""


@contextmanager
def garbage_put_off() -> Iterator[None]:
    """Look for no garbage while modules are imported: there is none, and looking takes a tenth of that time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def keep_pauses_short() -> None:
    """Set up the interpreter for a process that shows a large cluster; done once all that is usual is imported."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_ROUNDS, MIDDLE_ROUNDS)
    gc.freeze()


class Pace:
    """How often changes are taken over: less often the longer that takes, as one large step costs less than several."""

    def __init__(self) -> None:
        self._due = 0.0

    def is_due(self, now: float) -> bool:
        """Whether it is time again, by a clock in seconds."""
        return now >= self._due

    def took(self, began: float, ended: float) -> None:
        """Changes were taken over between two instants."""
        self._due = ended + max(LEAST_SECONDS, REST_FACTOR * (ended - began))


class Turns:
    """Lets other threads have theirs."""

    def __init__(self) -> None:
        self._until = time.monotonic() + SLICE_SECONDS

    def take(self) -> None:
        """Pause when the slice is over."""
        if time.monotonic() >= self._until:
            time.sleep(PAUSE_SECONDS)
            self._until = time.monotonic() + SLICE_SECONDS
