"""The order of keys beside what else an app hears; what it comes to on the screens is in tests/ui/test_typing.py."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from textual import events
from textual.app import App

from karptui.widgets.textual_compat import key_order
from karptui.widgets.textual_compat.key_order import KeyOrder, Leaving, Typed


class Hearing:
    """Stands for an app: what it is to hear, one after the other, and one screen without widgets."""

    is_running = True

    def __init__(self) -> None:
        self.queue: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self.screen = SimpleNamespace(focused=None, ancestors_with_self=(), is_mounted=True)
        self.screen_stack = [self.screen]
        self.workers = [SimpleNamespace(group="opening", node=self, is_finished=False)]

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


async def test_a_key_behind_one_that_left_is_taken_behind_what_that_has_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was looked for on behalf of the keys that were dropped takes no later one."""
    monkeypatch.setattr(key_order, "IMPATIENT_SECONDS", 0.0)
    app, log = Hearing(), list[str]()

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
