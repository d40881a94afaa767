"""The event loop of the tests: time stands still while anything is at work, and jumps to the next timer after that.

So no test waits for a clock: what happens after a second happens at once, in its order, however busy the machine is.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Final

import pytest

SETTLE_SECONDS: Final = 0.3
"""Timers that are due within so long belong to what has been begun; those of clocks and polls are further away."""
ROUNDS_PER_LOOK: Final = 8
"""Rounds of a busy loop between two questions to the operating system: each costs as much as a round."""
PATIENCE_SECONDS: Final = 180.0
"""Of real time, for a thread that works: a test that takes longer is stuck."""


class _Selector(selectors.DefaultSelector):
    """Hears from the loop whether it has work at hand, and moves its time on when it has none."""

    def __init__(self) -> None:
        super().__init__()
        self.now = time.monotonic()
        self.rounds = 0
        """How often the loop had work at hand."""
        self.threads_at_work = 0
        self.until: float | None = None
        """To which instant at most time may be moved on; any when None."""
        self.settled: Callable[[], object] = lambda: None
        """Called when nothing is left to do until then."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what has come in; wait for real only for threads and for other programs."""
        if timeout is not None and timeout <= 0:
            self.rounds += 1
            return [] if self.rounds % ROUNDS_PER_LOOK else super().select(0)
        if self.threads_at_work:
            return self._wait()
        if heard := super().select(0):
            return heard
        if self.until is not None and (timeout is None or self.now + timeout > self.until):
            self.until = None
            self.settled()
            return []
        if timeout is None:
            return self._wait()
        self.now += timeout
        return []

    def _wait(self) -> list[tuple[selectors.SelectorKey, int]]:
        heard = super().select(PATIENCE_SECONDS)
        assert heard, f"nothing has happened for {PATIENCE_SECONDS:.0f} seconds"
        return heard


class SteppedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._steps = _Selector()
        super().__init__(self._steps)

    def time(self) -> float:
        return self._steps.now

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Run in a thread, and let no time pass meanwhile."""
        future = super().run_in_executor(executor, func, *args)
        self._steps.threads_at_work += 1
        future.add_done_callback(self._returned)
        return future

    def _returned(self, _: asyncio.Future[Any]) -> None:
        self._steps.threads_at_work -= 1

    async def settle(self) -> None:
        """Wait until nothing is left to do, timers that are due soon included."""
        settled = asyncio.Event()
        self._steps.until, self._steps.settled = self.time() + SETTLE_SECONDS, settled.set
        await settled.wait()


async def settle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until nothing is left to do; stands in for Textual's guess by the processor's time."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SteppedLoop)
    await loop.settle()


def loop_seconds() -> float:
    """Return the time of the running loop; the machine's where there is none."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


def step_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Textual's timers go by the time of the loop, and its pilots wait for what there is to do."""
    monkeypatch.setattr("textual._time.get_time", loop_seconds)
    monkeypatch.setattr("textual.app.wait_for_idle", settle)
    monkeypatch.setattr("textual.pilot.wait_for_idle", settle)
    monkeypatch.setattr("karptui.app.screen_loop", SteppedLoop)
