"""The complete app with a frozen clock, for tests of screens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from karptui.app import KarptuiApp
from karptui.cli.evidence import evidence_source
from karptui.clock import Clock, FrozenClock
from karptui.config import Config
from karptui.screens.whatif.screen import WhatIfScreen
from karptui.sources.evidence import EvidenceSource
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from karptui.sources.source import Source
from karptui.widgets.row_table.layout import Layout
from karptui.widgets.row_table.table import RowTable
from tests.canvas import draw
from tests.event_loop import settle
from tests.stepped_analyst import SteppedAnalyst
from tests.still_demo import StillDemo

PATIENCE_SECONDS = 180.0
Front = TypeVar("Front", bound=Screen[Any])


def an_app(
    source: Source | None = None,
    *,
    clock: Clock,
    evidence: EvidenceSource | None = None,
    config: Config | None = None,
    **given: Any,
) -> KarptuiApp:
    app = KarptuiApp(
        source,
        config=config or Config(node_sort="name=asc"),
        clock=clock,
        evidence_of=lambda _: evidence or EvidenceSource(),
        analyst_of=SteppedAnalyst,
        **given,
    )
    app.animation_level = "none"
    return app


def demo_app(clock: Clock, **given: Any) -> KarptuiApp:
    """Return the app over the frozen demo, with the prices of its Karpenter's metrics."""
    source = StillDemo(clock)
    return an_app(source, clock=clock, evidence=evidence_source(source, Config()), **given)


def history_app(path: Path) -> KarptuiApp:
    """Return the app at the last moment of a history."""
    snapshot = SnapshotReader().read([path], keeps_manifests=True)
    return an_app(SnapshotSource(snapshot), clock=FrozenClock(snapshot.captured_at_ns))


def front(app: App[Any], kind: type[Front]) -> Front:
    """Return the current screen, and check its class."""
    assert isinstance(app.screen, kind)
    return app.screen


def column(app: App[Any], position: int = 0) -> list[str]:
    """Return the cell texts of a column in the current table."""
    rows = app.screen.query_one(RowTable).rows
    return [rows[index].cells[position].text.strip() for index in range(len(rows))]


def layout_of(table: RowTable) -> Layout:
    return table._layout


async def settled(pilot: Pilot[Any], *, is_analysed: bool = True) -> KarptuiApp:
    """Wait until all data has been read, analysed and drawn.

    Args:
        pilot: of the app.
        is_analysed: whether the analyst is to work too.
    """
    app = pilot.app
    assert isinstance(app, KarptuiApp)
    before: object = None
    while app.follower.view is not before:
        before = app.follower.view
        await answered(pilot)
        app.poll_now()
        if is_analysed:
            assert isinstance(app.follower.analyst, SteppedAnalyst)
            app.follower.analyst.catch_up()
            app.poll_now()
        await answered(pilot)
    draw()
    return app


@asynccontextmanager
async def running(
    app: App[None], size: tuple[int, int] = (80, 24), *, is_analysed: bool = True
) -> AsyncIterator[tuple[KarptuiApp, Pilot[None]]]:
    """Run the app in a terminal of a size, and wait until it is settled; ``is_analysed`` as of ``settled``."""
    async with app.run_test(size=size) as pilot:
        yield await settled(pilot, is_analysed=is_analysed), pilot


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys without a pause, and wait until everything is drawn."""
    await pilot.press(*keys)
    await settled(pilot)


async def worked(pilot: Pilot[Any], *, is_analysed: bool = True) -> None:
    """Wait until the screen's workers are done and their results are drawn; ``is_analysed`` as of ``settled``."""
    await settled(pilot, is_analysed=is_analysed)
    await pilot.app.workers.wait_for_complete()
    await settled(pilot, is_analysed=is_analysed)


async def answered(pilot: Pilot[Any]) -> None:
    """Wait until all data is drawn and the requested what-ifs are answered."""
    await rested(pilot)
    app = pilot.app
    if isinstance(app, KarptuiApp) and any(isinstance(screen, WhatIfScreen) for screen in app.screen_stack):
        assert await asyncio.to_thread(app.session.whatif.wait_until_at_rest, PATIENCE_SECONDS)
        await rested(pilot)


async def press_at_once(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys and wait after each; faster than `Pilot.press`, which sends a message to every widget."""
    await pilot.app._press_keys(keys)


async def rested(pilot: Pilot[Any]) -> None:
    """Wait until nothing is left to do; faster than `Pilot.pause`, which sends a message to every widget."""
    await settle()
    pilot.app.screen._on_timer_update()


def pressing(*keys: str, is_analysed: bool = True) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Return a function that presses keys one by one, but types text for an input at once."""

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot, is_analysed=is_analysed)
        for key in keys:
            await pilot.press(key)
            if not isinstance(pilot.app.focused, Input):
                await settled(pilot, is_analysed=is_analysed)
        await settled(pilot, is_analysed=is_analysed)

    return run
