from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from karptui.workers import far
from karptui.workers.near import workers_at
from karptui.workers.workers import Workers, WorkersError, in_order
from tests.builders.instants import Ticks
from tests.troubled_cluster import EXTRA_POOL, troubles_document
from tests.workers import questions

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed: pip install -e '.[dev]'"),
]

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120.0
"""Timeout for steps that take a few seconds, even on a busy machine."""


class Cluster:
    def __init__(self, folder: Path, *, protocol: str = "tcp") -> None:
        self._file = folder / "scheduler.json"
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._protocol = protocol
        self._log = (folder / "log").open("wb")
        self._processes = [self._started("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")]
        until = time.monotonic() + SECONDS
        while not (self._file.exists() and self._file.read_text()):
            assert time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.05)
        self.address: str = json.loads(self._file.read_text())["address"]

    def add_worker(self) -> None:
        self._processes.append(self._started("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"))

    def _started(self, part: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{part}", "--scheduler-file", str(self._file), *words]
        command += ["--protocol", self._protocol]
        return subprocess.Popen(
            command, env=self._environment, cwd=self._file.parent, stdout=self._log, stderr=self._log
        )

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self._log.close()


def _once_it_has_workers(cluster: Cluster, count: int = 1) -> Workers:
    for _ in range(count):
        cluster.add_worker()
    until = time.monotonic() + SECONDS
    while True:
        try:
            workers = workers_at(cluster.address)
        except WorkersError:
            assert time.monotonic() < until
        else:
            if workers.count == count:
                return workers
            workers.close()
        time.sleep(0.1)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a scheduler with two workers."""
    cluster = Cluster(tmp_path_factory.mktemp("dask"))
    try:
        _once_it_has_workers(cluster, 2).close()
        yield cluster.address
    finally:
        cluster.stop()


def test_a_cluster_of_two_workers_one_of_which_is_killed(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One cluster for all checks, because starting it is slow; the kill is the last check."""
    workers = workers_at(address)
    assert (workers.count, workers.sees_files) == (2, False)
    assert list(in_order(workers.run(questions.times, {"by": 3}, range(12)))) == [3 * item for item in range(12)]
    assert len(set(dict(workers.run(questions.who, None, range(8))).values())) <= 2
    with pytest.raises(WorkersError, match=r"a worker of tcp://.* failed: KeyError: [0-2]"):
        list(workers.run(questions.fails, None, range(3)))
    results = workers.run(questions.times, {"by": 1}, range(1000))
    next(results)
    workers.cancel()
    assert len(list(results)) < 998

    # versions are compared at the start and with every call, because workers may change
    with monkeypatch.context() as patch:
        patch.setattr(far, "own_version", lambda: "karptui 0.0.1 on Python 3.11")
        with pytest.raises(WorkersError, match=r"worker tcp://.* has karptui .*, and this is karptui 0\.0\.1 on"):
            workers_at(address)
        with pytest.raises(WorkersError, match=r"a worker has karptui .*, the client karptui 0\.0\.1 on Python"):
            list(workers.run(questions.times, {"by": 1}, range(3)))

    # commands print the same as with local processes
    snapshots = [tmp_path / f"{number}.json" for number in range(3)]
    for path in snapshots:
        path.write_text(json.dumps({**troubles_document(), "name": path.stem}))
    snapshots.insert(1, tmp_path / "none.json")
    manifest = tmp_path / "pool.yaml"
    manifest.write_text(EXTRA_POOL)
    fleet, text = list(map(str, snapshots)), str(snapshots[0])
    commands = (
        ["sweep", *fleet, "--set", "VM_MEMORY_OVERHEAD_PERCENT=0.05,0.1", "-o", "json"],
        ["plan", text, "-f", str(manifest), "--horizon", "10m", "-o", "json"],
        ["solve", "consolidate-after", "--evictions", "9", "-o", "json", text],
        ["drill", "--snapshots", *fleet, "-o", "json"],
    )
    told = {}
    for words in commands:
        here, there = ((main([*words, "--workers", where]), capsys.readouterr()) for where in ("1", address))
        assert here == there
        told[words[0]] = here[1].out
    assert [json.loads(line)["name"] for line in told["sweep"].splitlines()] == ["0", str(snapshots[1]), "1", "2"]
    assert json.loads(told["plan"])["rollout"]["series"]
    assert json.loads(told["solve"])["search"]["tried"]
    assert {item["cluster"] for item in json.loads(told["drill"])} == {"0", "1", "2"}

    (tmp_path / "marks").mkdir()
    result = list(in_order(workers.run(questions.dies_once, (str(tmp_path / "marks"), 3), range(20))))
    assert result == list(range(20))
    assert (tmp_path / "marks" / "3").exists()
    assert workers.count == 1
    workers.close()


def test_an_unreachable_scheduler_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far, "ANSWER_SECONDS", 0.5)
    with pytest.raises(WorkersError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1 within 0\.5 s"):
        workers_at("tcp://127.0.0.1:1")
    with pytest.raises(WorkersError, match=r"tcp://a:b is not the address of a Dask scheduler"):
        workers_at("tcp://a:b")


def test_tls_uses_the_certificates_configured_for_dask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import dask

    command = ["sweep", "--demo", "--set", "VM_MEMORY_OVERHEAD_PERCENT=0.05", "--workers", "tls://127.0.0.1:1"]
    assert main(command) == 2
    assert "tls:// needs certificates: name their files in DASK_DISTRIBUTED__COMM__TLS__CA_FILE" in _stderr(capsys)
    tls = Path(__file__).parents[1] / "data" / "tls"
    settings = {"distributed.comm.tls.ca-file": str(tls / "none.pem"), "distributed.comm.tls.client.cert": "x"}
    with dask.config.set(settings):
        assert main(command) == 2
    assert "CLIENT__KEY cannot be used: No such file or directory" in _stderr(capsys)

    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{role}__CERT", str(tls / "server.pem"))
        monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{role}__KEY", str(tls / "server.key"))
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CA_FILE", str(tls / "authority.pem"))
    settings = {
        "distributed.comm.tls.ca-file": str(tls / "authority.pem"),
        "distributed.comm.tls.client.cert": str(tls / "server.pem"),
        "distributed.comm.tls.client.key": str(tls / "server.key"),
    }
    cluster = Cluster(tmp_path, protocol="tls")
    try:
        assert cluster.address.startswith("tls://")
        with dask.config.set(settings):
            workers = _once_it_has_workers(cluster)
            assert list(workers.run(questions.times, {"by": 3}, [2])) == [(0, 6)]
            workers.close()
        with dask.config.set({**settings, "distributed.comm.tls.ca-file": str(tls / "stranger.pem")}):
            monkeypatch.setattr(far, "ANSWER_SECONDS", 2)
            with pytest.raises(WorkersError, match="or the two do not accept each other's certificates"):
                workers_at(cluster.address)
    finally:
        cluster.stop()


def test_workers_that_disappear_after_counting_are_reported(monkeypatch: pytest.MonkeyPatch, passing: Ticks) -> None:
    cluster = FakeDaskCluster(passing)
    workers = made_up(cluster, monkeypatch)
    monkeypatch.setattr(cluster, "scatter", raises_timeout)
    with pytest.raises(WorkersError, match="no worker of the Dask cluster at tcp://made-up:1 answers"):
        list(workers.run(questions.times, {"by": 3}, [1]))
    monkeypatch.setattr(cluster, "run", lambda *_, **__: {"tcp://one": OSError("closed")})
    with pytest.raises(WorkersError, match="the Dask cluster at tcp://made-up:1 has no workers"):
        made_up(cluster, monkeypatch)


def raises_timeout(*_: object, **__: object) -> None:
    """Fail like Dask if it finds no worker for data."""
    raise TimeoutError("No valid workers found")


def _stderr(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def test_without_dask_a_message_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(WorkersError, match=r"a Dask cluster needs Dask here too: install karptui with the extra dask"):
        workers_at("tcp://127.0.0.1:1")


class FakeDaskCluster:
    """A fake Dask cluster: every task is done immediately, and ``fetched`` decides which fetches succeed."""

    status = "running"

    def __init__(self, time: Ticks, *fetched: bool) -> None:
        self.time = time
        self.fetched = [*fetched]
        """Whether each fetch in turn gets its answer; later fetches do."""
        self.workers = 1
        self.asked_for: list[float] = []
        """Timeout of each fetch, in seconds."""

    def __call__(self, _: str, **__: object) -> FakeDaskCluster:
        return self

    def scheduler_info(self, **_: object) -> dict[str, Any]:
        return {"workers": {str(number): {"nthreads": 1} for number in range(self.workers)}}

    def run(self, function: Callable[..., Any], *arguments: str, **_: object) -> dict[str, Any]:
        return {"tcp://one": function(*arguments)}

    def run_on_scheduler(self, function: Callable[..., Any], *arguments: str) -> Any:
        return function(*arguments)

    def scatter(self, given: bytes, **_: object) -> bytes:
        return given

    def submit(self, function: Callable[..., bytes], *arguments: Any, **_: object) -> FakeTask:
        return FakeTask(self, function(*arguments))

    def cancel(self, *_: object, **__: object) -> None:
        """Do nothing: tasks are done already."""

    close = cancel


class FakeTask:
    status = "finished"

    def __init__(self, cluster: FakeDaskCluster, answer: bytes) -> None:
        self._cluster, self._answer = cluster, answer

    def done(self) -> bool:
        return True

    def result(self, timeout: float) -> bytes:
        self._cluster.asked_for.append(timeout)
        self._cluster.time.sleep(timeout)
        if not (self._cluster.fetched.pop(0) if self._cluster.fetched else True):
            raise TimeoutError
        return self._answer


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    passing = Ticks()
    monkeypatch.setattr(far, "time", passing)
    return passing


def made_up(cluster: FakeDaskCluster, monkeypatch: pytest.MonkeyPatch) -> far.FarWorkers:
    monkeypatch.setattr("distributed.Client", cluster)
    return far.FarWorkers("tcp://made-up:1")


def test_an_answer_lost_while_it_is_fetched_is_computed_again(monkeypatch: pytest.MonkeyPatch, passing: Ticks) -> None:
    cluster = FakeDaskCluster(passing, True, False, False, True)
    workers = made_up(cluster, monkeypatch)
    assert list(in_order(workers.run(questions.times, {"by": 3}, range(4)))) == [0, 3, 6, 9]
    first = far.FETCH_SECONDS
    assert cluster.asked_for[:5] == [first, first, 2 * first, 4 * first, first], (
        "large answers need longer, so the timeout doubles"
    )
    assert first < far.ANSWER_SECONDS, "the scheduler tries to reach a dead worker for 30 s"
    assert passing.now < far.EMPTY_SECONDS + sum(cluster.asked_for)


def test_waiting_ends_after_the_last_worker_has_left(monkeypatch: pytest.MonkeyPatch, passing: Ticks) -> None:
    cluster = FakeDaskCluster(passing, True, *[False] * 100)
    workers = made_up(cluster, monkeypatch)
    results = workers.run(questions.times, {"by": 3}, range(4))
    next(results)
    cluster.workers = 0
    with pytest.raises(WorkersError, match=r"the Dask cluster at tcp://made-up:1 has had no worker for 60 s"):
        list(results)
    assert passing.now < 5 * far.EMPTY_SECONDS
