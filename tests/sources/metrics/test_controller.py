from __future__ import annotations

from collections.abc import Iterator

import pytest

from karptui.aws.region import FactPhase
from karptui.clock import FrozenClock
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.cluster.transport import Transport
from karptui.sources.metrics.source import Endpoint, MetricsSource, find_endpoints
from karptui.sources.source import SourceError
from tests.builders import present
from tests.sources.conftest import NOW_NS
from tests.sources.turns import Turns

from .conftest import KarpenterCluster, lease, pod, service
from .exposition_text import KARPENTER

POD_A = "/api/v1/namespaces/kube-system/pods/karpenter-a:8080/proxy/metrics"


def endpoints_of(client: Transport) -> tuple[Endpoint, ...]:
    return find_endpoints(client, read_seconds=5)


def test_finds_pods_then_services_by_label(client: Transport, cluster: KarpenterCluster) -> None:
    cluster.pods(pod("a", port=9090), pod("b", namespace="karpenter"), pod("c", phase="Pending"))
    cluster.services(service(), service("other", ports=[{"port": 8080}]), service("headless", ports=[]))
    assert endpoints_of(client) == (
        Endpoint("pod kube-system/a", "/api/v1/namespaces/kube-system/pods/a:9090/proxy/metrics"),
        Endpoint(
            "service kube-system/karpenter",
            "/api/v1/namespaces/kube-system/services/karpenter:http-metrics/proxy/metrics",
            is_service=True,
        ),
        Endpoint(
            "service kube-system/other",
            "/api/v1/namespaces/kube-system/services/other:8080/proxy/metrics",
            is_service=True,
        ),
    )
    assert {query["labelSelector"] for query in cluster.queries} == {"app.kubernetes.io/name=karpenter"}


def titles(client: Transport) -> list[str]:
    return [endpoint.title for endpoint in endpoints_of(client)]


def test_a_tenants_pod_is_not_asked_if_karpenter_is_found(client: Transport, cluster: KarpenterCluster) -> None:
    cluster.services()
    cluster.at_work()
    theirs, result = pod("karpenter-x", namespace="shop"), pod("karpenter-6f9-abcde", namespace="platform")
    cluster.pods(theirs, result)
    outcome = lease("platform", "karpenter-6f9-abcde")
    cluster.leases(lease("shop", "karpenter-x", "2026-11-20T00:00:00Z"), outcome)
    assert titles(client) == ["pod platform/karpenter-6f9-abcde"]
    cluster.pods(theirs, pod("karpenter-0"))
    cluster.leases(lease("shop", "karpenter-x", "2020-01-01T00:00:00Z"))
    assert titles(client) == ["pod kube-system/karpenter-0"], "tenants cannot create pods in kube-system"


def test_a_tenant_with_a_lease_is_not_asked_without_karpenter(client: Transport, cluster: KarpenterCluster) -> None:
    cluster.services(service(namespace="shop"))
    cluster.pods(pod("karpenter-x", namespace="shop"))
    cluster.leases(lease("shop", "karpenter-x", "2020-01-01T00:00:00Z"))
    assert titles(client) == []
    assert not any("proxy" in path for path in cluster.paths)


def test_leases_are_read_by_name_and_only_if_needed(client: Transport, cluster: KarpenterCluster) -> None:
    endpoints_of(client)
    assert not any("leases" in path for path in cluster.paths)
    cluster.pods()
    cluster.services()
    endpoints_of(client)
    asked = [query for path, query in zip(cluster.paths, cluster.queries, strict=True) if "leases" in path]
    assert asked == [{"fieldSelector": "metadata.name=karpenter-leader-election"}]


def test_a_pod_without_named_ports_is_asked_on_port_8080(client: Transport, cluster: KarpenterCluster) -> None:
    metadata = {"name": "a b/", "namespace": "kube-system"}
    cluster.pods({"metadata": metadata, "spec": {}, "status": {"phase": "Running"}})
    assert endpoints_of(client)[0].path == "/api/v1/namespaces/kube-system/pods/a%20b%2F:8080/proxy/metrics"


def test_the_usual_namespaces_are_searched_if_not_all_may_be_listed(
    client: Transport, cluster: KarpenterCluster
) -> None:
    cluster.refuse_lists("pods")
    cluster.refuse_lists("services")
    cluster.refuse("/apis/coordination.k8s.io/v1/leases")
    cluster.at_work()
    items = {"items": [pod("a", namespace="karpenter")]}
    cluster.answers["/api/v1/namespaces/karpenter/pods"] = lambda call: call.json(items)
    cluster.answers["/api/v1/namespaces/karpenter/services"] = lambda call: call.json({"items": []})
    assert [endpoint.title for endpoint in endpoints_of(client)] == ["pod karpenter/a"]


def test_an_answer_that_is_no_list_is_an_error(client: Transport, cluster: KarpenterCluster) -> None:
    cluster.answers["/api/v1/namespaces/kube-system/pods"] = lambda call: call.text("<html>")
    with pytest.raises(SourceError, match="cannot be read"):
        endpoints_of(client)


@pytest.fixture
def source(client: Transport, clock: FrozenClock, turns: Turns) -> Iterator[MetricsSource]:
    source = MetricsSource(client, clock=clock, wait=turns.wait)
    yield source
    turns.end(source)


def test_metrics_are_read_once_a_minute(source: MetricsSource, turns: Turns, clock: FrozenClock) -> None:
    first = turns.read(source)
    assert first.metrics is not None
    assert first.status.phase is FactPhase.LIVE
    assert (first.status.as_of_ns, first.status.sentence) == (NOW_NS, "")
    clock.instant_ns += 60 * NS_PER_SECOND
    second = turns.read(source)
    assert second.status.as_of_ns == NOW_NS + 60 * NS_PER_SECOND
    assert second.metrics is not None
    assert second.metrics.read_at_ns == NOW_NS + 60 * NS_PER_SECOND
    assert second.metrics.offerings is first.metrics.offerings, "an unchanged reading is a new object"
    assert turns.seconds == [60.0, 60.0]


def test_the_last_reading_is_kept_if_reading_fails(
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


def test_a_provider_without_prices_is_reported(source: MetricsSource, turns: Turns, cluster: KarpenterCluster) -> None:
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
