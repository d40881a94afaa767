from __future__ import annotations

import gc
import platform
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from karptui.session import throttle as module
from tests.builders.instants import Ticks


@pytest.mark.parametrize(("took", "rest"), [(0.0, 0.5), (0.05, 0.5), (0.3, 3.0)])
def test_the_rest_is_longer_after_longer_work(took: float, rest: float) -> None:
    throttle = module.MergeThrottle(module.Keyboard())
    assert throttle.is_due(0.0)
    throttle.took(10.0, 10.0 + took)
    assert not throttle.is_due(10.0 + took + rest - 0.01)
    assert throttle.is_due(10.0 + took + rest + 0.01)


def test_garbage_collection_is_enabled_again_after_the_start() -> None:
    with module.garbage_put_off():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), module.garbage_put_off():
        _ = 1 / 0
    assert gc.isenabled()


def test_the_rest_after_an_analysis_depends_on_its_duration() -> None:
    throttle = module.AnalysisThrottle()
    assert throttle.wait_seconds(0.0) == 0.0
    for worked, waits in ((0.01, 2.0), (0.5, 3.0), (2.0, 5.0)):
        throttle.begin(10.0)
        throttle.answered(100.0, 10.0 + worked)
        assert throttle.wait_seconds(100.0) == pytest.approx(waits)
        assert throttle.wait_seconds(200.0) == 0.0


def test_the_rest_includes_the_work_after_an_answer() -> None:
    throttle = module.AnalysisThrottle()
    for worked, ended, due in ((0.1, 100.1, 102.0), (0.2, 100.5, 103.5), (9.0, 110.0, 115.0)):
        throttle.begin(10.0)
        throttle.answered(100.0, 10.2)
        throttle.end(ended, 10.0 + worked)
        assert throttle.wait_seconds(100.0) == pytest.approx(due - 100.0)
        throttle.end(ended + 50.0, 70.0)
        assert throttle.wait_seconds(100.0) == pytest.approx(due - 100.0), "a second end changed the rest"


class Clock(Ticks):
    """A clock and a thread clock: sleeping moves the former, the test's work both."""

    def __init__(self) -> None:
        super().__init__(100.0)
        self.worked, self.slept = 5.0, 0.0

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.slept += seconds

    def thread_time(self) -> float:
        return self.worked

    def work(self, seconds: float) -> None:
        self.now += seconds
        self.worked += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "MAIN_THREAD", 0)  # the test's thread acts as a background thread
    yield clock
    gc.enable()


