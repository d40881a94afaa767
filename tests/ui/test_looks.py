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

SIZES = [(80, 24), (120, 40), (200, 60)]
Compare = Callable[..., bool]


def pressing(*keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Return what waits for the data, then presses keys."""

    async def run(pilot: Pilot[None]) -> None:
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)

    return run


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_nodes(snap_compare: Compare, make_app: MakeApp, size: tuple[int, int], theme: str) -> None:
    assert snap_compare(make_app(theme=theme), terminal_size=size, run_before=pressing("down", "down", "space", "down"))


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_node_detail(snap_compare: Compare, make_app: MakeApp, size: tuple[int, int], theme: str) -> None:
    keys = ("down", "down", "down", "enter")
    assert snap_compare(make_app(theme=theme), terminal_size=size, run_before=pressing(*keys))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_pods(snap_compare: Compare, make_app: MakeApp, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(screen="pods"), terminal_size=size, run_before=pressing("S"))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
def test_wide(snap_compare: Compare, make_app: MakeApp, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(wide=True), terminal_size=size, run_before=pressing("right", "right", "right"))


def test_help(snap_compare: Compare, make_app: MakeApp) -> None:
    assert snap_compare(make_app(), terminal_size=(120, 40), run_before=pressing("question_mark"))


def test_filter(snap_compare: Compare, make_app: MakeApp) -> None:
    keys = ("slash", *"cap=spot cpu", "greater_than_sign", *"10%")
    assert snap_compare(make_app(), terminal_size=(120, 24), run_before=pressing(*keys))


def test_command_line(snap_compare: Compare, make_app: MakeApp) -> None:
    assert snap_compare(make_app(), terminal_size=(120, 24), run_before=pressing("colon", *"theme so"))


def test_yaml(snap_compare: Compare, make_app: MakeApp) -> None:
    assert snap_compare(make_app(), terminal_size=(80, 24), run_before=pressing("y"))


def test_colour_blind_theme(snap_compare: Compare, make_app: MakeApp) -> None:
    app = make_app(theme="karptui-colour-blind")
    assert snap_compare(app, terminal_size=(120, 24), run_before=pressing("S"))


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
