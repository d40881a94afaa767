"""Moments of plays on every screen, and the way back to where each was opened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

from textual.app import App
from textual.screen import Screen

from karptui.screens.destinations import ToForward, ToMoment
from karptui.screens.host import host_of
from karptui.screens.registry import ENTRIES
from karptui.session.answers import PlayMoment
from karptui.session.moments import PlaySessions, SwitchResult
from karptui.views.row import Tone


class _Opened(NamedTuple):
    back: ToForward
    screen: Screen[Any]
    mode: str


class MomentScreens:
    """Shows moments in place of the cluster that is followed; one within the other."""

    def __init__(self, app: App[None], visits: PlaySessions) -> None:
        self._app, self._host, self._visits = app, host_of(app), visits
        self._opened: list[_Opened] = []
        """Where each of them was opened."""

    @property
    def shown(self) -> PlayMoment | None:
        """The moment that screens show; None for the present cluster."""
        return self._visits.moment

    def visit(self, to: ToMoment) -> None:
        """Show the cluster at a moment of a play on every screen, until that is left."""
        self._work(partial(self._enter, to))

    async def _enter(self, to: ToMoment) -> None:
        opened = _Opened(to.back, self._app.screen, self._app.current_mode)
        visit = await self._visits.enter(to.moment)
        if visit is SwitchResult.SHOWN:
            self._opened.append(opened)
            self._host.open_screen(ENTRIES[0].name)
            self._host.poll_now()
        elif visit is SwitchResult.NOT_KEPT:
            self._host.tell("this forecast is gone: ctrl+r simulates again", Tone.WARNING)

    def step(self, by: int) -> None:
        """Show a later moment of the play, or an earlier one."""
        self._work(partial(self._step, by))

    async def _step(self, by: int) -> None:
        visit = await self._visits.step(by)
        if visit is SwitchResult.SHOWN:
            self._host.poll_now()
        elif visit is SwitchResult.NOT_KEPT:
            self._host.tell("the forecast ends here" if by > 0 else "the forecast begins here")

    def leave(self) -> bool:
        """Go back to where the moment was opened; return whether one was shown."""
        if not self._visits.leave():
            return False
        opened = self._opened.pop()
        self._app.switch_mode(opened.mode)
        if self._app.screen is not opened.screen:
            self._host.open_screen(opened.mode)
            self._host.go(opened.back)
        self._host.poll_now()
        return True

    def end(self) -> None:
        """Return to the present cluster, on any screen."""
        self._visits.end()
        self._opened.clear()

    def _work(self, what: Callable[[], Awaitable[None]]) -> None:
        self._app.run_worker(what, exclusive=True, group="moment")
