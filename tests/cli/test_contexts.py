"""Several clusters at once: one that answers, one that never does, one that is not there, and hostile names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from karptui.cli.contexts import fleet_of
from karptui.cli.main import build_parser, main
from karptui.paths import own_command
from karptui.session.fleet import FleetRow
from tests.builders import a_manifest, present
from tests.cli.files import a_node_manifest, a_pod_manifest, kubeconfig
from tests.fake_api_server import LoopbackServer
from tests.sources.cluster.test_reflectors import Cluster, karpenter
from tests.workers.test_near import is_running

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema" / "verdict.json").read_text())
HOSTILE = "-o\x1b[31m json\u202e,x"


def a_cluster() -> Cluster:
    cluster = karpenter()
    cluster.put(
        "/apis/karpenter.sh/v1/nodepools", a_manifest("NodePool", "general", api_version="karpenter.sh/v1", spec={})
    )
    cluster.put("/api/v1/nodes", a_node_manifest("node-1"))
    cluster.put("/api/v1/pods", a_pod_manifest("api-1", node="node-1"))
    return cluster


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[list[str]]:
    """Flags for three clusters."""
    with LoopbackServer(a_cluster()) as good, LoopbackServer(lambda call: call.stall()) as silent:
        urls = {"good": good.url, "silent": silent.url, HOSTILE: "http://127.0.0.1:9"}
        yield ["--kubeconfig", kubeconfig(tmp_path, urls), "--no-aws", "--request-timeout", "3s"]


def test_one_line_of_json_for_each_context(clusters: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verdict", "--contexts", "all", "-o", "json", *clusters]) == 1
    output, error = capfd.readouterr()
    good, silent, gone = map(json.loads, output.splitlines())
    assert [line["name"] for line in (good, silent, gone)] == ["good", "silent", HOSTILE]
    Draft202012Validator(SCHEMA).validate(good["findings"])
    assert "stopped sending data" in silent["error"]
    assert "refuses connections" in gone["error"]
    assert "\x1b" not in output + error
    assert "\u202e" not in error
    assert "karptui verdict: silent: " in error


def test_text_has_titles_and_the_worst_status_counts(clusters: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verdict", "--context", "good", *clusters]) in (0, 1)
    alone = capfd.readouterr().out
    assert "✘" in alone
    assert main(["verdict", "--contexts", "good,silent,good", "--fail-on", "warning", *clusters]) == 4
    output = capfd.readouterr().out
    assert output == f"good:\n{alone}\n"


def pid_of(context: str) -> int:
    """Return the process that this one has started for a context."""
    listed = subprocess.check_output(["ps", "-ww", "-o", "pid=,args=", "--ppid", str(os.getpid())], text=True)
    (pid,) = (int(line.split()[0]) for line in listed.splitlines() if f"--context={context} " in line)
    return pid


def test_a_killed_process_and_a_silent_cluster_hold_up_no_other(clusters: list[str]) -> None:
    fleet = fleet_of(build_parser().parse_args(["--contexts", "all", *clusters]))

    def row(name: str) -> FleetRow:
        return next(row for row in fleet.rows if row.name == name)

    def wait(is_so: object, seconds: float = 90) -> None:
        assert callable(is_so)
        deadline = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < deadline, fleet.rows
            time.sleep(0.05)

    fleet.start()
    try:
        wait(lambda: row("good").is_current(time.time_ns()))
        wait(lambda: row("silent").trouble)
        good = present(row("good").line.figures)
        assert good.nodes == 1
        wait(lambda: row(HOSTILE).trouble)
        for name in ("silent", HOSTILE):
            figures = row(name).line.figures
            assert not row(name).is_current(time.time_ns())
            assert figures is None or (figures.nodes, figures.per_hour, figures.pending) == (None, None, None)
        silent = pid_of("silent")
        os.kill(pid_of("good"), signal.SIGKILL)
        wait(lambda: row("good").ended)
        assert row("good").trouble == "its process was ended by SIGKILL; it is started again after 1 s"
        assert row("good").line.figures is not None, "the last figures stay"
        wait(lambda: not row("good").trouble and row("good").is_current(time.time_ns()))
        assert pid_of("silent") == silent
    finally:
        fleet.stop()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_no_process_of_a_verdict_is_left_behind(number: signal.Signals, clusters: list[str]) -> None:
    words = [sys.executable, "-m", "karptui", "verdict", "--contexts", "silent", *clusters[:-1], "60s"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        numbers: list[int] = []
        deadline = time.monotonic() + 60
        while not numbers:
            assert time.monotonic() < deadline
            listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent.pid)], capture_output=True, check=False)
            numbers = [int(pid) for pid in listed.stdout.split()]
            time.sleep(0.1)
        parent.send_signal(number)
        parent.communicate(timeout=30)
    while any(map(is_running, numbers)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_single_file_starts_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_command("verdict") == [sys.executable, "-m", "karptui", "verdict"]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert own_command("verdict") == [sys.executable, "verdict"]
