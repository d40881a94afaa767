"""Connecting, syncing, empty, filtered, forbidden, stale, disconnected and offline look different."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.sources.source import Mailbox, Phase, SourceError
from tests.builders import a_node
from tests.ui.conftest import MakeApp
from tests.ui.fleet import NOW_NS, SECOND, Fleet, FleetSource, a_fleet, screen_text, status
from tests.ui.stage import settled

SIZE = (120, 24)


class ReportingSource(FleetSource):
    """A source that reports the given statuses."""

    reports: tuple[Any, ...] = ()

    def start(self, mailbox: Mailbox) -> None:
        for kind, items in self.fleet.objects.items():
            mailbox.replace(kind, items)
        for report in self.reports:
            mailbox.report(report)


PODS_UNLISTED = Fleet({kind: objects for kind, objects in a_fleet().objects.items() if kind is not Kind.POD})


@pytest.mark.parametrize(("fleet", "reports", "shown", "hidden"), [
    (Fleet(), [status(Kind.NODE, Phase.CONNECTING, since_ns=NOW_NS - 3 * SECOND)], ["connecting… (3s)", "○ connecting"],
     "0 nodes"),
    (Fleet(), [], ["connecting…"], "0 nodes"),
    (a_fleet(), [status(Kind.NODE), status(Kind.POD, Phase.SYNCING, count=6500, total_estimate=15000)],
     ["◐ syncing pods 6,500 of about 15,000"], "connecting"),
    (PODS_UNLISTED, [status(Kind.NODE), status(Kind.POD, Phase.SYNCING)], ["11 nodes"], "0 pods"),
    (Fleet(), [status(Kind.NODE), status(Kind.POD)], ["there are no nodes"], "connecting"),
    (PODS_UNLISTED,
     [status(Kind.NODE),
      status(Kind.POD, Phase.FORBIDDEN, last_error="no permission to list pods in all namespaces: pods is …")],
     ["no permission to list pods in all namespaces. Requests and pod counts need it", "unread", "no access to pods"],
     " 0%"),
    (Fleet(), [status(Kind.NODE, Phase.FORBIDDEN, last_error="nodes: forbidden")],
     ["? has the ClusterRole that karptui needs"], "there are no nodes"),
    (a_fleet(), [status(Kind.NODE), status(Kind.POD, Phase.STALE, last_contact_ns=NOW_NS - 42 * SECOND)],
     ["◌ pods stale for 42s", "The data is from 11:59:25Z."], "connecting"),
    (a_fleet(),
     [status(Kind.NODE),
      status(Kind.POD, Phase.DISCONNECTED, last_error="connection refused", retry_at_ns=NOW_NS + 5 * SECOND)],
     ["✖ pods disconnected, retrying in 5 s", "connection refused; retrying in 5 s."], "connecting"),
    (a_fleet(), [status(Kind.NODE, Phase.OFFLINE), status(Kind.POD, Phase.OFFLINE)],
     ["◆ offline, taken 2026-11-24 11:59:07Z"], "connecting"),
])  # fmt: skip
async def test_every_source_state_has_its_own_text(
    make_app: MakeApp, fleet: Fleet, reports: list[Any], shown: list[str], hidden: str
) -> None:
    source = ReportingSource(fleet)
    source.reports = tuple(reports)
    async with make_app(source=source).run_test(size=SIZE) as pilot:
        text = screen_text(await settled(pilot))
    assert [item for item in shown if item not in text] == []
    assert hidden not in text


async def test_without_managed_nodes_blockers_and_next_are_empty(make_app: MakeApp) -> None:
    fleet = Fleet()
    fleet.add(Kind.NODE, a_node(name="foreign", pool=""))
    source = ReportingSource(fleet)
    source.reports = tuple(status(kind) for kind in Kind)
    async with make_app(source=source).run_test(size=SIZE) as pilot:
        await pilot.press("6")
        assert "there are no blockers" in screen_text(await settled(pilot))
        await pilot.press("n")
        assert "there are no nodes to be removed" in screen_text(await settled(pilot))


async def test_a_source_that_cannot_start_shows_its_error(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    source = FleetSource(a_fleet())

    def refuse(_: Mailbox) -> None:
        raise SourceError("no such file")

    monkeypatch.setattr(source, "start", refuse)
    async with make_app(source=source).run_test(size=SIZE) as pilot:
        assert "✖ no such file" in screen_text(await settled(pilot))


async def test_without_permission_for_pods_results_are_shown_as_not_computed(make_app: MakeApp) -> None:
    fleet = a_fleet()
    del fleet.objects[Kind.POD]
    source = ReportingSource(fleet)
    hidden = status(Kind.POD, Phase.FORBIDDEN, last_error="no permission to list pods: pods is forbidden")
    source.reports = (*(status(kind) for kind in Kind if kind is not Kind.POD), hidden)
    async with make_app(source=source).run_test(size=SIZE) as pilot:
        assert "unread" in screen_text(await settled(pilot))
        unknown = "not computed: pods may not be listed"
        for key, result in (("6", unknown), ("7", "unread"), ("0", unknown)):
            await pilot.press(key)
            text = screen_text(await settled(pilot))
            assert result in text
            assert not [words for words in ("held (", "nothing found", "connecting") if words in text]
