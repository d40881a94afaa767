"""The Pools screen and the detail of a NodePool: what keys do, and how stories A and C look on them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from karptui.app import KarptuiApp
from karptui.aws.evidence import Evidence
from karptui.aws.prices import PriceSettings
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.karpenter.inventory import Inventory
from karptui.screens.pools import PoolDetailScreen, PoolsScreen
from karptui.screens.text import TextScreen
from karptui.screens.types import TypesOfPoolScreen
from karptui.sources.evidence import EvidenceSource
from tests.builders import NOW_NS
from tests.stories import stories_source
from tests.story_a import StoryASource, evidence
from tests.ui.fleet import screen_text
from tests.ui.stage import an_app, settled

MakeApp = Callable[..., KarptuiApp]


@pytest.fixture
def make_story() -> MakeApp:
    """Return what makes the app over story A, or over stories C and D."""

    def make(story: str = "a", *, known: Evidence | None = None, **given: Any) -> KarptuiApp:
        source: Any = StoryASource()
        clock, base = FrozenClock(NOW_NS), evidence()
        if story == "c":
            source, clock = stories_source()
            base = Evidence()
        config = Config(**{"screen": "pools", **given})
        if config.disable_pricing:
            base = Evidence(instance_types=base.instance_types, price_settings=PriceSettings(is_disabled=True))
        return an_app(source, config=config, clock=clock, evidence=EvidenceSource(known or base))

    return make


def pressing(*keys: str, is_framed: bool = False) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Return what presses keys one after the other."""

    async def run(pilot: Pilot[None]) -> None:
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)
        for part in () if is_framed else pilot.app.screen.query("TopBar, TabLine"):
            part.display = False  # the frame has pictures of its own
        await pilot.pause()

    return run


async def test_pools_stand_in_the_order_in_which_they_are_tried(make_story: MakeApp) -> None:
    app = make_story()
    async with app.run_test(size=(200, 60)) as pilot:
        await settled(pilot)
        screen = app.screen
        assert isinstance(screen, PoolsScreen)
        assert list(screen.table.rows.keys) == ["primary", "spare", "secondary", "extra", "rest", "gpu"]
        text = screen_text(app)
        assert "every pod that fits lands here before spare is tried" in text
        assert "12 cpu left, the smallest allowed type needs 2000m" in text
        await pressing("down", is_framed=True)(pilot)
        text = screen_text(app)
        assert "no new node: smallest allowed type needs 2000m, 1000m cpu left" in text
        assert "same weight as secondary: the name that sorts last is tried first" in text
        assert "65 of 66 pods" not in text
        assert "overlap: 64 of 66 pods (96%) match several pools" in text


async def test_from_a_pool_to_its_detail_nodes_types_and_budgets(make_story: MakeApp) -> None:
    app = make_story()
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("enter", is_framed=True)(pilot)
        detail = app.screen
        assert isinstance(detail, PoolDetailScreen)
        assert "primary" in str(detail.panel.border_title)
        assert list(detail.table.rows.keys) == ["kube-system/aws-node", "kube-system/kube-proxy", "kube-system/logs"]
        assert [item.daemonset.key for item in detail.chosen()] == ["kube-system/aws-node"]
        await pressing("ctrl+d", is_framed=True)(pilot)
        assert detail.panel.scroll_y > 0
        await pressing("ctrl+u", "t", is_framed=True)(pilot)
        assert isinstance(app.screen, TypesOfPoolScreen)
        await pressing("q", "enter", is_framed=True)(pilot)
        assert isinstance(app.screen, TextScreen)
        await pressing("q", "c", "y", is_framed=True)(pilot)
        assert isinstance(app.screen, TextScreen)
        await pressing("q", "b", is_framed=True)(pilot)
        assert app.current_mode == "budgets"
        await pressing("2", "d", is_framed=True)(pilot)
        assert isinstance(app.screen, PoolDetailScreen)
        await pressing("o", is_framed=True)(pilot)
        assert app.current_mode == "nodes"
        await pressing("2", "down", "t", is_framed=True)(pilot)
        assert isinstance(app.screen, TypesOfPoolScreen)
        await pressing("q", "b", is_framed=True)(pilot)
        assert app.current_mode == "budgets"
        await pressing("2", "o", is_framed=True)(pilot)
        assert app.current_mode == "nodes"


async def test_only_pools_with_something_wrong(make_story: MakeApp) -> None:
    app = make_story()
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("ctrl+z", "c", "y", is_framed=True)(pilot)
        await pressing("q", is_framed=True)(pilot)
        assert isinstance(app.screen, PoolsScreen)
        assert list(app.screen.table.rows.keys) == ["spare", "gpu"]


async def test_a_pool_that_is_gone_is_said(make_story: MakeApp) -> None:
    app = make_story()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        app.push_screen(PoolDetailScreen("nowhere"))
        await settled(pilot)
        assert isinstance(app.screen, PoolDetailScreen)
        assert "there is no NodePool nowhere" in str(app.screen.panel.lines.content)


async def test_without_pools_nothing_is_computed(make_story: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.story_a.inventory", Inventory)
    app = make_story()
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("enter", "d", "o", "t", "b", is_framed=True)(pilot)
        assert isinstance(app.screen, PoolsScreen)
        assert "there are no NodePools" in screen_text(app)
