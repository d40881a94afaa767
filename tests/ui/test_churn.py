"""The Churn screen: its content while nodes are launched and removed, and its keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from textual.pilot import Pilot

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.karpenter import labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.objects import Condition, Event
from karptui.screens.churn import ChurnScreen, ReplacementsScreen
from karptui.screens.events import EventsScreen
from karptui.screens.node_detail import NodeDetailScreen
from karptui.screens.nodes import NodesScreen
from tests.builders import present
from tests.ui.conftest import MakeApp
from tests.ui.fleet import MINUTE, NOW_NS, SECOND, FleetSource, a_fleet, conditions
from tests.ui.stage import press, running, settled

BEGAN = NOW_NS - 62 * MINUTE
"""Start time of karptui."""
TYPES = ("c7i.4xlarge", "c7i.4xlarge", "m6i.2xlarge", "c7i.4xlarge", "m6i.2xlarge", "c7i.4xlarge")


def a_claim(name: str, instance_type: str, born: float, left: float = 0, why: str = "") -> NodeClaim:
    """Return a NodeClaim; times are minutes before now."""
    result = conditions("Launched", "Registered", "Initialized", at_ns=NOW_NS - int(born * MINUTE))
    if why:
        result += (Condition("DisruptionReason", "True", why, why, NOW_NS - int((left + 1) * MINUTE)),)
    return NodeClaim(
        name=name,
        uid=f"uid-{name}",
        labels={
            labels.NODEPOOL: name.partition("-")[0],
            labels.INSTANCE_TYPE: instance_type,
            labels.CAPACITY_TYPE: "on-demand",
            labels.ZONE: "eu-west-1a",
        },
        node_name=f"ip-10-0-{200 + len(name)}-{int(born)}.eu-west-1.compute.internal",
        conditions=result,
        created_ns=NOW_NS - int(born * MINUTE),
        deletion_ns=NOW_NS - int(left * MINUTE) if left else 0,
    )


CLAIMS = (
    *(
        a_claim(f"general-{'bcdfgh'[i] * 5}", kind, 58.5 - 9 * i, 50 - 9 * i, "Underutilized")
        for i, kind in enumerate(TYPES)
    ),
    a_claim("gpu-vvvvv", "g5.xlarge", 4000, 33, "Drifted"),
    a_claim("runners-[bold]x", "m6i.4xlarge", 800, 12),
)
"""NodeClaims that are removed while karptui runs."""


def events() -> tuple[Event, ...]:
    """Return Karpenter's events from before and during the run."""
    told = [
        (52 - 9 * i, "Pod", "web", f"front-5d4f9-{'bcdfgh'[i] * 5}", "Evicted", "Evicted pod: Underutilized")
        for i in range(6)
    ]
    told.append((81, "NodeClaim", "", "gpu-zzzzz", "DisruptionTerminating", "Disrupting NodeClaim: Empty"))
    return tuple(
        Event(
            name=f"{name}.{reason}",
            uid=f"{name}.{reason}",
            namespace=namespace or "default",
            reason=reason,
            message=message,
            type="Normal",
            source="karpenter",
            involved_kind=kind,
            involved_namespace=namespace,
            involved_name=name,
            involved_uid=f"uid-{name}",
            first_ns=NOW_NS - minutes * MINUTE,
            last_ns=NOW_NS - minutes * MINUTE,
        )
        for minutes, kind, namespace, name, reason, message in told
    )


def a_fleet_with_removals() -> FleetSource:
    """Return the fleet with the NodeClaims that will be removed."""
    fleet = a_fleet()
    for claim in CLAIMS:
        fleet.add(Kind.NODECLAIM, claim)
    for event in events():
        fleet.add(Kind.EVENT, event)
    return FleetSource(fleet)


def opened(app: KarptuiApp, source: FleetSource, *keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Return a function that lets an hour pass, then presses keys."""
    clock = app.feed.clock
    assert isinstance(clock, FrozenClock)
    clock.instant_ns = BEGAN

    async def run(pilot: Pilot[None]) -> None:
        await settled(pilot)
        assert source.mailbox is not None
        for claim in sorted(CLAIMS, key=lambda claim: claim.deletion_ns):
            clock.instant_ns = claim.deletion_ns + 30 * SECOND
            source.mailbox.put(Kind.NODECLAIM, {claim.name: None})
            app.poll_now()
        clock.instant_ns = NOW_NS
        for key in keys:
            await press(pilot, key)

    return run


async def test_keys_open_replacements_and_other_screens(make_app: MakeApp) -> None:
    source = a_fleet_with_removals()
    app = make_app(source=source)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, source, "2", "u")(pilot)
        assert isinstance(app.screen, ChurnScreen)
        assert app.screen.current_object() == ("NodePool", "general")
        await press(pilot, "enter")
        screen = app.screen
        assert isinstance(screen, ReplacementsScreen)
        assert screen.table_title == "Replacements of general"
        assert [item.life.pool for item in screen.listing.rows.items] == ["general"] * 7
        await press(pilot, "slash", *"why=Underutilized", "enter")
        assert screen.current_object() is None
        await pilot.press("enter")
        assert "is gone; o shows" in str(screen.info.pieces)
        await pilot.press("s")
        assert "no replacement is known" in str(screen.info.pieces)
        await pilot.press("G", "s")
        assert "general-ccccc is gone" in str(screen.info.pieces)
        await press(pilot, "o")
        assert isinstance(app.screen, EventsScreen)
        assert app.screen.listing.query_text == "object=general-bbbbb"


async def test_an_existing_pool_or_claim_opens_its_nodes(make_app: MakeApp) -> None:
    source = a_fleet_with_removals()
    app = make_app(source=source)
    async with running(app, (120, 40)) as (_, pilot):
        await press(pilot, "3", "u")
        await press(pilot, "slash", *"general", "enter", "c", "o")
        assert isinstance(app.screen, NodesScreen)
        assert app.screen.listing.query_text == "pool=general"
        await press(pilot, "colon", *"churn", "enter")
        await press(pilot, "R")
        assert isinstance(app.screen, ReplacementsScreen)
        assert app.screen.table_title == "Replacements"
        claim = present(app.screen.current_object())
        assert claim[0] == "NodeClaim"
        await press(pilot, "c", "enter")
        assert isinstance(app.screen, NodeDetailScreen)
