"""Keeps background work from delaying keys."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

SLICE_SECONDS: Final = 0.002
"""Longest time that a thread works before it yields to the screen."""
PAUSE_SECONDS: Final = 0.0005
KEY_SECONDS: Final = 0.15
"""If no key follows within this time, the user does not type."""
DRAWN_SECONDS: Final = 0.025
"""A key is drawn within this time."""
NEXT_SECONDS: Final = 0.08
"""The next key comes no sooner than this: in between other threads work."""
TURN_SECONDS: Final = 0.02
"""What most threads do between two pauses takes no longer than this."""
MERGE_SECONDS: Final = 0.04
"""Merging the changes of a large cluster, which has no pauses, takes about as long."""
KEY_PAUSE_SECONDS: Final = 0.01
KEY_REST_SECONDS: Final = 1.0
"""A thread rests no longer than this, even if keys keep coming."""
REST_SECONDS: Final = 1.5
"""If no key follows within this time, the user rests: garbage, whose collection stops all threads, is collected."""
PUT_OFF_SECONDS: Final = 120.0
"""But no longer than this while the user types."""
LEAST_SECONDS: Final = 0.5
"""Between two times that the mailbox is emptied."""
TYPED_SECONDS: Final = 2.0
"""The same while the user types."""
REST_FACTOR: Final = 10.0
"""Wait this multiple of the last merge's duration before merging again: each copies the index of all pods."""
ANSWER_FACTOR: Final = 6.0
"""Wait this multiple of an answer's processor time before the next analysis."""
WORK_FACTOR: Final = 15.0
"""Wait this multiple of the whole analysis' processor time."""
BETWEEN_SECONDS: Final = (2.0, 5.0)
"""Within these bounds."""
PATIENCE_SECONDS: Final = 3.0
"""Longest time that unwatched work waits for a typing user, in seconds."""


@contextlib.contextmanager
def garbage_put_off() -> Iterator[None]:
    """Look for no garbage while modules are imported: there is none, and looking takes a tenth of that time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Keyboard:
    """Time of the last key press; set by the screen, read by the threads.

    While the user types no garbage is collected, because that stops all threads.
    """

    def __init__(self) -> None:
        self._pressed_at = -KEY_SECONDS
        self._put_off_at: float | None = None
        """Since when no garbage is looked for."""

    def pressed(self) -> None:
        """Note that a key was pressed just now."""
        self._pressed_at = time.monotonic()
        if self._put_off_at is None:
            self._put_off_at = self._pressed_at
            gc.disable()

    def rested(self, *, is_over: bool = False) -> None:
        """Resume garbage collection if the user stopped typing, or after a limit; called regularly.

        Args:
            is_over: the screen is gone, so nothing is deferred any more.
        """
        now = time.monotonic()
        if is_over:
            self._pressed_at = now - REST_SECONDS
        if self._put_off_at is None or not (
            is_over or self.is_at_rest(now, REST_SECONDS) or now >= self._put_off_at + PUT_OFF_SECONDS
        ):
            return
        self._put_off_at = None
        gc.enable()

    def is_busy(self, now: float) -> bool:
        """Whether the user is typing, by the monotonic clock."""
        return now - self._pressed_at < KEY_SECONDS

    def rest_seconds(self, now: float, work_seconds: float = TURN_SECONDS) -> float:
        """Return the pause of a thread for the screen, which draws a key or expects the next one.

        Args:
            work_seconds: Time that the thread would work without a pause.
        """
        since = now - self._pressed_at
        if DRAWN_SECONDS <= since < NEXT_SECONDS - work_seconds:
            return 0.0
        return max((DRAWN_SECONDS if since < DRAWN_SECONDS else KEY_SECONDS) - since, 0.0)

    def rests(self, work_seconds: float = TURN_SECONDS) -> Iterator[float]:
        """Yield the seconds to sleep, again and again, until such work delays no key."""
        latest = time.monotonic() + KEY_REST_SECONDS
        while (now := time.monotonic()) < latest and (left := self.rest_seconds(now, work_seconds)) > 0:
            yield min(left, KEY_PAUSE_SECONDS)

    def is_at_rest(self, now: float, seconds: float) -> bool:
        """Whether no key was pressed for this many seconds."""
        return now - self._pressed_at >= seconds


KEYBOARD: Final = Keyboard()
"""The process-wide keyboard."""


class MergeThrottle:
    """Interval between merges: the longer merging takes the longer, because one large step is cheaper than several."""

    def __init__(self, keyboard: Keyboard = KEYBOARD) -> None:
        self._keyboard = keyboard
        self._due = self._due_typed = 0.0

    def is_due(self, now: float, *, has_news: bool = False) -> bool:
        """Whether it is time again, by a clock in seconds; at once for news, such as that a list is complete."""
        if self._keyboard.is_busy(now):
            return now >= self._due_typed
        return has_news or now >= self._due

    def took(self, began: float, ended: float) -> None:
        """Note that changes were taken over between two instants."""
        self._due_typed = ended + max(TYPED_SECONDS, REST_FACTOR * (ended - began))
        self._due = ended + max(LEAST_SECONDS, REST_FACTOR * (ended - began))


MAIN_THREAD: Final = threading.main_thread().ident
"""The thread that draws."""


class ThreadThrottle:
    """Yields to other threads, and to the screen most of the time while the user types."""

    def __init__(self, keyboard: Keyboard = KEYBOARD) -> None:
        self._keyboard = keyboard
        self._thread = 0
        self._worked = 0.0
        """The thread's processor time when its turn began, in seconds."""

    def take(self) -> None:
        """Pause when the slice is over; never in the thread that draws."""
        thread, worked = threading.get_ident(), time.thread_time()
        if thread == MAIN_THREAD:
            return
        if thread != self._thread:
            self._thread, self._worked = thread, worked
            return
        if worked - self._worked < SLICE_SECONDS:
            return
        time.sleep(PAUSE_SECONDS)
        for seconds in self._keyboard.rests():
            time.sleep(seconds)
        self._worked = time.thread_time()


