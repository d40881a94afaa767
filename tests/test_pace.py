"""How often changes are taken over."""

from __future__ import annotations

import gc
import sys

import pytest

from karptui import pace


def test_the_first_changes_are_taken_over_at_once() -> None:
    assert pace.Pace().is_due(0.0)


@pytest.mark.parametrize(("took", "rest"), [(0.0, 0.2), (0.05, 0.2), (0.3, 0.6)])
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
