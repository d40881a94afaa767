"""`--usage` of commands: one measurement, or a sentence why there is none."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from karptui.cli.evidence import measured_once
from karptui.cli.main import main
from karptui.kube.live_usage import NO_LIVE_USAGE
from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.mailbox import Mailbox
from tests.loopback import Call, LoopbackServer


@pytest.fixture(autouse=True)
def _no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KARPTUI_CONFIG", str(tmp_path / "none.toml"))


@pytest.mark.parametrize("command", ["nodes", "pods", "advice"])
def test_the_demo_has_nobody_to_ask(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--demo", "--usage", "-o", "json"]) != 2
    out, err = capsys.readouterr()
    assert f"karptui {command}: --usage: demo has no metrics-server to ask" in err
    if command != "advice":
        assert all(row["used_cpu_millis"] is None for row in json.loads(out))


def answer(call: Call) -> None:
    name = call.path.rpartition("/")[2]
    item = {"metadata": {"name": "a", "namespace": "web"}, "timestamp": "2026-11-20T12:00:00Z", "window": "15s"}
    if not call.path.startswith("/apis/metrics.k8s.io/"):
        call.error(404)
    elif name == "nodes":
        call.json({"items": [{**item, "usage": {"cpu": "1", "memory": "1Gi"}}]})
    else:
        call.json({"items": [{**item, "containers": [{"usage": {"cpu": "1m", "memory": "1Mi"}}]}]})


def test_a_cluster_is_asked_once_and_only_when_it_is_wanted() -> None:
    with LoopbackServer(answer) as server:
        source = ClusterSource(Connection(server=server.url, context="c"))
        source.start(Mailbox())
        assert measured_once(argparse.Namespace(), source) is NO_LIVE_USAGE
        found = measured_once(argparse.Namespace(usage=True), source)
        source.stop()
    assert found.nodes["a"].latest.cpu_millis == 1000
    assert found.pods["web/a"].latest.memory_bytes == 1 << 20
    assert found.sentence == ""
