"""The order of keys and other messages; tests/ui/test_typing.py tests the effect on screens."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast
from weakref import ref

import pytest
from textual import events
from textual.app import App

from karptui.widgets.textual_compat import key_order
from karptui.widgets.textual_compat.key_order import KeyOrder, Leaving, Typed


class FakeScreen:
    """A screen without widgets."""

    focused = None
    ancestors_with_self = ()
    is_mounted = True


class FakeApp:
    """An app with a message queue and one screen."""

    is_running = True

    def __init__(self) -> None:
        self.queue: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self.screen_stack = [FakeScreen()]
        self.workers = [SimpleNamespace(group="opening", node=self, is_finished=False)]

    @property
    def screen(self) -> FakeScreen:
        return self.screen_stack[-1]

    @property
    def message_queue_size(self) -> int:
        return len(self.queue)

    def call_later(self, callback: Callable[..., Any], *args: Any) -> None:
        self.queue.append((callback, args))

    async def hear_all(self) -> None:
        while self.queue:
            callback, args = self.queue.popleft()
            heard = callback(*args)
            if asyncio.iscoroutine(heard):
                await heard
            await asyncio.sleep(0)


async def test_a_key_after_escape_is_handled_after_the_messages_of_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pending check for the dropped key must not handle the later key too early."""
    monkeypatch.setattr(key_order, "IMPATIENT_SECONDS", 0.0)
    app, log = FakeApp(), list[str]()

    async def take(typed: Typed) -> None:
        assert isinstance(typed, events.Key)
        log.append(typed.key)

    def leaves(typed: Typed) -> Leaving | None:
        return Leaving.BACK if isinstance(typed, events.Key) and typed.key == "escape" else None

    order = KeyOrder(cast("App[None]", app), take, leaves=leaves)
    await order.press(events.Key("down", None))
    app.workers[0].is_finished = True
    while not app.queue:
        await asyncio.sleep(0)
    await order.press(events.Key("escape", None))
    app.call_later(log.append, "what escape has said")
    await order.press(events.Key("up", None))
    await app.hear_all()
    assert log == ["escape", "what escape has said", "up"]


class FakeRows:
    """Rows that keys wait for, and the keys handled so far."""

    def __init__(self) -> None:
        self.app, self.taken, self.are_coming = FakeApp(), list[str](), True
        self.app.workers.clear()
        self._order = KeyOrder(
            cast("App[None]", self.app),
            self._take,
            is_early=lambda _: self.are_coming,
            leaves=lambda typed: Leaving.ELSEWHERE if isinstance(typed, events.Key) and typed.key == "q" else None,
        )

    async def _take(self, typed: Typed) -> None:
        assert isinstance(typed, events.Key)
        self.taken.append(typed.key)

    async def taken_after(self, key: str, seconds: float) -> list[str]:
        """Press a key, and return the keys that are handled within this time."""
        self.taken.clear()
        await self._order.press(events.Key(key, None))
        await self.in_time(seconds)
        return self.taken

    async def in_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.app.hear_all()


async def test_keys_wait_for_rows_until_one_wait_on_the_screen_was_in_vain() -> None:
    rows = FakeRows()
    assert not await rows.taken_after("enter", 0.4)
    rows.are_coming = False
    await rows.in_time(0.4)
    assert rows.taken == ["enter"]
    await asyncio.sleep(5)
    rows.are_coming = True
    assert not await rows.taken_after("enter", 0.4)
    rows = FakeRows()
    assert await rows.taken_after("enter", 3.1) == ["enter"]
    rows.app.screen_stack.append(FakeScreen())
    assert not await rows.taken_after("enter", 0.4)
    await rows.in_time(3)
    rows.app.screen_stack.pop()
    assert await rows.taken_after("enter", 0) == ["enter"]


async def test_a_wait_ended_by_a_leaving_key_does_not_count_as_in_vain() -> None:
    rows = FakeRows()
    assert not await rows.taken_after("enter", 1.5)
    assert await rows.taken_after("q", 5) == ["q"]
    assert not await rows.taken_after("enter", 0.4)


async def test_a_screen_is_freed_although_keys_waited_on_it() -> None:
    rows = FakeRows()
    screen = ref(rows.app.screen)
    await rows.taken_after("enter", 3.1)
    rows.app.screen_stack[:] = [FakeScreen()]
    assert screen() is None
