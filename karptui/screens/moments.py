"""Moments of plays and of the history on every screen, and the way back to where each was opened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from textual.app import App
from textual.screen import Screen

from karptui.errors import RequestError
from karptui.kube.timestamps import parse_past
from karptui.screens.command_line import CommandError
from karptui.screens.destinations import ToForward, ToMoment
from karptui.screens.host import host_of
from karptui.screens.registry import ENTRIES
from karptui.session.answers import PastMoment, PastStep, SwitchResult
from karptui.session.moments import Moment, MomentSessions
from karptui.views.moments import BEGINS_LATER, NO_FURTHER_MARK, RESULTS, moment_text
from karptui.views.row import Tone


class _Opened(NamedTuple):
    back: ToForward
    screen: Screen[Any]
    mode: str


class MomentScreens:
    """Shows moments in place of the cluster that is followed; one within the other."""

    def __init__(self, app: App[None], visits: MomentSessions) -> None:
        self._app, self._host, self._visits = app, host_of(app), visits
        self._opened: list[_Opened | None] = []
        """Where each of them was opened; None for the past, which is shown on any screen."""

    @property
    def shown(self) -> Moment | None:
        return self._visits.moment

    def visit(self, to: ToMoment) -> None:
        self._work(partial(self._enter, to))

    async def _enter(self, to: ToMoment) -> None:
        opened = _Opened(to.back, self._app.screen, self._app.current_mode)
        visit = await self._visits.enter(to.moment)
        if visit is SwitchResult.SHOWN:
            self._opened.append(opened)
            self._host.open_screen(ENTRIES[0].name)
            self._host.poll_now()
        elif visit is SwitchResult.NOT_KEPT:
            self._host.tell(RESULTS[visit], Tone.WARNING)

    def step(self, by: int) -> None:
        if self.shown is None or isinstance(self.shown, PastMoment):
            self._work(partial(self._go, PastStep(by=by)))
        else:
            self._work(partial(self._step, by))

    async def _step(self, by: int) -> None:
        visit = await self._visits.step(by)
        if visit is SwitchResult.SHOWN:
            self._host.poll_now()
        elif visit is SwitchResult.NOT_KEPT:
            self._host.tell("the forecast ends here" if by > 0 else "the forecast begins here")

    def step_mark(self, by: int) -> None:
        self._work(partial(self._go, PastStep(by=by, to_mark=True)))

    def history(self) -> Path | str:
        history = self._visits.history()
        return history if isinstance(history, Path) else RESULTS[history]

    def go_to(self, text: str) -> None:
        """Show a moment of the history that the user names. Raises CommandError if the text names none."""
        try:
            at = parse_past(text)
        except ValueError as error:
            raise CommandError(str(error)) from None
        self._work(partial(self._go, PastStep(at=at)))

    async def _go(self, step: PastStep) -> None:
        try:
            result = await self._visits.go_past(step)
        except RequestError as error:
            self._host.tell(str(error), Tone.WARNING)
            return
        if result is SwitchResult.SHOWN:
            self._opened = [None]
            self._show_now()
            if isinstance(self.shown, PastMoment) and (text := moment_text(self.shown)):
                self._host.tell(text)
        elif result is SwitchResult.NO_MARK:
            self._host.tell(NO_FURTHER_MARK[step.by])
        elif result is SwitchResult.BEGINNING and step.at is not None:
            self._host.tell(BEGINS_LATER, Tone.WARNING)
        elif result is not SwitchResult.OVERTAKEN:
            self._host.tell(RESULTS[result])

    def leave(self) -> bool:
        if not self._visits.leave():
            return False
        if (opened := self._opened.pop()) is not None:
            self._app.switch_mode(opened.mode)
            if self._app.screen is not opened.screen:
                self._host.open_screen(opened.mode)
                self._host.go(opened.back)
        self._show_now()
        return True

    def end(self) -> None:
        self._visits.end()
        self._opened.clear()

    def return_now(self) -> None:
        if self.shown is not None:
            self._app.workers.cancel_group(self._app, "moment")
            self.end()
            self._show_now()

    def _show_now(self) -> None:
        """Show the cluster that has taken the place of another on this screen, and the keys for it."""
        self._host.poll_now()
        self._app.screen.refresh_bindings()

    def _work(self, what: Callable[[], Awaitable[None]]) -> None:
        self._app.run_worker(what, exclusive=True, group="moment")
