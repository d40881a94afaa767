"""The Types screen and the ledger: keys, and stories C and D."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from karptui.app import KarptuiApp
from karptui.aws.evidence import Evidence
from karptui.aws.prices import PriceSettings
from karptui.aws.region import FactPhase, FactStatus
from karptui.config import Config
from karptui.screens.types import TypeLedgerScreen, TypesOfPoolScreen, TypesScreen
from karptui.sources.evidence import EvidenceSource
from tests.stories import stories_source
from tests.ui.stage import an_app, running, settled

NO_LOGIN = FactStatus(
    phase=FactPhase.UNAVAILABLE, sentence="no AWS credentials were found: the built-in catalogue and prices are used"
)
MakeApp = Callable[..., KarptuiApp]


@pytest.fixture
def make_stories() -> MakeApp:
    """Return a function that creates the app over stories C and D."""

    def make(*, evidence: Evidence | None = None, **given: Any) -> KarptuiApp:
        source, clock = stories_source()
        config = Config(**{"screen": "types", **given})
        result = evidence or Evidence(price_settings=PriceSettings(config.disable_pricing))
        return an_app(source, config=config, clock=clock, evidence=EvidenceSource(result))

    return make


def typing(*steps: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Return a function that presses keys, and runs steps with a leading colon as commands."""

    async def run(pilot: Pilot[None]) -> None:
        await settled(pilot)
        for step in steps:
            if step.startswith(":") and isinstance(pilot.app, KarptuiApp):
                pilot.app.run_command(step[1:])
            else:
                await pilot.press(step)
            await settled(pilot)

    return run


async def test_from_pools_to_the_ledger_and_back(make_stories: MakeApp) -> None:
    app = make_stories()
    async with running(app, (120, 40)) as (_, pilot):
        assert isinstance(app.screen, TypesScreen)
        await typing("down", "down", "down", "enter")(pilot)
        assert isinstance(app.screen, TypesOfPoolScreen)
        assert [entry.name for entry in app.screen.chosen()] == ["r5a.12xlarge"]
        await typing("enter")(pilot)
        ledger = app.screen
        assert isinstance(ledger, TypeLedgerScreen)
        await typing("+")(pilot)
        assert ledger.entry is not None
        assert ledger.entry.name == "r5a.16xlarge"
        await typing("-", "-")(pilot)
        assert ledger.entry.name == "r5a.8xlarge"
        assert ledger.pod is not None
        assert ledger.pod.name == "worker-0"
        await typing(">")(pilot)
        assert ledger.pod.name == "worker-0", "both workers have equal requests, so they are one kind of pod"
        await typing("q", "q")(pilot)
        assert isinstance(app.screen, TypesScreen)


async def test_keys_switch_between_pools_and_open_the_nodes_of_a_type(make_stories: MakeApp) -> None:
    app = make_stories()
    async with app.run_test(size=(120, 40)) as pilot:
        await typing(":types small", ">")(pilot)
        screen = app.screen
        assert isinstance(screen, TypesOfPoolScreen)
        assert "general" in str(screen.table.border_title)
        await typing("<", "<")(pilot)
        assert "flex" in str(screen.table.border_title)
        await typing("<")(pilot)
        assert "trino [8]" in str(screen.table.border_title)
        await typing("a")(pilot)
        assert "trino ─ all [1,392]" in str(screen.table.border_title)
        await typing(":types trino", "o")(pilot)
        assert app.current_mode == "nodes"


async def test_without_prices_no_dollar_amount_is_shown(make_stories: MakeApp) -> None:
    app = make_stories(disable_pricing=True)
    async with app.run_test(size=(200, 60)) as pilot:
        await typing(":types trino")(pilot)
        assert "$" not in app.export_screenshot()
        await typing("1")(pilot)
        assert "$" not in app.export_screenshot()
