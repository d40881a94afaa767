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
KEY_SECONDS: Final = 0.12
"""For so long after a key the screen has the better part of the processor."""
KEY_PAUSE_SECONDS: Final = 0.01
KEY_REST_FACTOR: Final = 5.0
"""While somebody types, a thread rests for so many times as long as its turn took, be it that it could not end it."""
KEY_REST_SECONDS: Final = 0.15
"""And for no longer than that."""
LEAST_SECONDS: Final = 0.2
"""Between two times that the mailbox is emptied."""
REST_FACTOR: Final = 4.0
"""For so many times as long as taking over changes took, changes collect before they are taken over again."""
ANSWER_FACTOR: Final = 6.0
"""For so many times as long as an answer kept the processor, changes collect before the next is worked out."""
WORK_FACTOR: Final = 1.5
"""And for so many times as long as all work that came with it did, the processor is left to others."""
BETWEEN_SECONDS: Final = (0.5, 4.0)
"""Within these bounds."""


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


class Keyboard:
    """When a key was pressed last; told by the screen, heeded by the threads beside it."""

    def __init__(self) -> None:
        self._pressed_at = -KEY_SECONDS

    def pressed(self) -> None:
        """A key was pressed just now."""
        self._pressed_at = time.monotonic()

    def is_busy(self, now: float) -> bool:
        """Whether somebody is typing, by the monotonic clock."""
        return now - self._pressed_at < KEY_SECONDS


KEYBOARD: Final = Keyboard()
"""There is one, whoever works beside it."""


class Turns:
    """Lets other threads have theirs, and the screen nearly all of them while somebody types."""

    def __init__(self, keyboard: Keyboard = KEYBOARD) -> None:
        self._keyboard = keyboard
        self._began = time.monotonic()

    def take(self) -> None:
        """Pause when the slice is over."""
        now = time.monotonic()
        if now >= self._began + SLICE_SECONDS:
            time.sleep(self._pause_seconds(now))
            self._began = time.monotonic()

    def _pause_seconds(self, now: float) -> float:
        if not self._keyboard.is_busy(now):
            return PAUSE_SECONDS
        return min(max(KEY_PAUSE_SECONDS, KEY_REST_FACTOR * (now - self._began)), KEY_REST_SECONDS)


class Rhythm:
    """When a thread that follows a cluster may begin again: the longer its work kept the processor, the later.

    Clocks are given: ``now`` in seconds that pass, ``worked`` in seconds of the thread's processor time.
    """

    def __init__(self) -> None:
        self._began = 0.0
        self._due = 0.0
        self._is_over = True

    def begin(self, worked: float) -> None:
        """Work begins."""
        self._began, self._due, self._is_over = worked, 0.0, False

    def answered(self, now: float, worked: float) -> None:
        """What matters most is known; what follows may be broken off."""
        self._due = now + _bounded(ANSWER_FACTOR * (worked - self._began))

    def end(self, now: float, worked: float) -> None:
        """Everything is done, or broken off; heard once."""
        if not self._is_over:
            self._is_over = True
            self._due = max(self._due, now + min(WORK_FACTOR * (worked - self._began), BETWEEN_SECONDS[1]))

    def wait_seconds(self, now: float) -> float:
        """How long it is until the next may begin."""
        return max(0.0, self._due - now)


def _bounded(seconds: float) -> float:
    least, most = BETWEEN_SECONDS
    return min(max(least, seconds), most)
