"""`karptui watch`: its output, how it ends, and that it loses at most the last second."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from karptui.cli.main import main
from karptui.cli.option_values import address
from karptui.sources.history.store import History, HistoryError
from karptui.sources.snapshot.reader import SnapshotReader
from tests.builders import a_manifest
from tests.cli.conftest import Run
from tests.cli.files import kubeconfig
from tests.fake_api_server import Call, LoopbackServer
from tests.sources.cluster.test_reflectors import Cluster, karpenter

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema" / "watch.json").read_text())
PODS = "/api/v1/pods"


class Watching:
    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "karptui", "watch", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def lines(self, number: int) -> list[str]:
        return [self.line() for _ in range(number)]

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Send a signal, and return the exit status and standard error."""
        self.process.send_signal(number)
        try:
            _, error = self.process.communicate(timeout=30)  # Kubernetes kills the container after this grace period
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, error


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "prod.karptui"


@pytest.fixture
def watching(path: Path) -> Iterator[list[Watching]]:
    """Yield a list of processes; those still running are killed after the test."""
    started: list[Watching] = []
    yield started
    for item in started:
        item.process.kill()
        item.process.communicate()


def start(watching: list[Watching], *words: str) -> Watching:
    watching.append(Watching(*words))
    return watching[-1]


def wait_until(is_so: object, *, seconds: float = 30) -> None:
    assert callable(is_so)
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def names_in(path: Path) -> set[str]:
    """Return the keys of all objects at the last recorded moment; empty before the recording begins."""
    try:
        history = History(path)
    except HistoryError:
        return set()
    try:
        return {key for _, key in history.objects_at(1 << 62)}
    finally:
        history.close()


@pytest.fixture
def cluster() -> Cluster:
    result = karpenter()
    result.put(
        "/apis/karpenter.sh/v1/nodepools", a_manifest("NodePool", "spot", api_version="karpenter.sh/v1", spec={})
    )
    result.put(PODS, pod("web-0"))
    return result


def pod(name: str) -> dict[str, Any]:
    return a_manifest("Pod", name, namespace="shop", spec={"containers": [{"name": "app"}]})


def test_a_live_cluster_is_followed_and_recorded_and_its_loss_reported_once(
    watching: list[Watching], path: Path, tmp_path: Path, cluster: Cluster
) -> None:
    with LoopbackServer(cluster) as server:
        words = ("--kubeconfig", kubeconfig(tmp_path, server.url), "--no-aws", "--history", str(path))
        watch = start(watching, *words, "--days", "3", "--megabytes", "50")
        assert f"records {path} (at most 3 days, 50 MB)" in watch.line()
        wait_until(lambda: {"shop/web-0", "spot"} <= names_in(path))
        cluster.put(PODS, pod("web-1"))
        wait_until(lambda: "shop/web-1" in names_in(path))
        cluster.delete(PODS, "shop/web-0")
        wait_until(lambda: "shop/web-0" not in names_in(path))
        cluster.put(PODS, pod("web-2"))
    assert watch.process.stderr is not None
    first = watch.process.stderr.readline()
    time.sleep(3)
    status, others = watch.end(signal.SIGTERM)
    assert (status, first.startswith("karptui watch: ")) == (0, True)
    assert "refused" in f"{first}{others}".lower() or "127.0.0.1" in f"{first}{others}"
    assert others.count("\n") <= 1
    assert {"shop/web-1", "spot"} <= names_in(path)


@pytest.mark.parametrize(("stalls", "number"), [("connecting", signal.SIGINT), ("loading", signal.SIGTERM)])
def test_watch_ends_while_the_server_does_not_respond(
    stalls: str, number: signal.Signals, watching: list[Watching], tmp_path: Path, cluster: Cluster
) -> None:
    path = tmp_path / "prod.karptui"

    def answer(call: Call) -> None:
        if stalls == "connecting" or call.path == PODS:
            call.stall()
        else:
            cluster(call)

    with LoopbackServer(answer) as server:
        words = ("--kubeconfig", kubeconfig(tmp_path, server.url), "--no-aws", "--history", str(path))
        watch = start(watching, *words, "--metrics", ":0")
        port = watch.line().rpartition(" ")[2].strip()
        wait_until(lambda: any(call.path == PODS for call in server.calls) or (stalls == "connecting" and server.calls))
        with pytest.raises(urllib.error.HTTPError, match="503") as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20)
        assert b"read" in refused.value.read()
        assert watch.end(number)[0] == 0
    History(path).close()


