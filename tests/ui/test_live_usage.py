"""Live usage on screens: next to requests, with its age, and fetched only while it is visible."""

from __future__ import annotations

from dataclasses import dataclass, field

from karptui.decode.kinds import Kind
from karptui.kube.usage import LiveUsage, Sample, first_seen
from karptui.screens.nodes import NodesScreen
from tests.ui.conftest import MakeApp
from tests.ui.fleet import NOW_NS, SECOND, a_fleet, screen_text
from tests.ui.stage import front, press, running, settled

NODE = "ip-10-0-71-204.eu-west-1.compute.internal"
GIB = 1 << 30


@dataclass
class Meter:
    """A source with the given usage that counts requests."""

    usage: LiveUsage
    wanted: list[int] = field(default_factory=list)

    def want(self) -> None:
        self.wanted.append(1)

    def latest(self) -> LiveUsage:
        return self.usage

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing, as nothing was started."""


def measured() -> LiveUsage:
    """Return measurements of the fleet's nodes and pods; some have two."""
    fleet = a_fleet()
    nodes = {
        name: first_seen(Sample(NOW_NS - 75 * SECOND, 900 + 317 * at, (3 + 2 * at) * GIB))
        for at, name in enumerate(fleet.objects[Kind.NODE])
    }
    nodes[NODE] = nodes[NODE].then(Sample(NOW_NS - 20 * SECOND, 2140, 41 * GIB))
    pods = {
        key: first_seen(Sample(NOW_NS - 20 * SECOND, 12 + 5 * at, (90 + 7 * at) << 20))
        for at, key in enumerate(fleet.objects[Kind.POD])
    }
    return LiveUsage(nodes=nodes, pods=pods, read_at_ns=NOW_NS - 18 * SECOND, window_ns=15 * SECOND, is_asked=True)


async def test_usage_is_requested_only_while_it_is_visible(make_app: MakeApp) -> None:
    meter = Meter(LiveUsage(is_asked=True))
    app = make_app(usage=meter)
    async with running(app, (120, 40)) as (_, pilot):
        await press(pilot, "3", "9")
        assert meter.wanted == []
        await press(pilot, "1", "ctrl+w")
        front(app, NodesScreen).refresh_view(is_forced=True)
        assert meter.wanted
        before = len(meter.wanted)
        await press(pilot, "4")
        assert len(meter.wanted) > before


async def test_new_measurements_are_shown(make_app: MakeApp) -> None:
    meter = Meter(LiveUsage(is_asked=True, sentence="live usage is not known: no [bold]metrics-server"))
    app = make_app(usage=meter, screen="pods")
    async with running(app, (120, 40)) as (_, pilot):
        assert "uses cpu" not in screen_text(app)
        meter.usage = measured()
        await settled(pilot)
        assert "uses cpu" in screen_text(app)
        meter.usage = LiveUsage(is_asked=True, sentence="live usage is not known: no [bold]metrics-server")
        await press(pilot, "colon", *"sources", "enter")
        assert "no [bold]metrics-server" in screen_text(app)
