"""Capacity: parts of the cluster by zone, NodePool and type, and the nodes of one."""

from __future__ import annotations

from karptui.screens.nodes import NodesScreen
from karptui.screens.pods import PodsScreen
from tests.ui.conftest import MakeApp
from tests.ui.fleet import screen_text
from tests.ui.stage import settled


async def test_parts_are_told_apart_by_three_things_and_lead_to_their_nodes(make_app: MakeApp) -> None:
    async with make_app().run_test(size=(120, 40)) as pilot:
        app = await settled(pilot)
        for key, words in (
            ("z", ("Capacity by zones and capacity types", "eu-west-1", "spot", "is the largest: ")),
            ("b", ("Capacity by NodePools", "general", "trino")),
            ("b", ("Capacity by instance types", "r6i.4xlarge")),
            ("b", ("Capacity by zones and capacity types", "CAP")),
        ):
            await pilot.press(key)
            await settled(pilot)
            assert all(word in screen_text(app) for word in words)
        await pilot.press("enter")
        await settled(pilot)
        text = screen_text(app)
        assert isinstance(app.screen, NodesScreen)
        assert "zone=eu-west-1" in text
        assert "cap=" in text


async def test_packing_is_a_picture_of_pools_nodes_and_pods(make_app: MakeApp) -> None:
    async with make_app().run_test(size=(120, 40)) as pilot:
        app = await settled(pilot)
        await pilot.press("p")
        await settled(pilot)
        by_cpu = screen_text(app)
        assert all(word in by_cpu for word in ("─ general ", "─ trino ", "10-0-71-204", "▓", "by requested cpu"))
        await pilot.press("b", "pagedown")
        await settled(pilot)
        assert "by requested memory" in screen_text(app)
        await pilot.press("q")
        await settled(pilot)
        assert isinstance(app.screen, NodesScreen)


async def test_dollars_by_namespace_owner_and_label_add_up_and_lead_to_pods(make_app: MakeApp) -> None:
    async with make_app().run_test(size=(120, 40)) as pilot:
        app = await settled(pilot)
        app.run_command("capacity namespace")
        await settled(pilot)
        text = screen_text(app)
        assert all(word in text for word in ("Dollars by namespace", "idle (not requested)", "OpenCost", "/h pods + "))
        await pilot.press("b")
        await settled(pilot)
        assert all(word in screen_text(app) for word in ("Dollars by owner", "Deployment/", "idle (not requested)"))
        app.run_command("capacity label=app")
        await settled(pilot)
        assert "Dollars by label=app" in screen_text(app)
        app.run_command("capacity team")
        await settled(pilot)
        assert "takes namespace, owner or label=KEY, not team" in screen_text(app)
        app.run_command("capacity namespace")
        await settled(pilot)
        await pilot.press("g", "g", "enter")
        await settled(pilot)
        assert isinstance(app.screen, PodsScreen)
        assert "ns=" in screen_text(app)
