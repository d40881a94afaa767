"""The app's event loop polls the system rarely while it has work, and misses no event."""

from __future__ import annotations

import asyncio
import selectors
import socket

import pytest

from karptui.app import KarptuiApp
from karptui.widgets.textual_compat import loop as module
from karptui.widgets.textual_compat.loop import POLL_SECONDS, ScreenSelector, screen_loop
from tests.builders.instants import Ticks


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    result = Ticks(1000.0)
    monkeypatch.setattr(module, "time", result)
    return result


def test_a_busy_loop_polls_only_after_the_poll_interval(clock: Ticks) -> None:
    near, far = socket.socketpair()
    with near, far, ScreenSelector() as selector:
        selector.register(near, selectors.EVENT_READ)
        assert selector.select(0) == [], "no data yet"
        far.send(b"x")
        assert selector.select(0) == [], "the poll interval has not passed"
        assert selector.select(-1) == []
        clock.now += POLL_SECONDS
        [(key, _)] = selector.select(0)
        assert key.fileobj is near


@pytest.mark.parametrize("seconds", [None, 5.0])
def test_an_idle_loop_is_woken_immediately(clock: Ticks, seconds: float | None) -> None:
    near, far = socket.socketpair()
    with near, far, ScreenSelector() as selector:
        selector.register(near, selectors.EVENT_READ)
        selector.select(0)
        far.send(b"x")
        [(key, _)] = selector.select(seconds)
        assert key.fileobj is near
        assert clock.now == 1000.0, "independent of the poll interval"


def test_a_busy_loop_receives_data_of_sockets_and_threads() -> None:
    async def listen() -> tuple[bytes, str]:
        loop = asyncio.get_running_loop()
        near, far = socket.socketpair()
        with near, far:
            near.setblocking(False)
            heard = asyncio.ensure_future(loop.sock_recv(near, 4))
            answer = loop.run_in_executor(None, lambda: "done")
            far.send(b"here")
            while not (heard.done() and answer.done()):
                await asyncio.sleep(0)  # endless work: the loop never waits
            return heard.result(), answer.result()

    with asyncio.Runner(loop_factory=screen_loop) as runner:
        # asyncio's loops have no public attribute for the selector.
        assert isinstance(runner.get_loop()._selector, ScreenSelector)  # type: ignore[attr-defined]
        assert runner.run(asyncio.wait_for(listen(), 30)) == (b"here", "done")


def test_the_app_runs_in_this_loop_and_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def run(self: KarptuiApp, **options: object) -> object:
        loops.append(asyncio.get_running_loop())
        assert isinstance(loops[0]._selector, ScreenSelector)  # type: ignore[attr-defined]  # asyncio types no selector
        return options

    monkeypatch.setattr("karptui.app.screen_loop", screen_loop)
    monkeypatch.setattr(KarptuiApp, "run_async", run)
    assert KarptuiApp().run(headless=True) == {"headless": True}
    [loop] = loops
    assert loop.is_closed()
