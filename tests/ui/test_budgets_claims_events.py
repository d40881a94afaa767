"""Budgets, Claims and Events: keys and content."""

from __future__ import annotations

import pytest

from karptui.decode.kinds import Kind
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.kube.objects import Event
from karptui.screens.budgets import BudgetsScreen
from karptui.screens.claims import ClaimsScreen
from karptui.screens.events import EventsScreen
from karptui.screens.list_screen import ListScreen
from karptui.screens.node_detail import NodeDetailScreen
from karptui.screens.nodes import NodesScreen
from karptui.screens.text import TextScreen
from tests.builders import present
from tests.ui.conftest import MakeApp
from tests.ui.fleet import HOUR, MINUTE, NOW_NS, SECOND, Fleet, a_fleet, conditions
from tests.ui.stage import front, press, running

BUDGETS = {
    "general": (DisruptionBudget("50%"), DisruptionBudget("0", "0 9 * * mon-fri", "8h", ("Drifted", "Underutilized"))),
    "gpu": (DisruptionBudget("1"), DisruptionBudget("0", "0 9 * * 1-7", "8h", ("Drifted",))),
    "runners": (DisruptionBudget("0"), DisruptionBudget("3", "0 22 * * *", "6h")),
    "trino": (),
}


pytestmark = pytest.mark.usefixtures("in_berlin")


def a_fleet_with_events() -> Fleet:
    """Return the fleet with budgets, and with events about its nodes."""
    fleet = a_fleet()
    for name, budgets in BUDGETS.items():
        fleet.add(Kind.NODEPOOL,
                  NodePool(name=name, consolidate_after_ns=0, budgets=budgets,
                           node_class_ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
                           conditions=conditions("Ready")))  # fmt: skip
    told = (
        ("Node", "ip-10-0-90-13.eu-west-1.compute.internal", "FailedDraining", "Warning", 4, MINUTE),
        ("NodePool", "general", "DisruptionBlocked", "Normal", 41, 2 * MINUTE),
        ("Pod", "trino-worker-1", "FailedScheduling", "Warning", 84, 9 * SECOND),
    )
    messages = {
        "FailedDraining": "Failed to drain node, 4 pods are waiting to be evicted",
        "DisruptionBlocked": "No allowed disruptions for disruption reason Underutilized due to blocking budget",
        "FailedScheduling": "Failed to schedule pod, \x1b[31mincompatible with nodepool [bold]trino[/bold], "
        "daemonset overhead={cpu: 160m, memory: 308Mi, pods: 2}, no instance type satisfied resources",
    }
    for kind, name, reason, type_, count, ago_ns in told:
        fleet.add(Kind.EVENT,
                  Event(name=f"{name}.{reason}", namespace="trino" if kind == "Pod" else "default", reason=reason,
                        message=messages[reason], type=type_, source="karpenter", involved_kind=kind,
                        involved_name=name, involved_namespace="trino" if kind == "Pod" else "", count=count,
                        first_ns=NOW_NS - 2 * HOUR, last_ns=NOW_NS - ago_ns))  # fmt: skip
    return fleet


async def test_budgets_claims_and_events_lead_to_nodes_and_messages(make_app: MakeApp) -> None:
    app = make_app(a_fleet_with_events(), screen="budgets")
    async with running(app, (120, 40)) as (_, pilot):
        await press(pilot, "slash", *"left=0", "enter")
        rows = present(front(app, BudgetsScreen).listing.rows)
        assert set(rows.keys) == {"general/Drifted", "general/Underutilized"} | {
            f"{pool}/{reason}" for pool in ("gpu", "runners") for reason in ("Drifted", "Empty", "Underutilized")
        }
        await pilot.press("space", "end", "space", "up", "space")
        opened = front(app, BudgetsScreen).whatif_opening().documents
        pools = [ref.name for ref in opened if ref.kind == "NodePool"]
        assert pools == ["general", "runners"], "the marked NodePools, each once"
        await press(pilot, "space", "home", "space", "o")
        assert front(app, NodesScreen).listing.query_text == "pool=general"
        await press(pilot, "3")
        screen = front(app, ClaimsScreen)
        assert screen.current is not None
        assert screen.current.claim.name == "general-x7k2p"
        await pilot.press("o")
        assert "has no node" in str(screen.info.pieces)
        await press(pilot, "d")
        assert isinstance(app.screen, TextScreen)
        await press(pilot, "escape", "G", "enter")
        assert isinstance(app.screen, NodeDetailScreen)
        await pilot.press("escape")
        await press(pilot, "o")
        assert app.screen.listing.query_text == "node=ip-10-0-5-160.eu-west-1.compute.internal"
        await press(pilot, "9")
        await press(pilot, "slash", *"reason=FailedScheduling", "enter")
        events = front(app, EventsScreen)
        assert events.current is not None
        assert events.current.object_key == "trino/trino-worker-1"
        assert events.story is not None
        story = str(events.story.content)
        assert "\x1b" not in story
        assert "[bold]trino[/bold]" in story
        await press(pilot, "o")
        assert events.listing.query_text == "kind=Pod object=trino/trino-worker-1"
        await press(pilot, "enter")
        assert isinstance(app.screen, TextScreen)
        assert "daemonset overhead=" in app.screen.area.text


@pytest.mark.parametrize("screen", ["budgets", "claims", "events"])
async def test_keys_on_an_empty_screen_do_nothing(make_app: MakeApp, screen: str) -> None:
    app = make_app(Fleet(), screen=screen)
    async with running(app, (120, 40)) as (_, pilot):
        await pilot.press("d", "o", "y")
        assert isinstance(app.screen, ListScreen)
        assert app.screen.current is None
