"""When the objects of a process that shows a cluster are searched for garbage: all of them only while nobody types.

Python itself searches young objects, which takes a fraction of a millisecond. A search of everything may take as long
as a tenth of a second, in which no key is heard; put off for too long, hundreds of megabytes pile up. So it is done at
rest, the more seldom the longer it takes. What survives it is frozen: later searches leave it out, but for a thorough
one now and then, as what is frozen becomes garbage as well.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Final

from karptui.session.pace import KEYBOARD, Keyboard

SWITCH_SECONDS: Final = 0.001
"""How long a thread that decodes may go on while a key waits; Python's own five milliseconds add up."""
YOUNG_OBJECTS: Final = 5_000
"""So many new objects are searched at a time."""
YOUNG_ROUNDS: Final = 5
"""After so many times, those that have outlived it are searched too."""
BY_ITSELF: Final = 1_000_000
"""So many such rounds would make Python search everything: never, in practice."""
FIRST_SECONDS: Final = 6.0
"""After the start; by then most clusters are read."""
REST_SECONDS: Final = 1.5
"""For so long no key must have been pressed."""
LONGEST_WAIT_SECONDS: Final = 120.0
"""A search that is due waits no longer than that for whoever types."""
EVERY_SECONDS: Final = (10.0, 60.0)
"""Between two searches, within these bounds."""
COST_FACTOR: Final = 300.0
"""So many times as long as the last took of the processor."""
SHORT_SECONDS: Final = 0.03
"""Once a search takes longer, too much has come to stay since the last thorough one."""
THOROUGH_SECONDS: Final = 600.0
"""After so long there is a thorough one in any case."""


class Garbage:
    """Searches everything when it is due and nobody types; does nothing before ``begin``."""

    def __init__(
        self,
        keyboard: Keyboard = KEYBOARD,
        clock: Callable[[], float] = time.monotonic,
        worked: Callable[[], float] = time.thread_time,
    ) -> None:
        """Set up without beginning.

        Args:
            keyboard: tells when a key was pressed last.
            clock: tells seconds that pass.
            worked: tells seconds of the thread's processor time: what else the machine does counts for nothing.
        """
        self._keyboard = keyboard
        self._clock = clock
        self._worked = worked
        self._due: float | None = None
        self._thorough_due = 0.0

    def begin(self) -> None:
        """Take over from Python, once all that is usual is imported."""
        gc.set_threshold(YOUNG_OBJECTS, YOUNG_ROUNDS, BY_ITSELF)
        gc.freeze()
        self._due = self._thorough_due = self._clock() + FIRST_SECONDS

    def search_at_rest(self) -> None:
        """Search if it is time and nobody types; called several times a second."""
        now = self._clock()
        if self._due is None or now < self._due:
            return
        if now < self._due + LONGEST_WAIT_SECONDS and not self._keyboard.is_at_rest(now, REST_SECONDS):
            return
        is_thorough, began = now >= self._thorough_due, self._worked()
        if is_thorough:
            gc.unfreeze()
        gc.collect()
        if is_thorough:
            gc.freeze()
        ended, took = self._clock(), self._worked() - began
        least, most = EVERY_SECONDS
        self._due = ended + min(max(least, COST_FACTOR * took), most)
        if is_thorough:
            self._thorough_due = ended + THOROUGH_SECONDS
        elif took > SHORT_SECONDS:
            self._thorough_due = self._due


GARBAGE: Final = Garbage()
"""There is one, as there is one interpreter."""


def keep_pauses_short() -> None:
    """Set up the interpreter for a process that shows a large cluster; done once all that is usual is imported."""
    sys.setswitchinterval(SWITCH_SECONDS)
    GARBAGE.begin()
