"""Connecting, syncing, empty, filtered, forbidden, stale, disconnected, offline: each looks different."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.sources.base import Phase, SourceError
from karptui.sources.mailbox import Mailbox
from tests.builders import a_node
from tests.ui.conftest import MakeApp
from tests.ui.fleet import NOW_NS, SECOND, Fleet, FleetSource, a_fleet, screen_text, status
from tests.ui.stage import settled

SIZE = (120, 24)


class Telling(FleetSource):
    """A source that reports what it is told to."""

    reports: tuple[Any, ...] = ()

    def start(self, mailbox: Mailbox) -> None:
        for kind, items in self.fleet.objects.items():
            mailbox.replace(kind, items)
        for report in self.reports:
            mailbox.report(report)


async def text_of(make_app: MakeApp, fleet: Fleet, *reports: Any) -> str:
    source = Telling(fleet)
    source.reports = reports
    async with make_app(source=source).run_test(size=SIZE) as pilot:
        return screen_text(await settled(pilot))


async def test_connecting(make_app: MakeApp) -> None:
    text = await text_of(make_app, Fleet(), status(Kind.NODE, Phase.CONNECTING, since_ns=NOW_NS - 3 * SECOND))
    assert "connecting… (3s)" in text
    assert "○ connecting" in text
    assert "0 nodes" not in text


async def test_nothing_heard_yet(make_app: MakeApp) -> None:
    text = await text_of(make_app, Fleet())
    assert "connecting…" in text
    assert "0 nodes" not in text, "a count of 0 is no fact before nodes are listed"


async def test_syncing(make_app: MakeApp) -> None:
    pods = status(Kind.POD, Phase.SYNCING, count=6500, total_estimate=15000)
    text = await text_of(make_app, a_fleet(), status(Kind.NODE), pods)
    assert "◐ syncing pods 6,500 of about 15,000" in text


async def test_pods_are_not_counted_as_0_before_they_are_listed(make_app: MakeApp) -> None:
    fleet = a_fleet()
    del fleet.objects[Kind.POD]
    text = await text_of(make_app, fleet, status(Kind.NODE), status(Kind.POD, Phase.SYNCING))
    assert "11 nodes" in text
    assert "0 pods" not in text


async def test_empty(make_app: MakeApp) -> None:
    assert "there are no nodes" in await text_of(make_app, Fleet(), status(Kind.NODE), status(Kind.POD))


async def test_where_nothing_keeps_a_node_nothing_is_waited_for(make_app: MakeApp) -> None:
    fleet = Fleet()
    fleet.add(Kind.NODE, a_node(name="foreign", pool=""))
    source = Telling(fleet)
    source.reports = tuple(status(kind) for kind in Kind)
    async with make_app(source=source).run_test(size=SIZE) as pilot:
        await pilot.press("6")
        assert "there are no blockers" in screen_text(await settled(pilot))
        await pilot.press("n")
        assert "there are no nodes to be removed" in screen_text(await settled(pilot))


async def test_forbidden_is_never_zero(make_app: MakeApp) -> None:
    fleet = a_fleet()
    del fleet.objects[Kind.POD]
    pods = status(Kind.POD, Phase.FORBIDDEN, last_error="no permission to list pods in all namespaces: pods is …")
    text = await text_of(make_app, fleet, status(Kind.NODE), pods)
    assert "no permission to list pods in all namespaces. Requests and pod counts need it" in text
    assert "!rbac" in text
    assert " 0%" not in text
    assert "no access to pods" in text


async def test_no_node_may_be_seen(make_app: MakeApp) -> None:
    text = await text_of(make_app, Fleet(), status(Kind.NODE, Phase.FORBIDDEN, last_error="nodes: forbidden"))
    assert "? has the ClusterRole that karptui needs" in text


async def test_stale_and_disconnected(make_app: MakeApp) -> None:
    stale = status(Kind.POD, Phase.STALE, last_contact_ns=NOW_NS - 42 * SECOND)
    text = await text_of(make_app, a_fleet(), status(Kind.NODE), stale)
    assert "◌ pods stale for 42s" in text
    assert "What you see is from 11:59:25Z." in text
    gone = status(Kind.POD, Phase.DISCONNECTED, last_error="connection refused", retry_at_ns=NOW_NS + 5 * SECOND)
    text = await text_of(make_app, a_fleet(), status(Kind.NODE), gone)
    assert "✖ pods disconnected, retrying in 5 s" in text
    assert "connection refused; retrying in 5 s." in text


async def test_offline(make_app: MakeApp) -> None:
    text = await text_of(make_app, a_fleet(), status(Kind.NODE, Phase.OFFLINE), status(Kind.POD, Phase.OFFLINE))
    assert "◆ offline, taken 2026-11-24 11:59:07Z" in text


async def test_a_source_that_cannot_start(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    source = FleetSource(a_fleet())

    def refuse(_: Mailbox) -> None:
        raise SourceError("no such file")

    monkeypatch.setattr(source, "start", refuse)
    async with make_app(source=source).run_test(size=SIZE) as pilot:
        assert "✖ no such file" in screen_text(await settled(pilot))


@pytest.mark.parametrize(
    ("key", "said"),
    [("6", "not computed: pods may not be listed"), ("7", "!rbac"), ("0", "not computed: pods may not be listed")],
)
async def test_what_is_out_of_reach_is_not_waited_for(make_app: MakeApp, key: str, said: str) -> None:
    fleet = a_fleet()
    del fleet.objects[Kind.POD]
    source = Telling(fleet)
    hidden = status(Kind.POD, Phase.FORBIDDEN, last_error="no permission to list pods: pods is forbidden")
    source.reports = (*(status(kind) for kind in Kind if kind is not Kind.POD), hidden)
    async with make_app(source=source).run_test(size=SIZE) as pilot:
        assert "!rbac" in screen_text(await settled(pilot))
        await pilot.press(key)
        text = screen_text(await settled(pilot))
        assert said in text
        assert "held (" not in text
        assert "nothing found" not in text
        assert "connecting" not in text
