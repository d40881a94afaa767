from __future__ import annotations

import pytest

from karptui.clock import FrozenClock
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.transport import Transport
from karptui.sources.metrics.source import MetricsError, MetricsReader

from .conftest import KarpenterCluster, pod, service
from .exposition_text import KARPENTER, standby

POD_A = "/api/v1/namespaces/kube-system/pods/karpenter-a:8080/proxy/metrics"
SERVICE = "/api/v1/namespaces/kube-system/services/karpenter:http-metrics/proxy/metrics"


@pytest.fixture
def reader(client: Transport) -> MetricsReader:
    return MetricsReader(client, now_ns=FrozenClock(42).now_ns, read_seconds=5)


def test_reads_the_leader(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    metrics = reader.read()
    assert (metrics.endpoint, metrics.read_at_ns) == ("pod kube-system/karpenter-a", 42)
    assert len(metrics.offerings) == 45
    assert cluster.accepted[-1] == "text/plain;version=0.0.4"


def test_passes_over_replicas_that_stand_by_and_remembers_the_leader(
    reader: MetricsReader, cluster: KarpenterCluster
) -> None:
    cluster.pods(pod("karpenter-a"), pod("karpenter-b"))
    cluster.metrics("pods/karpenter-a:8080", standby())
    cluster.metrics("pods/karpenter-b:8080", KARPENTER)
    assert reader.read().endpoint == "pod kube-system/karpenter-b"
    cluster.paths.clear()
    assert reader.read().endpoint == "pod kube-system/karpenter-b"
    assert cluster.paths == ["/api/v1/namespaces/kube-system/pods/karpenter-b:8080/proxy/metrics"]


@pytest.mark.parametrize("how", ["gone", "stands by"])
def test_searches_again_when_the_leader_changes(reader: MetricsReader, cluster: KarpenterCluster, how: str) -> None:
    reader.read()
    cluster.pods(pod("karpenter-b"))
    cluster.metrics("pods/karpenter-b:8080", KARPENTER)
    if how == "gone":
        del cluster.answers[POD_A]
    else:
        cluster.metrics("pods/karpenter-a:8080", standby())
    assert reader.read().endpoint == "pod kube-system/karpenter-b"


def test_asks_through_the_service_until_the_leader_answers(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.refuse_lists("pods")
    cluster.metrics("services/karpenter:http-metrics", standby(), standby(), KARPENTER)
    assert reader.read().endpoint == "service kube-system/karpenter"
    assert cluster.paths.count(SERVICE) == 3


def test_only_standbys(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.metrics("pods/karpenter-a:8080", standby())
    cluster.metrics("services/karpenter:http-metrics", standby())
    with pytest.raises(MetricsError, match="only a standby replica of Karpenter answered"):
        reader.read()
    assert cluster.paths.count(SERVICE) == 4


def test_nothing_found(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.pods()
    cluster.services()
    with pytest.raises(MetricsError, match=r"labelled app.kubernetes.io/name=karpenter.*not at all"):
        reader.read()


def test_a_forbidden_search_names_the_permission(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.refuse_lists("pods")
    cluster.refuse_lists("services")
    with pytest.raises(MetricsError, match="permission to list pods or services"):
        reader.read()


def test_other_failures_of_the_search_are_the_servers(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.refuse_lists("pods", 500, "etcd is down")
    cluster.refuse_lists("services", 500)
    with pytest.raises(ApiError, match="etcd is down"):
        reader.read()


def test_a_forbidden_proxy_names_the_permission(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.refuse(POD_A)
    cluster.refuse(SERVICE)
    with pytest.raises(MetricsError, match="pods/proxy or services/proxy"):
        reader.read()


def test_a_pod_out_of_reach_hints_at_the_network(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.services()
    cluster.refuse(POD_A, 503, "dial tcp 10.0.0.7:8080: i/o timeout")
    with pytest.raises(MetricsError, match=r"cannot reach pod kube-system/karpenter-a.*i/o timeout.*security group"):
        reader.read()


def test_any_other_answer_is_passed_on(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.services(service(ports=[]))
    cluster.refuse(POD_A, 400, "bad port")
    with pytest.raises(MetricsError, match=r"pod kube-system/karpenter-a refuses to return its metrics.*bad port"):
        reader.read()


def test_a_cut_connection_is_a_sentence(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.answers[POD_A] = lambda call: call.cut()
    with pytest.raises(MetricsError, match="pod kube-system/karpenter-a did not return metrics"):
        reader.read()


def test_a_leader_that_falls_silent_is_looked_for_again(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    reader.read()
    cluster.answers[POD_A] = lambda call: call.cut()
    cluster.pods(pod("karpenter-b"))
    cluster.metrics("pods/karpenter-b:8080", KARPENTER)
    assert reader.read().endpoint == "pod kube-system/karpenter-b"
