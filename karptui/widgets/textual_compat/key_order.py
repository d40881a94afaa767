"""Keys are taken one after the other: the next once what the one before has opened is there to take it.

Textual hears the keys of its priority bindings at once, and all others once they have gone round the widgets, on
whatever screen is in front by then; the focus of a screen that opens waits for its turn too. Measured by
tests/ui/test_typing.py: enter and 1 at once opened the first node, 5 and / at once filtered nothing, ctrl+t and →
at once scrolled the table behind the what-if. Could become upstream: "Keys overtake each other".

And when a screen can take keys: without, the second of "y" and "G" typed at once on a detail reaches a screen without
widgets, and ends the app. Could become upstream: "Keys wait until the screen that they are for is mounted".
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import Screen

PATIENCE_SECONDS: Final = 3.0
"""What takes longer to be done with a key holds up no other."""
LOOK_AGAIN_SECONDS: Final = 0.01
"""How soon it is seen that a screen has opened what it was asked for."""
OPENING: Final = frozenset({"opening", "asking", "moment"})
"""Groups of the workers that open something: keys behind are for what they open."""
MOST_ROUNDS: Final = 8
"""A key is done when nothing is left of what it made widgets say; those that talk without end hold up no key."""

Typed: TypeAlias = events.Key | events.Paste


class KeyOrder:
    """Keeps keys while an earlier one is on its way."""

    def __init__(
        self,
        app: App[None],
        take: Callable[[Typed], Awaitable[None]],
        is_early: Callable[[Typed], bool] = lambda _: False,
    ) -> None:
        """Begin with no key.

        Args:
            app: Whose keys they are.
            take: Has a key heard, or sent to the widget that has the keys.
            is_early: Whether what a key is for is still on its way to the screen in front.
        """
        self._app, self._take, self._is_early = app, take, is_early
        self._kept: deque[Typed] = deque()
        self._under_way: object | None = None

    async def press(self, typed: Typed) -> None:
        """Have a key taken in its turn."""
        self._kept.append(typed)
        if self._under_way is None:
            await self._take_next()

    async def _take_next(self, patience_until: float | None = None) -> None:
        if not self._kept or not self._app.screen_stack:
            self._under_way = None
            return
        turn = self._under_way = object()
        await screen_ready(self._app)
        loop = asyncio.get_running_loop()
        until = patience_until if patience_until is not None else loop.time() + PATIENCE_SECONDS
        if loop.time() < until and self._is_early(self._kept[0]):
            loop.call_later(LOOK_AGAIN_SECONDS, self._app.call_later, self._take_next, until)
            return
        pumps = self._pumps()
        loop.call_later(PATIENCE_SECONDS, self._app.call_later, self._done, turn)
        try:
            await self._take(self._kept.popleft())
        finally:
            self._go_round(turn, pumps, 1)

    def _pumps(self) -> tuple[MessagePump, ...]:
        """Return what has the keys and what it stands in, up to the screen."""
        stack = self._app.screen_stack
        if not stack:
            return ()
        inner = stack[-1].focused or stack[-1]
        return tuple(one for one in inner.ancestors_with_self if one is not self._app)

    def _go_round(self, turn: object, pumps: Sequence[MessagePump], rounds: int, begin: int = 0) -> None:
        """Follow a key through the queues that it goes through, one behind it in each."""
        for index in range(begin, len(pumps)):
            if pumps[index].call_later(self._go_round, turn, pumps, rounds, index + 1):
                return
        self._app.call_later(self._been_round, turn, pumps, rounds)

    async def _been_round(self, turn: object, pumps: Sequence[MessagePump], rounds: int) -> None:
        await screen_ready(self._app)
        front = self._pumps()
        if turn is not self._under_way:
            return
        if self._is_opening():
            loop = asyncio.get_running_loop()
            loop.call_later(LOOK_AGAIN_SECONDS, self._app.call_later, self._been_round, turn, pumps, 1)
        elif rounds < MOST_ROUNDS and any(one.message_queue_size for one in (*pumps, *front, self._app)):
            self._go_round(turn, (*pumps, *(one for one in front if one not in pumps)), rounds + 1)
        else:
            await self._done(turn)

    def _is_opening(self) -> bool:
        nodes = (self._app, *self._app.screen_stack[-1:])
        workers = self._app.workers
        return any(one.group in OPENING and one.node in nodes and not one.is_finished for one in workers)

    async def _done(self, turn: object) -> None:
        if turn is self._under_way:
            self._under_way = None
            await self._take_next()


async def screen_ready(app: App[Any]) -> None:
    """Wait until the widgets of the screen in front are there."""
    while app.is_running and app.screen_stack and not app.screen.is_mounted:
        await mounted(app.screen)


async def mounted(screen: Screen[Any]) -> None:
    """Wait until the widgets of a screen are there."""
    await screen._mounted_event.wait()  # noqa: SLF001
