"""How often changes are taken over."""

from __future__ import annotations

import gc
import sys

import pytest

from karptui import pace


def test_the_first_changes_are_taken_over_at_once() -> None:
    assert pace.Pace().is_due(0.0)


@pytest.mark.parametrize(("took", "rest"), [(0.0, 0.2), (0.05, 0.2), (0.3, 1.2)])
def test_rests_longer_after_longer_work(took: float, rest: float) -> None:
    rhythm = pace.Pace()
    rhythm.took(10.0, 10.0 + took)
    assert not rhythm.is_due(10.0 + took + rest - 0.01)
    assert rhythm.is_due(10.0 + took + rest + 0.01)


def test_interpreter_is_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[bool] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(True))
    before = sys.getswitchinterval(), gc.get_threshold()
    try:
        pace.keep_pauses_short()
        assert sys.getswitchinterval() == pytest.approx(pace.SWITCH_SECONDS)
        assert gc.get_threshold()[0] == pace.YOUNG_OBJECTS
        assert frozen
    finally:
        sys.setswitchinterval(before[0])
        gc.set_threshold(*before[1])


def test_garbage_is_looked_for_again_after_the_start() -> None:
    with pace.garbage_put_off():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), pace.garbage_put_off():
        _ = 1 / 0
    assert gc.isenabled()


def test_the_next_answer_waits_for_as_long_as_the_last_was_worth() -> None:
    rhythm = pace.Rhythm()
    assert rhythm.wait_seconds(0.0) == 0.0
    for worked, waits in ((0.01, 0.5), (0.2, 1.2), (2.0, 4.0)):
        rhythm.begin(10.0)
        rhythm.answered(100.0, 10.0 + worked)
        assert rhythm.wait_seconds(100.0) == pytest.approx(waits)
        assert rhythm.wait_seconds(200.0) == 0.0


def test_the_work_that_comes_with_an_answer_leaves_the_processor_to_others() -> None:
    rhythm = pace.Rhythm()
    for worked, ended, due in ((0.2, 100.5, 101.2), (1.0, 101.5, 103.0), (9.0, 110.0, 114.0)):
        rhythm.begin(10.0)
        rhythm.answered(100.0, 10.2)
        rhythm.end(ended, 10.0 + worked)
        assert rhythm.wait_seconds(100.0) == pytest.approx(due - 100.0)
        rhythm.end(ended + 50.0, 70.0)
        assert rhythm.wait_seconds(100.0) == pytest.approx(due - 100.0), "only the first end counts"


def test_threads_give_way_while_somebody_types(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    now = [100.0]
    monkeypatch.setattr(pace, "time", type("Clock", (), {"sleep": pauses.append, "monotonic": lambda: now[0]}))
    keyboard = pace.Keyboard()
    turns = pace.Turns(keyboard)
    now[0] += 1.0
    turns.take()
    keyboard.pressed()
    now[0] += pace.KEY_SECONDS / 2
    turns.take()
    now[0] += pace.KEY_SECONDS
    turns.take()
    turns.take()
    assert pauses == [pace.PAUSE_SECONDS, pace.KEY_PAUSE_SECONDS, pace.PAUSE_SECONDS]
