"""Keys are taken one after the other: the next once what the one before has opened is there to take it.

Textual hears the keys of its priority bindings at once, and all others once they have gone round the widgets, on
whatever screen is in front by then; the focus of a screen that opens waits for its turn too. Measured by
tests/ui/test_typing.py: enter and 1 at once opened the first node, 5 and / at once filtered nothing, ctrl+t and →
at once scrolled the table behind the what-if. Could become upstream: "Keys overtake each other".

And when a screen can take keys: without, the second of "y" and "G" typed at once on a detail reaches a screen without
widgets, and ends the app. Could become upstream: "Keys wait until the screen that they are for is mounted".

What a key has done is looked for only when another one comes: a key that nobody has typed ahead of costs nothing
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
"""For so many turns of the loop it is seen at once that a key is done, later a little after."""
LOOK_AGAIN_SECONDS: Final = 0.01
IMPATIENT_SECONDS: Final = 1.0
"""A key that leaves, pressed so long after one that is not done yet, is for leaving it, and not typed ahead."""
_EARLY_SECONDS: Final = 3.0
"""For so long keys wait for what they are for: nobody knows whether it comes."""
OPENING: Final = frozenset({"opening", "asking", "moment"})
"""Groups of the workers that open something: keys behind are for what they open."""
CALLED_OFF: Final = frozenset({"asking", "moment"})
"""Those that a key back calls off, not the screen in front: they change nothing before what they open is there."""

Typed: TypeAlias = events.Key | events.Paste


class Leaving(Enum):
    """Where a key leads that leaves what is in front."""

    BACK = 1
    ELSEWHERE = 2


class KeyOrder:
    """Keeps keys while an earlier one is on its way."""

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
        """Begin with no key.

        Args:
            app: Whose keys they are.
            take: Has a key heard, or sent to the widget that has the keys.
            is_early: Whether what a key is for is still on its way to the screen in front.
            leaves: Where a key leads that leaves what is in front; None for any other.
            waits: Says that keys wait for one that takes long.
            called_off: Says that what they waited for does not come.
        """
        self._app, self._take = app, take
        self._is_early, self._leaves = is_early, leaves
        self._waits, self._called_off = waits, called_off
        self._kept: deque[Typed] = deque()
        self._pumps: tuple[MessagePump, ...] = ()
        """What the last key goes through."""
        self._since = 0.0
        """When the key or click was taken that is not done yet, or the first began to wait."""
        self._has_said = False
        self._turn = 0
        """Of the keys that are kept: what is looked for on behalf of others, which were dropped, is over."""
        self._early_since: float | None = None
        """Since when the first key waits for what it is for; None while it does not."""
        self._in_vain: WeakSet[Screen[Any]] = WeakSet()
        """Screens whose keys have waited in vain for what they are for."""

    async def press(self, typed: Typed) -> None:
        """Have a key taken in its turn; one that leaves, at once where what is under way takes long."""
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
        """Note that a click, or a key that waits for none, is taken now: nobody has waited yet for what it opens."""
        if not self._kept and not self._is_opening():
            self._since = asyncio.get_running_loop().time()

    async def _take_next(self, turn: int, rounds: int = 0) -> None:
        """Take the first key, unless what the one before does is not done; called where the app receives events."""
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
        """Return what has the keys and what it stands in, up to the screen."""
        stack = self._app.screen_stack
        if not stack:
            return ()
        inner = stack[-1].focused or stack[-1]
        return tuple(one for one in inner.ancestors_with_self if one is not self._app)

    def _is_held(self) -> bool:
        """Whether the first key has to wait: for what the one before it does, or for what it is for."""
        if any(map(_is_at_work, (*self._pumps, *self._pumps_in_front()))) or self._is_opening():
            return True
        return not self._app.screen.is_mounted or self._is_too_early(self._kept[0])

    def _is_too_early(self, typed: Typed) -> bool:
        """Whether to wait for what a key is for; where a screen's keys have waited in vain, the next do not."""
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
        return [one for one in workers if one.group in OPENING and one.node in nodes and not one.is_finished]

    def _is_opening(self) -> bool:
        return bool(self._opening())

    def _call_off(self) -> bool:
        """Open nothing that is not in front yet; return whether anything would have been."""
        found = [one for one in self._opening() if one.group in CALLED_OFF]
        for one in found:
            one.cancel()
        return bool(found)


def _is_at_work(pump: MessagePump) -> bool:
    """Whether messages wait for a widget, or it is busy with one: it does not wait for the next."""
    # Textual says how many wait, but not whether one is being heard.
    news: asyncio.Event = pump._message_queue.ready_event  # noqa: SLF001
    return pump.is_running and (news.is_set() or not news._waiters)  # noqa: SLF001


async def screen_ready(app: App[Any]) -> None:
    """Wait until the widgets of the screen in front are there."""
    while app.is_running and app.screen_stack and not app.screen.is_mounted:
        await mounted(app.screen)


async def mounted(screen: Screen[Any]) -> None:
    """Wait until the widgets of a screen are there."""
    await screen._mounted_event.wait()  # noqa: SLF001
