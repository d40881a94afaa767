"""The order of keys: which keys wait for which screen or rows, and which act at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from textual import events
from textual.app import App

from karptui.screens.frame import FrameScreen, takes_text
from karptui.screens.host import host_of
from karptui.session.throttle import KEYBOARD
from karptui.views.row import Tone
from karptui.widgets.textual_compat.key_order import KeyOrder, Leaving, Typed, screen_ready

_LEAVING: Final = {
    **dict.fromkeys(("back", "leave", "close", "give_up"), Leaving.BACK),
    "open_screen": Leaving.ELSEWHERE,
}
"""Actions that leave the front screen."""


class KeysInTurn:
    """Handles typed keys in order, and lets threads yield to them."""

    def __init__(self, app: App[None], take: Callable[[events.Event], Awaitable[None]]) -> None:
        self._app, self._take = app, take
        self._early: list[events.Key] | None = []
        """Keys that came before there was a screen to take them; None from then on."""
        self._order = KeyOrder(
            app,
            take,
            is_early=self._is_early,
            leaves=self._leaves,
            waits=lambda: host_of(app).tell("keys wait until the screen is open; esc skips it"),
            called_off=lambda: host_of(app).tell("cancelled: nothing is opened", Tone.MUTED),
        )

    async def begin(self) -> None:
        """Hand on the keys that came before there was a screen."""
        early, self._early = self._early or (), None
        for key in early:
            await self.hear(key)

    async def hear(self, event: events.Key | events.Paste | events.MouseDown) -> None:
        """Have a key, a paste or a click taken in its turn."""
        is_end = isinstance(event, events.Key) and event.key == "ctrl+c"
        if isinstance(event, events.Key):
            KEYBOARD.pressed()
            if self._early is not None and not is_end:
                self._early.append(event)
                return
        if is_end or isinstance(event, events.MouseDown):
            await screen_ready(self._app)
            self._order.note_out_of_turn()
            await self._take(event)
        else:
            await self._order.press(event)

    def _is_early(self, typed: Typed) -> bool:
        """Whether a key is for rows that are still loading."""
        screen = self._app.screen
        return isinstance(typed, events.Key) and isinstance(screen, FrameScreen) and screen.awaits(typed.key)

    def _leaves(self, typed: Typed) -> Leaving | None:
        """Return the destination of a key that leaves the front screen."""
        screen = self._app.screen
        binding = screen.active_bindings.get(typed.key) if isinstance(typed, events.Key) else None
        if binding is None or takes_text(screen):
            return None
        return _LEAVING.get(binding.binding.action.partition("(")[0])
