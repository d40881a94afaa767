"""How the screens look: one picture per state and size."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from karptui.decode.kinds import Kind
from karptui.sources.base import Phase
from tests.ui.conftest import MakeApp
from tests.ui.fleet import NOW_NS, SECOND, FleetSource, a_fleet, status
from tests.ui.stage import settled

Compare = Callable[..., bool]


def pressing(*keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Return what waits for the data, then presses keys."""

    async def run(pilot: Pilot[None]) -> None:
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)

    return run


def test_nodes(snap_compare: Compare, make_app: MakeApp) -> None:
    assert snap_compare(make_app(), terminal_size=(120, 40), run_before=pressing("down", "down", "space", "down"))


def test_wide(snap_compare: Compare, make_app: MakeApp) -> None:
    assert snap_compare(make_app(wide=True), terminal_size=(120, 40), run_before=pressing("right", "right", "right"))


def test_without_colour(snap_compare: Compare, make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    make_app()
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(make_app(), terminal_size=(120, 24), run_before=pressing("S", "down"))


def test_forbidden_pods(snap_compare: Compare, make_app: MakeApp) -> None:
    fleet = a_fleet()
    del fleet.objects[Kind.POD]
    source = FleetSource(fleet)

    async def run(pilot: Pilot[None]) -> None:
        app = await settled(pilot)
        assert source.mailbox is not None
        said = "pods: forbidden (user eve may not list pods at cluster scope)"
        source.mailbox.report(status(Kind.POD, Phase.FORBIDDEN, last_error=said))
        app.poll_now()
        await pilot.pause()

    assert snap_compare(make_app(source=source), terminal_size=(120, 24), run_before=run)


def test_disconnected(snap_compare: Compare, make_app: MakeApp) -> None:
    source = FleetSource(a_fleet())

    async def run(pilot: Pilot[None]) -> None:
        app = await settled(pilot)
        assert source.mailbox is not None
        gone = {"last_error": "the API server refuses connections", "last_contact_ns": NOW_NS - 42 * SECOND}
        source.mailbox.report(status(Kind.NODE, Phase.DISCONNECTED, retry_at_ns=NOW_NS + 5 * SECOND, **gone))
        app.poll_now()
        await pilot.pause()

    assert snap_compare(make_app(source=source), terminal_size=(120, 24), run_before=run)