def test_the_main_thread_never_pauses(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAIN_THREAD", threading.get_ident())
    throttle = module.ThreadThrottle(module.Keyboard())
    throttle.take()
    clock.work(1.0)
    throttle.take()
    assert clock.slept == 0.0


def test_threads_pause_after_every_slice(clock: Clock) -> None:
    throttle = module.ThreadThrottle(module.Keyboard())
    throttle.take()
    throttle.take()
    clock.now += 1.0
    throttle.take()
    assert clock.slept == 0.0, "a thread that has not worked paused"
    clock.work(1.0)
    throttle.take()
    assert clock.slept == module.PAUSE_SECONDS
    throttle.take()
    assert clock.slept == module.PAUSE_SECONDS


@pytest.mark.parametrize(("since", "works_at"), [
    (0.0, module.DRAWN_SECONDS),
    (module.DRAWN_SECONDS, module.DRAWN_SECONDS),
    (0.05, 0.05),
    (module.NEXT_SECONDS - module.TURN_SECONDS, module.KEY_SECONDS),
    (0.1, module.KEY_SECONDS),
    (1.0, 1.0),
])  # fmt: skip
def test_threads_work_after_a_key_is_drawn_and_before_the_next_key(clock: Clock, since: float, works_at: float) -> None:
    keyboard = module.Keyboard()
    throttle = module.ThreadThrottle(keyboard)
    throttle.take()
    keyboard.pressed()
    pressed_at = clock.now
    clock.work(since - module.PAUSE_SECONDS)
    clock.worked += 1.0
    throttle.take()
    assert clock.now - pressed_at == pytest.approx(works_at)


def test_a_long_merge_starts_only_long_before_the_next_key(clock: Clock) -> None:
    keyboard = module.Keyboard()
    keyboard.pressed()
    since = module.NEXT_SECONDS - module.MERGE_SECONDS
    assert keyboard.rest_seconds(clock.now + since) == 0.0
    assert keyboard.rest_seconds(clock.now + since - 0.001, module.MERGE_SECONDS) == 0.0
    left = keyboard.rest_seconds(clock.now + since, module.MERGE_SECONDS)
    assert left == pytest.approx(module.KEY_SECONDS - since)


def test_threads_pause_only_for_a_limited_time_while_keys_keep_coming(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyboard = module.Keyboard()
    throttle = module.ThreadThrottle(keyboard)
    throttle.take()
    monkeypatch.setattr(keyboard, "rest_seconds", lambda *_: module.KEY_SECONDS)
    clock.work(1.0)
    throttle.take()
    assert clock.slept == pytest.approx(module.KEY_REST_SECONDS, abs=module.KEY_PAUSE_SECONDS)


def test_garbage_collection_is_off_while_the_user_types(clock: Clock) -> None:
    keyboard = module.Keyboard()
    keyboard.rested()
    assert gc.isenabled()
    for seconds in (module.REST_SECONDS, module.PUT_OFF_SECONDS):
        keyboard.pressed()
        keyboard.pressed()
        keyboard.rested()
        clock.now += module.KEY_SECONDS
        keyboard.rested()
        assert not gc.isenabled(), "garbage collection is on between two keys"
        clock.now += seconds
        keyboard.rested()
        assert gc.isenabled()
    keyboard.pressed()
    clock.now += module.PUT_OFF_SECONDS
    keyboard._pressed_at = clock.now
    keyboard.rested()
    assert gc.isenabled(), "garbage collection was deferred for too long"
    keyboard.pressed()
    keyboard.rested(is_over=True)
    assert not keyboard.is_busy(clock.now)
    assert gc.isenabled()


def test_off_screen_analysis_waits_for_a_typing_user(clock: Clock) -> None:
    keyboard = module.Keyboard()
    throttle = module.AnalysisThrottle(keyboard)
    keyboard.pressed()
    assert throttle.wait_seconds(clock.now) == 0.0
    assert throttle.wait_seconds(clock.now, clock.now) == module.KEY_SECONDS
    assert throttle.wait_seconds(clock.now, clock.now - module.PATIENCE_SECONDS) == 0.0
    assert throttle.wait_seconds(clock.now + 1.0, clock.now) == 0.0


def test_merging_waits_a_little_for_a_typing_user(clock: Clock) -> None:
    keyboard = module.Keyboard()
    rests = module.MergeThrottle(keyboard)
    rests.took(clock.now, clock.now)
    clock.now += 2 * module.LEAST_SECONDS
    keyboard.pressed()
    assert not rests.is_due(clock.now)
    clock.now += module.KEY_SECONDS
    assert rests.is_due(clock.now)
    clock.now += module.TYPED_SECONDS
    keyboard.pressed()
    assert rests.is_due(clock.now)


# Garbage collection


class Searches:
    """Replaces the garbage collector: records its calls, and takes ``takes`` seconds per search."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.takes = 0.01
        self.asked: list[str] = []
        self.keyboard = module.Keyboard()
        self.garbage = module.Garbage(self.keyboard, lambda: self.now, lambda: self.now)
        monkeypatch.setattr(gc, "collect", self._collect)
        monkeypatch.setattr(gc, "freeze", lambda: self.asked.append("freeze"))
        monkeypatch.setattr(gc, "unfreeze", lambda: self.asked.append("unfreeze"))
        monkeypatch.setattr(gc, "set_threshold", lambda *_: None)

    def _collect(self) -> int:
        self.asked.append("collect")
        self.now += self.takes
        return 0

    def wait(self, seconds: float) -> list[str]:
        """Move the clock; return the collector's calls."""
        self.now += seconds
        self.asked = []
        self.garbage.search_at_rest()
        return self.asked


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Searches:
    result = Searches(monkeypatch)
    assert result.wait(10_000.0) == [], "the collector was called before begin()"
    result.garbage.begin()
    assert result.asked == ["freeze"], "expected imported objects to be frozen"
    return result


def test_searches_are_deferred_for_a_typing_user_up_to_a_limit(searches: Searches) -> None:
    searches.now += module.FIRST_SECONDS
    waited = 0.0
    while waited < module.PUT_OFF_SECONDS - 1.0:
        searches.keyboard._pressed_at = searches.now
        assert searches.wait(1.0) == []
        waited += 1.0
    searches.keyboard._pressed_at = searches.now
    assert "collect" in searches.wait(1.0), "the search was deferred for too long"


def test_long_searches_are_rare_and_the_next_one_is_complete(searches: Searches) -> None:
    searches.wait(module.FIRST_SECONDS)
    searches.takes = 0.1
    assert searches.wait(60.0) == ["collect"]
    assert searches.wait(0.1 * module.COST_FACTOR - 0.1) == []
    assert searches.wait(0.2) == ["unfreeze", "collect", "freeze"]
    searches.takes = 9.0
    searches.wait(module.THOROUGH_SECONDS)
    assert searches.wait(module.EVERY_SECONDS[1] - 0.1) == []
    assert "collect" in searches.wait(0.2)


class Ring:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_as_before")
def test_frozen_garbage_is_freed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_SECONDS", 0.0)
    watched = module.Garbage(module.Keyboard())
    ring = Ring()
    reference_type = weakref.ref(ring)
    watched.begin()
    del ring
    assert gc.get_threshold()[2] == module.BY_ITSELF
    assert reference_type() is not None
    watched._keyboard._pressed_at = time.monotonic() - 60.0
    watched.search_at_rest()
    assert reference_type() is None


@pytest.mark.usefixtures("_as_before")
def test_short_pauses_set_switch_interval_and_gc_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[bool] = []
    monkeypatch.setattr(module, "GARBAGE", module.Garbage(module.Keyboard()))
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(True))
    before = sys.getswitchinterval()
    try:
        module.keep_pauses_short()
        assert sys.getswitchinterval() == pytest.approx(module.SWITCH_SECONDS)
        assert gc.get_threshold() == (module.YOUNG_OBJECTS, module.YOUNG_ROUNDS, module.BY_ITSELF)
        assert frozen
    finally:
        sys.setswitchinterval(before)


_HEAPS = """
import ctypes, sys, threading
from karptui.session.throttle import share_heaps
if sys.argv[1] == "shared":
    share_heaps()
gate = threading.Barrier(9)
def work():
    kept = bytearray(1000)
    gate.wait()
    gate.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
gate.wait()
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
gate.wait()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no heaps of threads")
@pytest.mark.parametrize(("words", "is_shared"), [("shared", True), ("apart", False)])
def test_threads_share_two_heaps(words: str, is_shared: bool) -> None:
    ran = subprocess.run([sys.executable, "-c", _HEAPS, words], capture_output=True, text=True, check=True)
    assert (ran.stdout.count("<heap ") <= 2) is is_shared


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries are not asked")
def test_freed_memory_is_returned_to_the_system() -> None:
    """The C library keeps freed blocks below one in use unless asked to return them."""
    code = """
import sys
from karptui.session import throttle
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
blocks = [bytearray(b"x" * 100_000) for _ in range(600)]
last = blocks.pop()
del blocks
full = resident()
garbage = throttle.Garbage(clock=lambda: 1e9)
garbage._due = 0.0
garbage.search_at_rest()
print(full - resident())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(ran.stdout) > 30_000_000
