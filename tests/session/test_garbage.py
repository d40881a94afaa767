"""When everything is searched for garbage."""

from __future__ import annotations

import gc
import sys
import time
import weakref
from collections.abc import Iterator

import pytest

from karptui.session import throttle as module
from karptui.session.throttle import Garbage, Keyboard


class Searches:
    """Stands for the collector: takes note of what is asked of it, and how long a search takes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.takes = 0.01
        self.asked: list[str] = []
        self.keyboard = Keyboard()
        self.garbage = Garbage(self.keyboard, lambda: self.now, lambda: self.now)
        monkeypatch.setattr(gc, "collect", self._collect)
        monkeypatch.setattr(gc, "freeze", lambda: self.asked.append("freeze"))
        monkeypatch.setattr(gc, "unfreeze", lambda: self.asked.append("unfreeze"))
        monkeypatch.setattr(gc, "set_threshold", lambda *_: None)

    def _collect(self) -> int:
        self.asked.append("collect")
        self.now += self.takes
        return 0

    def wait(self, seconds: float) -> list[str]:
        """Let time go by, and return what is asked then."""
        self.now += seconds
        self.asked = []
        self.garbage.search_at_rest()
        return self.asked


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Searches:
    made = Searches(monkeypatch)
    made.garbage.begin()
    assert made.asked == ["freeze"], "what was imported stays"
    return made


def test_nothing_happens_before_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = Searches(monkeypatch)
    assert searches.wait(10_000.0) == []


def test_the_first_search_is_thorough_and_the_next_leave_out_what_survived(searches: Searches) -> None:
    assert searches.wait(module.FIRST_SECONDS - 0.1) == []
    assert searches.wait(0.2) == ["unfreeze", "collect", "freeze"]
    assert searches.wait(module.EVERY_SECONDS[0] - 0.1) == []
    assert searches.wait(0.2) == ["collect"]
    assert searches.wait(module.THOROUGH_SECONDS) == ["unfreeze", "collect", "freeze"]


def test_who_types_is_not_held_up_for_a_while(searches: Searches) -> None:
    searches.now += module.FIRST_SECONDS
    waited = 0.0
    while waited < module.LONGEST_WAIT_SECONDS - 1.0:
        searches.keyboard._pressed_at = searches.now
        assert searches.wait(1.0) == []
        waited += 1.0
    searches.keyboard._pressed_at = searches.now
    assert "collect" in searches.wait(1.0), "but not for ever"


def test_a_search_comes_once_the_keys_rest(searches: Searches) -> None:
    searches.keyboard._pressed_at = searches.now + module.FIRST_SECONDS
    assert searches.wait(module.FIRST_SECONDS + module.REST_SECONDS - 0.1) == []
    assert "collect" in searches.wait(0.2)


def test_long_searches_are_seldom_and_make_the_next_thorough(searches: Searches) -> None:
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
    """Refers to itself."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_as_before")
def test_what_was_frozen_is_found_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_SECONDS", 0.0)
    watched = Garbage(Keyboard())
    ring = Ring()
    known = weakref.ref(ring)
    watched.begin()
    del ring
    assert gc.get_threshold()[2] == module.BY_ITSELF
    assert known() is not None
    watched._keyboard._pressed_at = time.monotonic() - 60.0
    watched.search_at_rest()
    assert known() is None


@pytest.mark.usefixtures("_as_before")
def test_a_process_that_shows_a_cluster_is_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[bool] = []
    monkeypatch.setattr(module, "GARBAGE", Garbage(Keyboard()))
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(True))
    before = sys.getswitchinterval()
    try:
        module.keep_pauses_short()
        assert sys.getswitchinterval() == pytest.approx(module.SWITCH_SECONDS)
        assert gc.get_threshold() == (module.YOUNG_OBJECTS, module.YOUNG_ROUNDS, module.BY_ITSELF)
        assert frozen
    finally:
        sys.setswitchinterval(before)
