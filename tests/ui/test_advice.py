"""The Advice screen: findings, groups, details of a finding, and opening its objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from karptui.advice.report import AdviceReport
from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.screens.advice import AdviceDetailScreen
from karptui.screens.node_detail import NodeDetailScreen
from karptui.screens.pools import PoolDetailScreen
from karptui.screens.text import TextScreen
from karptui.session.analyst import Analyst
from tests import traps
from tests.builders import NOW_NS, present
from tests.story_e import story_evidence
from tests.ui.fleet import screen_text
from tests.ui.stage import an_app, column, press, settled

MakeTraps = Callable[..., KarptuiApp]


@pytest.fixture
def make_traps() -> MakeTraps:
    """Return a function that creates the app over a cluster with findings."""

    def make(**given: Any) -> KarptuiApp:
        return an_app(traps.TrapSource(), config=Config(**given), clock=FrozenClock(NOW_NS), evidence=story_evidence())

    return make


async def opened(pilot: Pilot[None]) -> KarptuiApp:
    """Open the screen, and wait for the findings."""
    await settled(pilot)
    await pilot.press("0")
    return await settled(pilot)


async def test_findings_have_sentences_details_and_objects(make_traps: MakeTraps) -> None:
    async with make_traps().run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        text = screen_text(app)
        assert "1 pod (StatefulSet/db/postgres) is selected by 2 PodDisruptionBudgets" in text
        assert "→ Delete one of them, or narrow its selector." in text
        await press(pilot, "slash", *"rule=pod-dead-protection", "enter")
        assert 'has do-not-disrupt "1d", which protects nothing' in screen_text(app)
        await pilot.press("escape", "ctrl+z")
        assert "· info" not in column(app, 0)
        await press(pilot, "ctrl+z")
        for rule, screen in (
            ("node-receives-pods", NodeDetailScreen),
            ("pool-wildcard-value", PoolDetailScreen),
            ("pod-dead-protection", TextScreen),
        ):
            await press(pilot, "slash", "ctrl+u", *f"rule={rule}", "enter", "o")
            assert isinstance(app.screen, screen), rule
            await press(pilot, "escape")
        await press(pilot, "escape")
        await press(pilot, "enter")
        assert isinstance(app.screen, AdviceDetailScreen)
        text = screen_text(app)
        for part in (
            "two PDBs select a pod",
            "What to do  Delete one of them",
            "Why  The eviction API refuses",
            "Source  pkg/utils/pdb/pdb.go",
            "docs/advice.md#pod-several-pdbs",
            "Objects [3]",
            "enter or o opens the object",
        ):
            assert part in text
        assert column(app, 3) == ["postgres", "postgres-old", "postgres"]
        await press(pilot, "o")
        assert isinstance(app.screen, TextScreen)
        assert "kind: PodDisruptionBudget" in app.screen.area.text


async def test_a_resolved_finding_is_marked(make_traps: MakeTraps, monkeypatch: pytest.MonkeyPatch) -> None:
    async with make_traps().run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        await press(pilot, "enter")
        monkeypatch.setattr(Analyst, "advice", AdviceReport(now_ns=NOW_NS))
        app.poll_now()
        await settled(pilot)
        assert "this finding has changed or is resolved" in screen_text(app)
        await press(pilot, "escape")
        assert "has a finding" in screen_text(app)


async def test_a_rule_that_fails_is_named(make_traps: MakeTraps, monkeypatch: pytest.MonkeyPatch) -> None:
    async with make_traps().run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        report = present(app.follower.analyst.advice)
        failed = AdviceReport(findings=report.findings, failures=("rule x failed: KeyError: 'y'",), now_ns=NOW_NS)
        monkeypatch.setattr(Analyst, "advice", failed)
        app.poll_now()
        await settled(pilot)
        assert "rule x failed: KeyError: 'y'" in screen_text(app)
