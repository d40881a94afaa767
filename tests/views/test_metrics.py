"""Metrics: unknown values are absent, and no series is about a single pod, node or NodeClaim."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator, Mapping

import pytest
from prometheus_client.parser import text_string_to_metric_families

from karptui.cli.metrics_server import MOST_REQUESTS, MetricsServer
from karptui.decode.kinds import Kind
from karptui.karpenter.labels import CAPACITY_TYPE, NODEPOOL
from karptui.session.cluster_view import ClusterView
from karptui.state.cluster import EMPTY
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.views.metrics import (
    CLUSTER_HELD,
    FINDINGS,
    HELD_DOLLARS,
    KARPENTER,
    LEADER,
    METRICS,
    MOST_POOLS,
    NODE_DOLLARS,
    NODES,
    OTHER,
    PENDING,
    Metric,
    Values,
    verdict_metrics,
)
from tests.builders import a_node, a_nodepool


def view_of(nodes: Mapping[str, Mapping[str, str]], pools: int = 0) -> ClusterView:
    """Return a cluster of nodes with labels; its NodePools have the names ``pool-N``."""
    result = {
        name: a_node(name=name, pool=labels[NODEPOOL], capacity_type=labels[CAPACITY_TYPE])
        for name, labels in nodes.items()
    }
    named = {f"pool-{number}": a_nodepool(name=f"pool-{number}") for number in range(pools)}
    deltas = {Kind.NODE: KindDelta(result), Kind.NODEPOOL: KindDelta(named)}
    return ClusterView(reduce(EMPTY, Batch(deltas)), {})


def series(values: Mapping[Metric, Values]) -> int:
    return sum(map(len, values.values()))


def test_unknown_values_are_absent() -> None:
    values = verdict_metrics(view_of({"a": {NODEPOOL: "pool-0", CAPACITY_TYPE: "spot"}}, 1), (), 1)
    unknown = (FINDINGS, HELD_DOLLARS, CLUSTER_HELD, NODE_DOLLARS, PENDING, LEADER, KARPENTER)
    assert [metric.name for metric in unknown if values[metric]] == []
    assert values[NODES] == {("pool-0", "spot"): 1.0}


def test_the_number_of_series_is_bounded() -> None:
    def fleet(nodes: int) -> ClusterView:
        types = ("spot", "on-demand")
        return view_of({f"n-{i}": {NODEPOOL: f"pool-{i % 3}", CAPACITY_TYPE: types[i % 2]} for i in range(nodes)}, 3)

    assert series(verdict_metrics(fleet(6_000), (), 1)) == series(verdict_metrics(fleet(60), (), 1))
    labels = {f"n-{i}": {NODEPOOL: f"made-up-{i}", CAPACITY_TYPE: f"type-{i}"} for i in range(500)}
    assert verdict_metrics(view_of(labels, 2), (), 1)[NODES] == {(OTHER, OTHER): 500.0}
    nodes = {f"n-{i}": {NODEPOOL: f"pool-{i}", CAPACITY_TYPE: "spot"} for i in range(MOST_POOLS + 100)}
    values = verdict_metrics(view_of(nodes, MOST_POOLS + 100), (), 1)[NODES]
    assert len(values) == MOST_POOLS + 1
    assert values[OTHER, "spot"] == 100.0


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    hostile: dict[Metric, Values] = {NODES: {('a"b\\c\nd', "spot"): 3.0}}
    metricsserver = MetricsServer("127.0.0.1", 0, lambda: hostile, lambda: "Pod was last read 300 s ago")
    yield metricsserver
    metricsserver.stop()


def request(server: MetricsServer, path: str, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_the_prometheus_client_parses_the_served_metrics(server: MetricsServer) -> None:
    status, text = request(server, "/metrics")
    (family,) = text_string_to_metric_families(text)
    (sample,) = family.samples
    assert (status, family.name, family.documentation) == (200, NODES.name, NODES.help)
    assert (sample.labels, sample.value) == ({"nodepool": 'a"b\\c\nd', "capacity_type": "spot"}, 3.0)


def test_only_two_paths_and_get_are_served(server: MetricsServer) -> None:
    assert request(server, "/healthz") == (503, "Pod was last read 300 s ago\n")
    assert request(server, "/")[0] == 404
    assert [request(server, "/metrics", method)[0] for method in ("POST", "PUT", "DELETE")] == [405] * 3


def test_surplus_connections_are_closed(server: MetricsServer) -> None:
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(MOST_REQUESTS)]
    for connection in idle:
        connection.sendall(b"GET /metrics HTTP/1.0\r\n")
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        request(server, "/healthz")
    for connection in idle:
        connection.sendall(b"\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.0 200")
        connection.close()


def test_names_follow_the_conventions() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert not any(metric.name.endswith("_total") for metric in METRICS), "they are gauges"
    assert all(metric.help.endswith(".") for metric in METRICS)
    assert not {label for metric in METRICS for label in metric.labels} & {"pod", "node", "nodeclaim", "name"}
