"""The what-if over the frozen demo cluster."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from karptui.app import KarptuiApp
from karptui.config import Config
from karptui.screens.whatif.screen import WhatIfScreen
from karptui.session.replays import Replayer, SharedBase
from karptui.whatif.run import Answer
from karptui.widgets.control_list import ControlList
from tests.builders import NOW_NS
from tests.ui import stage
from tests.ui.stage import demo_app


def counting_replayer(tell: Callable[[Answer], None], shared_base: SharedBase) -> Replayer:
    """Return a replayer with a clock by which every answer takes 41 ms."""
    ticks = itertools.count()
    return Replayer(tell, lambda: next(ticks) * 0.041, shared_base)


class HandClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self._now_ns = NOW_NS

    def now_ns(self) -> int:
        return self._now_ns

    def forward(self, by_ns: int) -> None:
        self._now_ns += by_ns


def prepare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace measured durations by fixed ones, so that pictures do not depend on the machine."""
    monkeypatch.setattr("karptui.serving.session.Replayer", counting_replayer)


def make_app(**given: Any) -> KarptuiApp:
    clock = HandClock()
    return demo_app(clock, config=Config(**given))


def forward(app: KarptuiApp, by_ns: int) -> None:
    """Let time pass."""
    assert isinstance(app.feed.clock, HandClock)
    app.feed.clock.forward(by_ns)


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until the source is read and answers are shown, without an analysis of blockers."""
    await stage.settled(pilot, is_analysed=False)


async def begin(pilot: Pilot[Any], line: str = "whatif NodePool general") -> WhatIfScreen:
    """Open the what-if by a command."""
    app = pilot.app
    assert isinstance(app, KarptuiApp)
    await settled(pilot)
    app.run_command(line)
    await settled(pilot)
    assert isinstance(app.screen, WhatIfScreen)
    return app.screen


@asynccontextmanager
async def open_whatif(
    line: str = "whatif NodePool general", size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[KarptuiApp, Pilot[None], WhatIfScreen]]:
    """Run the app over the demo and open the what-if by a command."""
    app = make_app()
    async with app.run_test(size=size) as pilot:
        yield app, pilot, await begin(pilot, line)


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one by one, each after the previous one has taken effect; words are typed at once."""
    for is_word, run in itertools.groupby(keys, key=lambda key: len(key) == 1):
        word, focused = list(run), pilot.app.focused
        if is_word and len(word) > 1 and isinstance(focused, Input):
            focused.insert_text_at_cursor("".join(word))
            await pilot.pause()
            continue
        for key in word:
            await pilot.press(key)
    await settled(pilot)


async def control(pilot: Pilot[Any], title: str, *keys: str) -> None:
    """Press keys on a quick edit."""
    screen = pilot.app.screen
    assert isinstance(screen, WhatIfScreen)
    controls = screen.query_one(ControlList)
    controls.focus()
    controls.move_to(next(control.id for control in controls.controls if control.title == title))
    await press(pilot, *keys)


def value(pilot: Pilot[Any], title: str) -> str:
    """Return the text of a quick edit."""
    controls = pilot.app.screen.query_one(ControlList).controls
    return next(control.value for control in controls if control.title == title)


def shown(screen: WhatIfScreen) -> str:
    """Return the answer, figures and lines as text."""
    above = [str(screen.query_one(name).render()) for name in ("#whatif-answer", "#whatif-figures")]
    lines = [("\n" if pick.has_gap else "") + str(pick.content) for pick in screen.result.lines.picks]
    return "\n".join((*above, *lines))


def delta(screen: WhatIfScreen, label: str) -> tuple[str, str, str]:
    """Return the current value, the edited value and the difference of a figure."""
    line = next(row for row in shown(screen).split("\n") if row.startswith(label))
    now, edited, difference = line[len(label) :].split()[:3]
    return now, edited, difference
