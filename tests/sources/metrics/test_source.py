from __future__ import annotations

from collections.abc import Iterator

import pytest

from karptui.aws.region import FactPhase
from karptui.clock import FrozenClock
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.cluster.transport import Transport
from karptui.sources.metrics.source import MetricsSource
from tests.builders import present
from tests.sources.conftest import NOW_NS
from tests.sources.turns import Turns

from .conftest import KarpenterCluster
from .exposition_text import KARPENTER

POD_A = "/api/v1/namespaces/kube-system/pods/karpenter-a:8080/proxy/metrics"


@pytest.fixture
def source(client: Transport, clock: FrozenClock, turns: Turns) -> Iterator[MetricsSource]:
    source = MetricsSource(client, clock=clock, wait=turns.wait)
    yield source
    turns.end(source)


def test_reads_once_a_minute(source: MetricsSource, turns: Turns, clock: FrozenClock) -> None:
    first = turns.read(source)
    assert first.metrics is not None
    assert first.status.phase is FactPhase.LIVE
    assert (first.status.as_of_ns, first.status.sentence) == (NOW_NS, "")
    clock.instant_ns += 60 * NS_PER_SECOND
    second = turns.read(source)
    assert second.status.as_of_ns == NOW_NS + 60 * NS_PER_SECOND
    assert second.metrics is not None
    assert second.metrics.read_at_ns == NOW_NS + 60 * NS_PER_SECOND
    assert second.metrics.offerings is first.metrics.offerings, "nothing has changed"
    assert turns.seconds == [60.0, 60.0]


def test_what_was_read_stays_when_reading_fails(
    source: MetricsSource, turns: Turns, clock: FrozenClock, cluster: KarpenterCluster
) -> None:
    first = turns.read(source)
    cluster.pods()
    cluster.services()
    del cluster.answers[POD_A]
    clock.instant_ns += 60 * NS_PER_SECOND
    second = turns.read(source)
    assert second.metrics is first.metrics
    assert second.status.phase is FactPhase.CACHED
    assert "no running pod or service" in second.status.sentence
    assert second.status.as_of_ns == NOW_NS
    assert second.status.retry_at_ns == clock.instant_ns + 300 * NS_PER_SECOND
    assert turns.seconds == [60.0, 300.0]


def test_an_unreachable_server_is_asked_again_sooner(source: MetricsSource, turns: Turns, client: Transport) -> None:
    client.close()
    news = turns.read(source)
    assert news.status.phase is FactPhase.UNAVAILABLE
    assert news.metrics is None
    assert turns.seconds == [60.0]


def test_a_provider_without_prices_is_said(source: MetricsSource, turns: Turns, cluster: KarpenterCluster) -> None:
    cluster.metrics("pods/karpenter-a:8080", b'karpenter_build_info{version="1.14.1"} 1\n')
    news = turns.read(source)
    assert news.status.phase is FactPhase.LIVE
    assert news.status.sentence == "pod kube-system/karpenter-a reports no prices: not Karpenter's AWS provider"


def test_counters_are_compared_with_the_first_reading_of_the_same_controller(
    source: MetricsSource, turns: Turns, clock: FrozenClock, cluster: KarpenterCluster
) -> None:
    first = present(turns.read(source).first)
    assert (first.read_at_ns, first.offerings) == (NOW_NS, {})
    clock.instant_ns += 60 * NS_PER_SECOND
    second = turns.read(source)
    assert second.first is first
    cluster.metrics("pods/karpenter-a:8080", KARPENTER.replace(b"1.79521921083e+09", b"1.79521929083e+09"))
    clock.instant_ns += 60 * NS_PER_SECOND
    third = turns.read(source)
    assert third.first is not None
    assert third.first.read_at_ns == clock.instant_ns
