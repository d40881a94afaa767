from __future__ import annotations

import pytest

from karptui.sources.cluster.transport import Transport
from karptui.sources.metrics.source import Endpoint, find_endpoints
from karptui.sources.source import SourceError

from .conftest import KarpenterCluster, lease, pod, service


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


def test_a_tenant_stands_behind_karpenter(client: Transport, cluster: KarpenterCluster) -> None:
    cluster.services()
    cluster.at_work()
    theirs, result = pod("karpenter-x", namespace="shop"), pod("karpenter-6f9-abcde", namespace="platform")
    cluster.pods(theirs, result)
    outcome = lease("platform", "karpenter-6f9-abcde")
    cluster.leases(lease("shop", "karpenter-x", "2026-11-20T00:00:00Z"), outcome)
    assert titles(client) == ["pod platform/karpenter-6f9-abcde"]
    cluster.pods(theirs, pod("karpenter-0"))
    cluster.leases(lease("shop", "karpenter-x", "2020-01-01T00:00:00Z"))
    assert titles(client) == ["pod kube-system/karpenter-0"], "nobody else may put a pod into kube-system"


def test_a_tenant_with_a_lease_is_not_asked_without_karpenter(client: Transport, cluster: KarpenterCluster) -> None:
    cluster.services(service(namespace="shop"))
    cluster.pods(pod("karpenter-x", namespace="shop"))
    cluster.leases(lease("shop", "karpenter-x", "2020-01-01T00:00:00Z"))
    assert titles(client) == []
    assert not any("proxy" in path for path in cluster.paths)


def test_leases_are_read_by_name_and_only_if_they_are_needed(client: Transport, cluster: KarpenterCluster) -> None:
    endpoints_of(client)
    assert not any("leases" in path for path in cluster.paths)
    cluster.pods()
    cluster.services()
    endpoints_of(client)
    asked = [query for path, query in zip(cluster.paths, cluster.queries, strict=True) if "leases" in path]
    assert asked == [{"fieldSelector": "metadata.name=karpenter-leader-election"}]


def test_a_pod_without_named_ports_is_asked_on_the_usual_one(client: Transport, cluster: KarpenterCluster) -> None:
    metadata = {"name": "a b/", "namespace": "kube-system"}
    cluster.pods({"metadata": metadata, "spec": {}, "status": {"phase": "Running"}})
    assert endpoints_of(client)[0].path == "/api/v1/namespaces/kube-system/pods/a%20b%2F:8080/proxy/metrics"


def test_looks_in_the_usual_namespaces_when_it_may_not_list_all(client: Transport, cluster: KarpenterCluster) -> None:
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
