from __future__ import annotations

from collections.abc import Callable

import pytest

from karptui.clock import FrozenClock
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.transport import Transport
from karptui.sources.metrics.source import MetricsError, MetricsReader

from .conftest import Answer, KarpenterCluster, pod, service
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


def test_skips_standby_replicas_and_remembers_the_leader(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.pods(pod("karpenter-a"), pod("karpenter-b"))
    cluster.metrics("pods/karpenter-a:8080", standby())
    cluster.metrics("pods/karpenter-b:8080", KARPENTER)
    assert reader.read().endpoint == "pod kube-system/karpenter-b"
    cluster.paths.clear()
    assert reader.read().endpoint == "pod kube-system/karpenter-b"
    assert cluster.paths == ["/api/v1/namespaces/kube-system/pods/karpenter-b:8080/proxy/metrics"]


def test_asks_through_the_service_until_the_leader_answers(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.refuse_lists("pods")
    cluster.metrics("services/karpenter:http-metrics", standby(), standby(), KARPENTER)
    assert reader.read().endpoint == "service kube-system/karpenter"
    assert cluster.paths.count(SERVICE) == 3
    cluster.metrics("services/karpenter:http-metrics", standby())
    with pytest.raises(MetricsError):
        reader.read()
    assert cluster.paths.count(SERVICE) == 3 + 1 + 4, "the known leader, and a new search"


def stands_by(cluster: KarpenterCluster) -> None:
    cluster.metrics("pods/karpenter-a:8080", standby())
    cluster.metrics("services/karpenter:http-metrics", standby())


def is_absent(cluster: KarpenterCluster) -> None:
    cluster.pods()
    cluster.services()


def may_not_be_listed(cluster: KarpenterCluster) -> None:
    cluster.refuse_lists("pods")
    cluster.refuse_lists("services")


def may_not_be_asked(cluster: KarpenterCluster) -> None:
    cluster.refuse(POD_A)
    cluster.refuse(SERVICE)


def is_out_of_reach(cluster: KarpenterCluster) -> None:
    cluster.services()
    cluster.refuse(POD_A, 503, "dial tcp 10.0.0.7:8080: i/o timeout")


def refuses(cluster: KarpenterCluster) -> None:
    cluster.services(service(ports=[]))
    cluster.refuse(POD_A, 400, "bad port")


def hangs_up(cluster: KarpenterCluster) -> None:
    cluster.answers[POD_A] = lambda call: call.cut()


@pytest.mark.parametrize(("fault", "sentence"), [
    (stands_by, "only a standby replica of Karpenter answered"),
    (is_absent, r"labelled app.kubernetes.io/name=karpenter.*not at all"),
    (may_not_be_listed, "permission to list pods or services"),
    (may_not_be_asked, "pods/proxy or services/proxy"),
    (is_out_of_reach, r"cannot reach pod kube-system/karpenter-a.*i/o timeout.*security group"),
    (refuses, r"pod kube-system/karpenter-a refuses to return its metrics.*bad port"),
    (hangs_up, "pod kube-system/karpenter-a did not return metrics"),
])  # fmt: skip
def test_without_metrics_the_error_has_the_reason(
    reader: MetricsReader, cluster: KarpenterCluster, fault: Callable[[KarpenterCluster], None], sentence: str
) -> None:
    fault(cluster)
    with pytest.raises(MetricsError, match=sentence):
        reader.read()


def test_other_errors_of_the_search_are_those_of_the_server(reader: MetricsReader, cluster: KarpenterCluster) -> None:
    cluster.refuse_lists("pods", 500, "etcd is down")
    cluster.refuse_lists("services", 500)
    with pytest.raises(ApiError, match="etcd is down"):
        reader.read()


@pytest.mark.parametrize("now", [
    lambda call: call.error(404, "not found"),
    lambda call: call.text(standby()),
    lambda call: call.cut(),
], ids=["gone", "stands by", "silent"])  # fmt: skip
def test_another_leader_is_searched_for(reader: MetricsReader, cluster: KarpenterCluster, now: Answer) -> None:
    reader.read()
    cluster.pods(pod("karpenter-b"))
    cluster.metrics("pods/karpenter-b:8080", KARPENTER)
    cluster.answers[POD_A] = now
    assert reader.read().endpoint == "pod kube-system/karpenter-b"
