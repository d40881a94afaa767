"""Handles keys in order: each key waits until the screen that the key before it opened is ready.

Textual handles priority bindings at once and other keys after a round through the widgets, on whatever screen is then
in front; the focus of an opening screen is deferred too. Measured by tests/ui/test_typing.py: enter and 1 typed at once
opened the first node, 5 and / filtered nothing, ctrl+t and → scrolled the table behind the what-if. Possible upstream
change: "Keys overtake each other".

It also waits until a screen can take keys: otherwise the second of "y" and "G" reaches a screen without widgets and
ends the app. Possible upstream change: "Keys wait until their screen is mounted".

Whether a key is done is checked only if another key arrives, so a single key costs nothing
(benchmarks/whatif_keys.py).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, Final, TypeAlias
from weakref import WeakSet

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.worker import Worker

LOOKS_AT_ONCE: Final = 64
"""Loop turns in which a finished key is noticed at once; later it is polled."""
LOOK_AGAIN_SECONDS: Final = 0.01
IMPATIENT_SECONDS: Final = 1.0
"""A leaving key pressed this many seconds after an unfinished key cancels that key."""
_EARLY_SECONDS: Final = 3.0
"""Maximum time a key waits for its target, in seconds: it may never come."""
OPENING: Final = frozenset({"opening", "asking", "moment"})
"""Worker groups that open something; later keys are for the opened screen."""
CALLED_OFF: Final = frozenset({"asking", "moment"})
"""Worker groups that a leaving key cancels: they change nothing until they finish."""

Typed: TypeAlias = events.Key | events.Paste


class Leaving(Enum):
    """Destination of a key that leaves the front screen."""

    BACK = 1
    ELSEWHERE = 2


class KeyOrder:
    """Queues keys while an earlier one is unfinished."""

    def __init__(
        self,
        app: App[None],
        take: Callable[[Typed], Awaitable[None]],
        *,
        is_early: Callable[[Typed], bool] = lambda _: False,
        leaves: Callable[[Typed], Leaving | None] = lambda _: None,
        waits: Callable[[], object] = lambda: None,
        called_off: Callable[[], object] = lambda: None,
    ) -> None:
        self._app, self._take = app, take
        self._is_early, self._leaves = is_early, leaves
        self._waits, self._called_off = waits, called_off
        self._kept: deque[Typed] = deque()
        self._pumps: tuple[MessagePump, ...] = ()
        """Message pumps of the last key."""
        self._since = 0.0
        """When the key or click was taken that is not done yet, or the first began to wait."""
        self._has_said = False
        self._turn = 0
        """Generation of the queue: checks for dropped keys end when it changes."""
        self._early_since: float | None = None
        """Since when the first key has waited for its target; None if it does not."""
        self._in_vain: WeakSet[Screen[Any]] = WeakSet()
        """Screens whose keys have waited in vain."""

    async def press(self, typed: Typed) -> None:
        """Handle a key in order; a leaving key is handled at once if the current one is slow."""
        now = asyncio.get_running_loop().time()
        is_impatient = now - self._since >= IMPATIENT_SECONDS and (self._kept or self._is_opening())
        if is_impatient and (leaving := self._leaves(typed)):
            self._kept.clear()
            self._early_since = None
            if self._call_off() and leaving is Leaving.BACK:
                self._called_off()
            else:
                await self._take_now(typed)
            return
        self._kept.append(typed)
        if len(self._kept) == 1:
            self._has_said = False
            if not self._is_opening():
                self._since = now
            self._turn += 1
            await self._take_next(self._turn)

    def note_out_of_turn(self) -> None:
        """Note that a click or an immediate key is handled now, so no key has waited for its target yet."""
        if not self._kept and not self._is_opening():
            self._since = asyncio.get_running_loop().time()

    async def _take_next(self, turn: int, rounds: int = 0) -> None:
        """Handle the first key, unless the one before is unfinished; called from the app's message loop."""
        if turn != self._turn or not self._kept or not self._app.screen_stack:
            return
        is_behind_others = not rounds and self._app.message_queue_size
        if is_behind_others or self._is_held():
            self._look(turn, rounds + 1)
            return
        try:
            await self._take_now(self._kept.popleft())
        finally:
            self._look(turn, 0)

    async def _take_now(self, typed: Typed) -> None:
        self._since, self._has_said = asyncio.get_running_loop().time(), False
        self._pumps = self._pumps_in_front()
        await self._take(typed)

    def _look(self, turn: int, rounds: int, looks: int = 0) -> None:
        """Go on with the next key as soon as the one before is done."""
        loop = asyncio.get_running_loop()
        if turn != self._turn or not self._kept:
            return
        if not self._app.is_running or not self._is_held():
            self._app.call_later(self._take_next, turn, rounds)
        elif looks < LOOKS_AT_ONCE:
            loop.call_soon(self._look, turn, rounds, looks + 1)
        else:
            if loop.time() - self._since >= IMPATIENT_SECONDS and not self._has_said:
                self._has_said = True
                self._waits()
            loop.call_later(LOOK_AGAIN_SECONDS, self._look, turn, rounds, looks)

    def _pumps_in_front(self) -> tuple[MessagePump, ...]:
        """Return the focused widget and its ancestors up to the screen."""
        stack = self._app.screen_stack
        if not stack:
            return ()
        inner = stack[-1].focused or stack[-1]
        return tuple(ancestor for ancestor in inner.ancestors_with_self if ancestor is not self._app)

    def _is_held(self) -> bool:
        """Whether the first key must wait for the key before it, or for its target."""
        if any(map(_is_at_work, (*self._pumps, *self._pumps_in_front()))) or self._is_opening():
            return True
        return not self._app.screen.is_mounted or self._is_too_early(self._kept[0])

    def _is_too_early(self, typed: Typed) -> bool:
        """Whether to wait for the target of a key; no longer after a wait in vain on that screen."""
        if not self._is_early(typed) or self._app.screen in self._in_vain:
            self._early_since = None
            return False
        now = asyncio.get_running_loop().time()
        if self._early_since is None:
            self._early_since = now
        if now - self._early_since < _EARLY_SECONDS:
            return True
        self._early_since = None
        self._in_vain.add(self._app.screen)
        return False

    def _opening(self) -> list[Worker[Any]]:
        nodes = (self._app, *self._app.screen_stack[-1:])
        workers = self._app.workers
        return [w for w in workers if w.group in OPENING and w.node in nodes and not w.is_finished]

    def _is_opening(self) -> bool:
        return bool(self._opening())

    def _call_off(self) -> bool:
        """Cancel whatever is opening; return whether anything was."""
        workers = [worker for worker in self._opening() if worker.group in CALLED_OFF]
        for worker in workers:
            worker.cancel()
        return bool(workers)


def _is_at_work(pump: MessagePump) -> bool:
    """Whether messages wait for a widget, or it is busy with one: it does not wait for the next."""
    # Textual tells the number of waiting messages, not whether one is being handled.
    news: asyncio.Event = pump._message_queue.ready_event  # noqa: SLF001
    return pump.is_running and (news.is_set() or not news._waiters)  # noqa: SLF001


async def screen_ready(app: App[Any]) -> None:
    """Wait until the widgets of the front screen are mounted."""
    while app.is_running and app.screen_stack and not app.screen.is_mounted:
        await mounted(app.screen)


async def mounted(screen: Screen[Any]) -> None:
    """Wait until the widgets of a screen are there."""
    await screen._mounted_event.wait()  # noqa: SLF001
