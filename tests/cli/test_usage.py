"""`--usage` of commands: one measurement, or a message why there is none."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from karptui.cli.evidence import measured_once
from karptui.cli.main import main
from karptui.kube.usage import NO_LIVE_USAGE
from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.source import Mailbox
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.fake_api_server import Call, LoopbackServer


def test_the_demo_has_usage_of_its_nodes_and_running_pods(run: Run) -> None:
    nodes = [row for row in run.json("nodes", "--demo", "--no-simulate", "--usage") if row["status"] == "Ready"]
    assert nodes
    for node in nodes:
        assert 0 < node["used_cpu_millis"] < node["cpu_allocatable_millis"]
        assert 0 < node["used_mem_bytes"] < node["mem_allocatable_bytes"]
    pods = run.json("pods", "--demo", "--usage")
    assert {pod["used_cpu_millis"] is None for pod in pods if pod["status"] == "Running"} == {False}
    assert {pod["used_cpu_millis"] for pod in pods if not pod["node"]} == {None}


@pytest.mark.parametrize("command", ["nodes", "pods", "advice"])
def test_missing_usage_of_a_snapshot_is_reported(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "empty.json", {"kind": "List", "apiVersion": "v1", "items": []})
    main([command, "--snapshot", str(path), "--usage", "-o", "json"])
    assert f"karptui {command}: --usage: " in (error := capsys.readouterr().err)
    assert "has no metrics-server to ask" in error


def answer(call: Call) -> None:
    name = call.path.rpartition("/")[2]
    item = {"metadata": {"name": "a", "namespace": "web"}, "timestamp": "2026-11-20T12:00:00Z", "window": "15s"}
    if not call.path.startswith("/apis/metrics.k8s.io/"):
        call.error(404)
    elif name == "nodes":
        call.json({"items": [{**item, "usage": {"cpu": "1", "memory": "1Gi"}}]})
    else:
        call.json({"items": [{**item, "containers": [{"usage": {"cpu": "1m", "memory": "1Mi"}}]}]})


def test_usage_is_requested_once_and_only_with_the_flag() -> None:
    with LoopbackServer(answer) as server:
        source = ClusterSource(Connection(server=server.url, context="c"))
        source.start(Mailbox())
        assert measured_once(argparse.Namespace(), source) is NO_LIVE_USAGE
        usage = measured_once(argparse.Namespace(usage=True), source)
        source.stop()
    assert usage.nodes["a"].latest.cpu_millis == 1000
    assert usage.pods["web/a"].latest.memory_bytes == 1 << 20
    assert usage.sentence == ""
