"""Capacity: the cluster by zone, NodePool and instance type, and the nodes of a part."""

from __future__ import annotations

from karptui.screens.nodes import NodesScreen
from karptui.screens.pods import PodsScreen
from tests.ui.conftest import MakeApp
from tests.ui.fleet import screen_text
from tests.ui.stage import press, running, settled


async def test_packing_parts_and_dollars_lead_to_nodes_and_pods(make_app: MakeApp) -> None:
    async with running(make_app(), (120, 40)) as (app, pilot):
        await press(pilot, "p")
        by_cpu = screen_text(app)
        assert all(word in by_cpu for word in ("─ general ", "─ trino ", "10-0-71-204", "▓", "by requested cpu"))
        await press(pilot, "b", "pagedown")
        assert "by requested memory" in screen_text(app)
        await press(pilot, "q")
        assert isinstance(app.screen, NodesScreen)
        for key, words in (
            ("z", ("Capacity by zones and capacity types", "eu-west-1", "spot", "is the largest: ")),
            ("b", ("Capacity by NodePools", "general", "trino")),
            ("b", ("Capacity by instance types", "r6i.4xlarge")),
            ("b", ("Capacity by zones and capacity types", "CAP")),
        ):
            await press(pilot, key)
            assert all(word in screen_text(app) for word in words)
        await press(pilot, "enter")
        text = screen_text(app)
        assert isinstance(app.screen, NodesScreen)
        assert "zone=eu-west-1" in text
        assert "cap=" in text
        app.run_command("capacity namespace")
        await settled(pilot)
        text = screen_text(app)
        assert all(word in text for word in ("Dollars by namespace", "idle (not requested)", "OpenCost", "/h pods + "))
        await press(pilot, "b")
        assert all(word in screen_text(app) for word in ("Dollars by owner", "Deployment/", "idle (not requested)"))
        app.run_command("capacity label=app")
        await settled(pilot)
        assert "Dollars by label=app" in screen_text(app)
        app.run_command("capacity team")
        await settled(pilot)
        assert "takes namespace, owner or label=KEY, not team" in screen_text(app)
        app.run_command("capacity namespace")
        await settled(pilot)
        await press(pilot, "g", "g", "enter")
        assert isinstance(app.screen, PodsScreen)
        assert "ns=" in screen_text(app)
