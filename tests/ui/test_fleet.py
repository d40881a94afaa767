"""The Fleet screen: rows of clusters, enter, :fleet and q."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.screens.fleet import FleetScreen
from karptui.screens.nodes import NodesScreen
from karptui.session.fleet import ClusterFigures, Fleet, MemberLine, WorstFinding
from karptui.sources.source import Source, SourceError
from tests.still_demo import StillDemo
from tests.ui.fleet import NOW_NS, screen_text
from tests.ui.stage import an_app, column, front, press, running, settled

HOSTILE = "[red]x\x1b[2J"
NAMES = ("prod", "stage", HOSTILE)


class ScriptedFleet(Fleet):
    """A fleet without processes: the test supplies their output."""

    def __init__(self) -> None:
        super().__init__({name: ["false"] for name in NAMES})
        self.is_running = False

    def start(self) -> None:
        self.is_running = True

    def stop(self) -> None:
        self.is_running = False

    def tell(self, name: str, nodes: int, text: str, trouble: str = "") -> None:
        worst = WorstFinding("error", "STOPPED", text)
        figures = ClusterFigures(nodes, 1.5, 0, 0.25, 4, "1.15.0", worst)
        assert self._heard(name, msgspec.json.encode(MemberLine(figures, NOW_NS, trouble)))


@pytest.fixture
def fleet() -> ScriptedFleet:
    return ScriptedFleet()


@pytest.fixture
def app(fleet: ScriptedFleet) -> KarptuiApp:
    return fleet_app(fleet, begins_with_fleet=True)


def fleet_app(fleet: ScriptedFleet, source: Source | None = None, *, begins_with_fleet: bool = False) -> KarptuiApp:
    clock = FrozenClock(NOW_NS)

    def connect(name: str) -> Source:
        if name == HOSTILE:
            raise SourceError("no such cluster")
        return StillDemo(clock)

    return an_app(source, clock=clock, config=Config(node_sort="name=asc"), connect=connect, contexts=lambda: NAMES,
                  fleet_of=lambda: fleet, begins_with_fleet=begins_with_fleet)  # fmt: skip


async def test_enter_opens_a_cluster_and_q_returns(app: KarptuiApp, fleet: ScriptedFleet) -> None:
    async with running(app, (120, 30)) as (_, pilot):
        assert fleet.is_running
        front(app, FleetScreen)
        fleet.tell("prod", 62, "disrupts nothing for 22m")
        fleet.tell("stage", 21, "a \x1b[31mred\u202e [b]name[/b]", trouble="")
        fleet.tell(HOSTILE, 1, "", trouble="connection lost")
        front(app, FleetScreen).refresh_view(is_forced=True)
        await settled(pilot)
        text = screen_text(app)
        assert "Fleet [3] ─ 84 nodes · $4.50/h · held $0.75/h" in text
        assert "✘ disrupts nothing for 22m" in text
        assert "[b]name[/b]" in text
        assert "3 of 3 current" in text
        assert column(app)[0] == "[red]x␛[2J"
        await press(pilot, "enter")
        front(app, FleetScreen)
        assert "no such cluster" in screen_text(app)
        await press(pilot, "down", "enter")
        front(app, NodesScreen)
        assert "ip-10-0-" in screen_text(app)
        await press(pilot, "q")
        front(app, FleetScreen)
        assert app.follower.source is None, "the app itself follows no cluster while it shows the fleet"
        await pilot.press("q")
    assert not fleet.is_running


async def test_the_fleet_command_opens_all_clusters_and_q_returns_to_the_followed_one(fleet: ScriptedFleet) -> None:
    app = fleet_app(fleet, StillDemo(FrozenClock(NOW_NS)))
    async with running(app, (80, 24)) as (_, pilot):
        assert not fleet.is_running
        for leave in ("q", "escape"):
            app.run_command("fleet")
            await settled(pilot)
            front(app, FleetScreen)
            assert "connecting" in screen_text(app)
            await press(pilot, leave)
            front(app, NodesScreen)
        assert app.follower.source is not None


async def test_keys_of_other_screens_work_without_a_cluster(app: KarptuiApp) -> None:
    async with running(app, (120, 30)) as (_, pilot):
        for key in ("2", "3", "5", "8", "0", "1"):
            await press(pilot, key)
        front(app, NodesScreen)
        await pilot.press("Q", "escape", "question_mark", "q")
        app.run_command("fleet")
        await settled(pilot)
        front(app, FleetScreen)
        await press(pilot, "y", "e", "ctrl+t")


@pytest.mark.parametrize(
    ("fleet_of", "message"), [(None, "there is only one cluster here"), (SourceError("no contexts"), "no contexts")]
)
async def test_the_fleet_command_without_clusters_gives_the_reason(fleet_of: SourceError | None, message: str) -> None:
    def refuse() -> Fleet:
        assert fleet_of is not None
        raise fleet_of

    clock = FrozenClock(NOW_NS)
    given: Callable[[], Fleet] | None = refuse if fleet_of is not None else None
    app = an_app(StillDemo(clock), clock=clock, connect=lambda _: StillDemo(clock), fleet_of=given)
    async with running(app, (80, 24), is_analysed=False) as (_, pilot):
        app.run_command("fleet")
        await pilot.pause()
        assert message in screen_text(app)
