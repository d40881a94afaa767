from __future__ import annotations

from collections.abc import Iterator

import pytest

from karptui.aws.region import FactPhase
from karptui.clock import FrozenClock
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.cluster.transport import Transport
from karptui.sources.controller import ControllerSource
from tests.sources.conftest import NOW_NS
from tests.sources.turns import Turns

from .conftest import DEPLOYMENTS, Api, deployment


@pytest.fixture
def source(client: Transport, clock: FrozenClock, turns: Turns) -> Iterator[ControllerSource]:
    controllersource = ControllerSource(client, clock=clock, wait=turns.wait)
    yield controllersource
    turns.end(controllersource)


def test_an_equal_reading_is_no_news(api: Api, source: ControllerSource, turns: Turns, clock: FrozenClock) -> None:
    assert source.latest().status.phase is FactPhase.WAITING
    api.lists[DEPLOYMENTS] = [deployment(RESERVED_ENIS="1")]
    first = turns.read(source)
    assert first.info is not None
    assert (first.status.phase, first.status.as_of_ns, turns.seconds) == (FactPhase.LIVE, NOW_NS, [60.0])
    clock.instant_ns += 60 * NS_PER_SECOND
    assert turns.read(source) is first
    api.lists[DEPLOYMENTS] = [deployment(RESERVED_ENIS="2")]
    second = turns.read(source)
    assert second.info is not None
    assert second.info.settings == {"RESERVED_ENIS": "2"}
    assert second.status.as_of_ns == clock.instant_ns


def test_what_was_read_stays_when_reading_fails(api: Api, source: ControllerSource, turns: Turns) -> None:
    refused = turns.read(source)
    assert (refused.info, refused.status.phase) == (None, FactPhase.UNAVAILABLE)
    api.lists[DEPLOYMENTS] = [deployment()]
    first = turns.read(source)
    api.lists.clear()
    second = turns.read(source)
    assert second.info is first.info
    assert (second.status.phase, second.status.as_of_ns) == (FactPhase.CACHED, NOW_NS)
    assert "needs permission" in second.status.sentence
    assert second.status.retry_at_ns == NOW_NS + 300 * NS_PER_SECOND
    assert turns.read(source) is second
    api.status = 500
    third = turns.read(source)
    assert "500" in third.status.sentence
    assert turns.seconds[-1] == 60.0
    api.lists[DEPLOYMENTS] = [deployment()]
    last = turns.read(source)
    assert last.info is first.info
    assert last.status.phase is FactPhase.LIVE


def test_what_is_not_known_is_said(api: Api, source: ControllerSource, turns: Turns) -> None:
    secret = deployment()
    secret["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "RESERVED_ENIS", "valueFrom": {"secretKeyRef": {"name": "enis"}}}
    ]
    api.lists[DEPLOYMENTS] = [secret]
    assert turns.read(source).status.sentence == "RESERVED_ENIS comes from Secret enis, which is not read"
