"""A proportion between NodePools, entered on Pools or Advice, and its edits in the what-if."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.screens.dialogs import LineScreen
from karptui.screens.whatif.screen import WhatIfScreen
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from tests.ui.fleet import screen_text
from tests.ui.stage import an_app, press, running, settled

CASE = Path(__file__).parents[2] / "docs" / "cases" / "a-weights.yaml"
MakeApp = Callable[..., KarptuiApp]


def document(replicas: int = 12, *, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """Return story A with a StatefulSet whose pods match all its NodePools."""
    safe_load: dict[str, Any] = yaml.safe_load(CASE.read_text())
    safe_load["objects"] = [manifest for manifest in safe_load["objects"] if manifest["kind"] != "Pod"]
    labels = labels if labels is not None else {"app": "web"}
    containers = [{"name": "app", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    api = {"apiVersion": "apps/v1", "kind": "StatefulSet"}
    selector = {"matchLabels": labels}
    safe_load["objects"].append({**api, "metadata": {"name": "web", "namespace": "shop", "uid": "sts"},
                                 "spec": {"replicas": replicas, "serviceName": "web", "selector": selector,
                                          "template": template}})  # fmt: skip
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    safe_load["objects"] += [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"web-{index}",
                "namespace": "shop",
                "uid": f"web-{index}",
                "labels": labels | {"statefulset.kubernetes.io/pod-name": f"web-{index}"},
                "ownerReferences": [{**api, "name": "web", "uid": "sts", "controller": True}],
            },
            "spec": template["spec"],
            "status": {"phase": "Pending", "conditions": [refused]},
        }
        for index in range(replicas)
    ]
    return safe_load


@pytest.fixture
def make_app(folder: Path) -> MakeApp:
    """Return a function that creates the app over the story."""

    def make(screen: str = "pools", **given: Any) -> KarptuiApp:
        path = folder / "story-a.json"
        path.write_text(json.dumps(document(**given)))
        snapshot = SnapshotReader().read([path], keeps_manifests=True)
        clock = FrozenClock(snapshot.captured_at_ns)
        return an_app(SnapshotSource(snapshot), config=Config(screen=screen), clock=clock)

    return make


async def test_pools_accepts_a_possible_proportion_and_opens_the_what_if(make_app: MakeApp) -> None:
    async with running(make_app(), (160, 60)) as (app, pilot):
        await app.screen.run_action("share_out")
        await settled(pilot)
        assert isinstance(app.screen, LineScreen)
        text = screen_text(app)
        assert "Proportion of first and" in text
        assert "first=2 second=1" in text
        assert "12 pods of StatefulSet/shop/web may go to" in text
        await pilot.press("ctrl+a", "ctrl+k", *"73/27")
        assert "it takes 100 label values" in screen_text(app)
        await pilot.press("enter")
        assert isinstance(app.screen, LineScreen)
        await press(pilot, "ctrl+a", "ctrl+k", *"2/1", "enter")
        assert isinstance(app.screen, WhatIfScreen)
        text = screen_text(app)
        assert "from scratch" in text
        assert "first 2, second 1" in text
        assert "capacity-spread" in text
        assert "2 × first  m5.2xlarge" in text
        assert "shop/web-0, shop/web-1 and 6 more" in text
        assert "+ second  m5.2xlarge" in text
        assert "shop/web-10, shop/web-3 and 2 more" in text


async def test_advice_asks_for_a_proportion_if_weights_look_like_shares(make_app: MakeApp) -> None:
    async with running(make_app("advice"), (120, 40)) as (app, pilot):
        await press(pilot, "slash", *"pool-weight-order", "enter")
        await press(pilot, "ctrl+t")
        assert isinstance(app.screen, LineScreen)
        assert "Proportion of first and second" in screen_text(app)
        await press(pilot, "escape", "enter", "ctrl+t")
        await press(pilot, "enter")
        assert isinstance(app.screen, WhatIfScreen)


async def test_without_pods_no_proportion_is_requested(make_app: MakeApp) -> None:
    async with running(make_app(replicas=0), (120, 40)) as (app, _):
        await app.screen.run_action("share_out")
        assert not isinstance(app.screen, LineScreen)
        text = screen_text(app)
        assert "there is nothing to share" in text or "still being computed" in text
