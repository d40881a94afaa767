"""The Pending screen: too little memory, a value that is no wildcard, and pods without a message."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Static

from karptui.app import KarptuiApp
from karptui.aws.evidence import Evidence
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.screens.host import host_of
from karptui.screens.node_detail import NodeDetailScreen
from karptui.screens.opener import explanation_of
from karptui.screens.pending import PendingDetailScreen, PendingNodesScreen
from karptui.screens.pools import PoolDetailScreen
from karptui.screens.text import TextScreen
from karptui.screens.whatif.screen import WhatIfScreen
from karptui.sources.evidence import EvidenceSource
from karptui.sources.snapshot.source import SnapshotSource
from tests.story_d import hostile_document, story_snapshot
from tests.ui.fleet import screen_text
from tests.ui.stage import an_app, column, press, running

MakeStory = Callable[..., KarptuiApp]


@pytest.fixture
def make_story(folder: Path) -> MakeStory:
    """Return a function that creates the app over stories B and D."""

    def make(document: dict[str, Any] | None = None, **given: Any) -> KarptuiApp:
        snapshot = story_snapshot(folder, document)
        return an_app(
            SnapshotSource(snapshot),
            config=Config(screen="pending", **given),
            clock=FrozenClock(snapshot.captured_at_ns),
            evidence=EvidenceSource(Evidence(settings=snapshot.evidence.settings)),
        )

    return make


def cell_text(app: KarptuiApp, name: str) -> str:
    return str(app.screen.query_one(name, Static).content)


async def test_story_d_shows_nodes_and_remedies_that_open(make_story: MakeStory) -> None:
    async with running(make_story(), (160, 50)) as (app, pilot):
        await press(pilot, "down", "enter")
        assert isinstance(app.screen, PendingDetailScreen)
        lines = cell_text(app, "#pending-lines")
        assert "✘ memory short by 6,846Mi on r5a.8xlarge" in lines
        assert "nodes  3 tried: 3 memory" in lines
        assert "Karpenter 2m ago, 9 times: FailedScheduling" in lines
        assert column(app)[:2] == ["VM_MEMORY_OVERHEAD_PERCENT ≤ 0.0488", "request at most 238,914Mi (233Gi) of memory"]
        assert "allow node.kubernetes.io/instance-type r5a.12xlarge" in column(app)
        assert "6 changes tried, one at a time: 5 help" in screen_text(app)
        await press(pilot, "escape", "home")
        await press(pilot, "down", "enter")
        await press(pilot, "x")
        assert isinstance(app.screen, PendingNodesScreen)
        assert column(app, 1) == ["memory"] * 3
        assert "3 tried: 3 memory" in screen_text(app)
        await press(pilot, "c", "enter")
        assert isinstance(app.screen, NodeDetailScreen)
        await press(pilot, "escape", "escape", "escape", "home")
        await press(pilot, "down", "e")
        await press(pilot, "enter")
        assert isinstance(app.screen, TextScreen)
        assert "settings.vmMemoryOverheadPercent=0.0488" in app.screen.area.text
        await press(pilot, "escape", "ctrl+t")
        assert isinstance(app.screen, WhatIfScreen)
        assert "VM_MEMORY_OVERHEAD_PERCENT" in screen_text(app)


async def test_e_explains_the_object_under_the_cursor(make_story: MakeStory) -> None:
    async with running(make_story(), (120, 40)) as (app, pilot):
        for keys, screen in (
            (("2", "e"), PoolDetailScreen),
            (("8", "e"), PoolDetailScreen),
            (("4", "slash", *"worker-0", "enter", "e"), PendingDetailScreen),
            (("9", "slash", *"worker-0", "enter", "e"), PendingDetailScreen),
            (("1", "e"), NodeDetailScreen),
        ):
            await press(pilot, keys[0])
            await press(pilot, *keys[1:])
            assert isinstance(app.screen, screen), keys
            await press(pilot, "e")
            assert isinstance(app.screen, screen)
            assert "this is already the explanation; esc goes back" in screen_text(app)


async def test_messages_are_shown_without_control_characters(make_story: MakeStory) -> None:
    text = "\x1b[2J\x1b]0;owned\x07[bold red]x[/]\u202egnp.exe節點節點"
    async with running(make_story(hostile_document(text)), (120, 40)) as (app, pilot):
        frames = [screen_text(app)]
        for keys in (("down",), ("enter",), ("x",), ("escape", "enter"), ("escape", "escape", "question_mark")):
            await press(pilot, *keys)
            frames.append(screen_text(app))
    assert any("trino/worker" in frame for frame in frames)
    for frame in frames:
        assert not [char for char in frame if unicodedata.category(char) in ("Cc", "Cf", "Cs") and char != "\n"]


async def test_the_ledger_compares_the_pod_with_the_nearest_type(make_story: MakeStory) -> None:
    async with running(make_story(), (120, 40)) as (app, pilot):
        await pilot.press("t")
        assert "no instance type is close" in screen_text(app)
        await press(pilot, "down", "t")
        text = screen_text(app)
        assert "r5a.8xlarge ─ pool trino" in text
        assert "compared with pending pod trino/worker-" in text
        assert "fits with VM_MEMORY_OVERHEAD_PERCENT ≤ 0.0488" in text
        await press(pilot, "escape", "enter", "t")
        assert "compared with pending pod trino/worker-" in screen_text(app)
        for kind, key, said_of_it in (
            ("Pod", "web/gone", "pod web/gone no longer exists"),
            ("Node", "gone", "gone no longer exists"),
            ("NodeClaim", "gone", "gone no longer exists"),
            ("NodePool", "gone", "NodePool gone no longer exists"),
            ("EC2NodeClass", "default", "EC2NodeClass is described (d)"),
        ):
            explanation = explanation_of(host_of(app), kind, key)
            assert isinstance(explanation, str)
            assert explanation.startswith(said_of_it)