class AnalysisThrottle:
    """When a thread that follows a cluster may begin again: the longer its work kept the processor, the later.

    Clocks are given: ``now`` in seconds that pass, ``worked`` in seconds of the thread's processor time.
    """

    def __init__(self, keyboard: Keyboard = KEYBOARD) -> None:
        self._keyboard = keyboard
        self._began = 0.0
        self._due = 0.0
        self._is_over = True

    def begin(self, worked: float) -> None:
        """Work begins."""
        self._began, self._due, self._is_over = worked, 0.0, False

    def answered(self, now: float, worked: float) -> None:
        """Note that the main answer is known: the rest may be interrupted."""
        self._due = now + _bounded(ANSWER_FACTOR * (worked - self._began))

    def end(self, now: float, worked: float) -> None:
        """Everything is done, or broken off; heard once."""
        if not self._is_over:
            self._is_over = True
            self._due = max(self._due, now + min(WORK_FACTOR * (worked - self._began), BETWEEN_SECONDS[1]))

    def wait_seconds(self, now: float, asked_at: float | None = None) -> float:
        """Return the seconds until the next analysis may begin.

        Args:
            asked_at: since when the next is waiting: it waits longer while the user types.
        """
        wait = max(0.0, self._due - now)
        if asked_at is not None and now < asked_at + PATIENCE_SECONDS and self._keyboard.is_busy(now):
            return max(wait, KEY_SECONDS)
        return wait


def _bounded(seconds: float) -> float:
    least, most = BETWEEN_SECONDS
    return min(max(least, seconds), most)


SWITCH_SECONDS: Final = 0.001
"""Longest turn of a decoding thread while a key waits; Python's default of five milliseconds adds up."""
YOUNG_OBJECTS: Final = 5_000
"""Number of new objects that start a collection."""
YOUNG_ROUNDS: Final = 5
"""Collections after which their survivors are searched too."""
BY_ITSELF: Final = 1_000_000
"""Such rounds before Python searches everything: practically never."""
FIRST_SECONDS: Final = 6.0
"""After the start; by then most clusters are read."""
EVERY_SECONDS: Final = (10.0, 60.0)
"""Between two searches, within these bounds."""
COST_FACTOR: Final = 300.0
"""Wait this multiple of the last collection's processor time."""
SHORT_SECONDS: Final = 0.03
"""A collection that takes longer makes the next one thorough."""
THOROUGH_SECONDS: Final = 600.0
"""Longest time between thorough collections."""


class Garbage:
    """Collects garbage when it is due and the user is not typing; idle before ``begin``."""

    def __init__(
        self,
        keyboard: Keyboard = KEYBOARD,
        clock: Callable[[], float] = time.monotonic,
        worked: Callable[[], float] = time.thread_time,
    ) -> None:
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
        """Collect garbage if it is due and the user is not typing; called several times a second."""
        now = self._clock()
        if self._due is None or now < self._due:
            return
        if now < self._due + PUT_OFF_SECONDS and not self._keyboard.is_at_rest(now, REST_SECONDS):
            return
        is_thorough, began = now >= self._thorough_due, self._worked()
        if is_thorough:
            gc.unfreeze()
        gc.collect()
        if is_thorough:
            gc.freeze()
        _give_memory_back()
        ended, took = self._clock(), self._worked() - began
        least, most = EVERY_SECONDS
        self._due = ended + min(max(least, COST_FACTOR * took), most)
        if is_thorough:
            self._thorough_due = ended + THOROUGH_SECONDS
        elif took > SHORT_SECONDS:
            self._thorough_due = self._due


GARBAGE: Final = Garbage()
"""There is one, as there is one interpreter."""


_M_ARENA_MAX: Final = -8
"""mallopt(3): the most heaps that threads have."""


def share_heaps() -> None:
    """Have all threads share two heaps of the GNU C library; elsewhere do nothing.

    By default there are up to eight for each core, and each keeps the most that it ever held.
    """
    _call_c("mallopt", _M_ARENA_MAX, 2)


def _give_memory_back() -> None:
    """Return free pages to the system, which the GNU C library keeps otherwise; elsewhere do nothing."""
    _call_c("malloc_trim", 0)


def _call_c(function: str, *numbers: int) -> None:
    import ctypes  # noqa: PLC0415 - takes longer to import than this module, before the first frame

    with contextlib.suppress(OSError, AttributeError):
        getattr(ctypes.CDLL(None), function)(*numbers)


def keep_pauses_short() -> None:
    """Set up the interpreter for a process that shows a large cluster; done once all that is usual is imported."""
    share_heaps()
    sys.setswitchinterval(SWITCH_SECONDS)
    GARBAGE.begin()
