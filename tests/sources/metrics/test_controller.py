from __future__ import annotations

import pytest

from karptui.karpenter.controller import KarpenterVersion
from karptui.sources.base import SourceError
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.transport import Transport
from karptui.sources.metrics.controller import Controller, Endpoint, find_controller

from .conftest import KarpenterCluster, pod, service


def found(client: Transport) -> Controller:
    return find_controller(client, read_seconds=5)


def test_finds_pods_then_services_by_label(client: Transport, cluster: KarpenterCluster) -> None:
    cluster.pods(pod("a", port=9090), pod("b", namespace="karpenter"), pod("c", phase="Pending"))
    cluster.services(service(), service("other", ports=[{"port": 8080}]), service("headless", ports=[]))
    assert found(client).endpoints == (
        Endpoint("pod kube-system/a", "/api/v1/namespaces/kube-system/pods/a:9090/proxy/metrics"),
        Endpoint("pod karpenter/b", "/api/v1/namespaces/karpenter/pods/b:8080/proxy/metrics"),
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


def test_a_pod_without_named_ports_is_asked_on_the_usual_one(client: Transport, cluster: KarpenterCluster) -> None:
    cluster.pods({"metadata": {"name": "a b/", "namespace": "n"}, "spec": {}, "status": {"phase": "Running"}})
    assert found(client).endpoints[0].path == "/api/v1/namespaces/n/pods/a%20b%2F:8080/proxy/metrics"


def test_looks_in_the_usual_namespaces_when_it_may_not_list_all(client: Transport, cluster: KarpenterCluster) -> None:
    cluster.refuse("/api/v1/pods")
    cluster.refuse("/api/v1/services")
    cluster.refuse("/api/v1/namespaces/kube-system/pods")
    items = {"items": [pod("a", namespace="karpenter")]}
    cluster.answers["/api/v1/namespaces/karpenter/pods"] = lambda call: call.json(items)
    cluster.answers["/api/v1/namespaces/karpenter/services"] = lambda call: call.json({"items": []})
    assert [endpoint.title for endpoint in found(client).endpoints] == ["pod karpenter/a"]


def test_services_alone_will_do(client: Transport, cluster: KarpenterCluster) -> None:
    cluster.refuse("/api/v1/pods")
    assert [endpoint.title for endpoint in found(client).endpoints] == ["service kube-system/karpenter"]


def test_neither_pods_nor_services_is_an_error(client: Transport, cluster: KarpenterCluster) -> None:
    cluster.refuse("/api/v1/pods")
    cluster.refuse("/api/v1/services")
    with pytest.raises(ApiError, match="403"):
        found(client)


def test_an_answer_that_is_no_list_is_an_error(client: Transport, cluster: KarpenterCluster) -> None:
    cluster.answers["/api/v1/pods"] = lambda call: call.text("<html>")
    with pytest.raises(SourceError, match="cannot be read"):
        found(client)


@pytest.mark.parametrize(
    ("image", "labels", "version"),
    [
        ("e/karpenter/controller:1.9.0", {}, KarpenterVersion("1.9.0", "image of pod kube-system/a")),
        (
            "e/karpenter/controller@sha256:1",
            {"app.kubernetes.io/version": "1.8.2", "helm.sh/chart": "karpenter-1.8.1"},
            KarpenterVersion("1.8.2", "label app.kubernetes.io/version of kube-system/karpenter"),
        ),
        (
            "",
            {"helm.sh/chart": "karpenter-1.8.1"},
            KarpenterVersion("1.8.1", "label helm.sh/chart of kube-system/karpenter"),
        ),
        ("e/karpenter:latest", {}, None),
    ],
)
def test_version_by_the_best_evidence(
    client: Transport, cluster: KarpenterCluster, image: str, labels: dict[str, str], version: KarpenterVersion | None
) -> None:
    cluster.pods(pod("a", image=image))
    cluster.services(service(labels=labels))
    assert found(client).version == version


def test_a_side_car_does_not_name_the_version(client: Transport, cluster: KarpenterCluster) -> None:
    both = pod("a", image="e/karpenter/controller:1.9.0")
    both["spec"]["containers"].insert(0, {"name": "proxy", "image": "envoy:1.30.0"})
    cluster.pods(both)
    assert found(client).version == KarpenterVersion("1.9.0", "image of pod kube-system/a")