def test_watch_records_and_serves_metrics_and_a_second_one_only_serves(
    watching: list[Watching], path: Path, run: Run
) -> None:
    """One test for all of this, because starting the demo takes longer than each check."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ("--demo", "--history", str(path), "--metrics")
    watch = start(watching, *words, f":{port}", "-o", "json")
    first, *others = [json.loads(line) for line in watch.lines(8)]
    assert (first["event"], first["cluster"], first["history"]) == ("starts", "demo", str(path))
    for line in (first, *others):
        Draft202012Validator(SCHEMA).validate(line)
    assert {line["event"] for line in others} == {"present"}
    assert {"STOPPED", "PENDING"} <= {line["code"] for line in others}
    answer = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20).read().decode()
    assert 'karptui_findings{cause="STOPPED",severity="error"} 1.0\n' in answer
    assert "\nkarptui_history_recording 1.0\n" in answer
    assert urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20).read() == b"ok\n"

    refused = run("watch", "--demo", "--history", str(path), status=2)
    assert refused == ("", "karptui watch: another karptui records this cluster\n")
    second = start(watching, *words, ":0")
    assert "demo: records nothing, serves metrics on port " in second.line()
    assert second.end(signal.SIGTERM) == (
        0,
        "karptui watch: another karptui records this cluster; only metrics are served\n",
    )
    assert watch.end(signal.SIGINT) == (0, "")
    snapshot = SnapshotReader().read([path])
    assert snapshot.name == "demo"
    assert {"general", "trino"} <= {pool.name for pool in snapshot.inventory.nodepools}


def test_watch_killed_at_random_moments_loses_at_most_one_second(path: Path) -> None:
    """benchmarks/watch_kill.py does the same with 200 kills."""
    chance, last_ns = random.Random(7), 0
    for _ in range(2):
        watch = Watching("--demo", "--history", str(path))
        assert "records" in watch.line()
        while not newest_ns(path):
            time.sleep(0.05)
        time.sleep(chance.uniform(0, 2.5))
        before_ns = newest_ns(path)
        watch.process.kill()
        watch.process.communicate()
        after_ns = newest_ns(path)
        assert after_ns >= before_ns >= last_ns, "all records readable before the kill are still readable"
        last_ns = after_ns
    assert last_ns > 0
    assert SnapshotReader().read([path]).inventory.nodes
    history = History(path)
    assert [row[0] for row in history._database.execute("PRAGMA integrity_check")] == ["ok"]


def newest_ns(path: Path) -> int:
    history = History(path)
    try:
        return max((session.to_ns for session in history.sessions()), default=0)
    finally:
        history.close()


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_is_reported_and_ends_watch(watching: list[Watching], tmp_path: Path, cluster: Cluster) -> None:
    for number in range(100):
        labels = {f"l{place}": random.randbytes(30).hex() for place in range(100)}
        cluster.put(PODS, {**pod(f"web-{number}"), "metadata": {**pod(f"web-{number}")["metadata"], "labels": labels}})
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        with LoopbackServer(cluster) as server:
            config = kubeconfig(tmp_path, server.url)
            watch = start(watching, "--kubeconfig", config, "--no-aws", "--history", str(disk / "demo.karptui"))
            status = watch.process.wait(180)
        assert watch.process.stderr is not None
        assert (status, watch.process.stderr.read().count("disk is full")) == (1, 1)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)  # the process may still run


def test_watch_without_history_needs_metrics(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setenv("KARPTUI_HISTORY", "false")
    assert "there is nothing to do without --metrics" in run("watch", "--demo", status=2).err


def test_a_port_in_use_gives_a_message(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["watch", "--demo", "--history", str(path), "--metrics", f":{port}"]) == 2
    assert f"--metrics: 127.0.0.1:{port} cannot be listened on: Address already in use" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [(":9110", ("127.0.0.1", 9110)), ("0.0.0.0:1", ("0.0.0.0", 1)), ("[::1]:9110", ("::1", 9110))],
)
def test_metrics_addresses_are_parsed(text: str, expected: tuple[str, int]) -> None:
    assert address(text) == expected
