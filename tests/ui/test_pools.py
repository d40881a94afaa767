"""The Pools screen and the detail of a NodePool: keys, and stories A and C."""

from __future__ import annotations

import pytest

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.karpenter.inventory import Inventory
from karptui.screens.pools import PoolDetailScreen, PoolsScreen
from karptui.screens.text import TextScreen
from karptui.screens.types import TypesOfPoolScreen
from karptui.sources.evidence import EvidenceSource
from tests.builders import NOW_NS
from tests.builders.sources import InventorySource
from tests.story_a import StoryASource, evidence
from tests.ui.fleet import screen_text
from tests.ui.stage import an_app, pressing, running, settled


@pytest.fixture
def app() -> KarptuiApp:
    config = Config(screen="pools")
    return an_app(StoryASource(), config=config, clock=FrozenClock(NOW_NS), evidence=EvidenceSource(evidence()))


async def test_a_pool_opens_its_detail_nodes_types_and_budgets(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("enter")(pilot)
        detail = app.screen
        assert isinstance(detail, PoolDetailScreen)
        assert "primary" in str(detail.panel.border_title)
        assert list(detail.table.rows.keys) == ["kube-system/aws-node", "kube-system/kube-proxy", "kube-system/logs"]
        assert [item.daemonset.key for item in detail.chosen()] == ["kube-system/aws-node"]
        await pressing("ctrl+d")(pilot)
        assert detail.panel.scroll_y > 0
        await pressing("ctrl+u", "t")(pilot)
        assert isinstance(app.screen, TypesOfPoolScreen)
        await pressing("q", "enter")(pilot)
        assert isinstance(app.screen, TextScreen)
        await pressing("q", "c", "y")(pilot)
        assert isinstance(app.screen, TextScreen)
        await pressing("q", "b")(pilot)
        assert app.current_mode == "budgets"
        await pressing("2", "d")(pilot)
        assert isinstance(app.screen, PoolDetailScreen)
        await pressing("o")(pilot)
        assert app.current_mode == "nodes"
        await pressing("2", "down", "t")(pilot)
        assert isinstance(app.screen, TypesOfPoolScreen)
        await pressing("q", "b")(pilot)
        assert app.current_mode == "budgets"
        await pressing("2", "o")(pilot)
        assert app.current_mode == "nodes"


async def test_a_key_shows_only_pools_with_problems(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("ctrl+z", "c", "y")(pilot)
        await pressing("q")(pilot)
        assert isinstance(app.screen, PoolsScreen)
        assert list(app.screen.table.rows.keys) == ["spare", "gpu"]


async def test_a_deleted_pool_is_reported(app: KarptuiApp) -> None:
    async with running(app, (120, 40)) as (_, pilot):
        app.push_screen(PoolDetailScreen("nowhere"))
        await settled(pilot)
        assert isinstance(app.screen, PoolDetailScreen)
        assert "there is no NodePool nowhere" in str(app.screen.panel.lines.content)


async def test_without_pools_a_text_replaces_the_table() -> None:
    source = InventorySource("shop-eu-1", Inventory())
    app = an_app(source, config=Config(screen="pools"), clock=FrozenClock(NOW_NS))
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("enter", "d", "o", "t", "b")(pilot)
        assert isinstance(app.screen, PoolsScreen)
        assert "there are no NodePools" in screen_text(app)
