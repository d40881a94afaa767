"""The process that records a history, and the recorder's pod in the documentation."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from karptui.aws.evidence import NO_EVIDENCE
from karptui.clock import SystemClock
from karptui.decode.kinds import Kind
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.usage import NO_LIVE_USAGE
from karptui.sources.history import process
from karptui.sources.history import tap as tap_module
from karptui.sources.history.recorder import Recorder
from karptui.sources.history.store import History, Mark, is_history
from karptui.sources.history.tap import HistoryTap, Limits
from karptui.sources.history.watch_pod import send_history
from karptui.sources.history.writer import HistoryWriter
from karptui.sources.source import Phase, SourceStatus
from tests.builders import a_manifest
from tests.histories import BEGIN_NS, record_demo

HEAD = {"apiVersion": "v1", "kind": "Pod"}
LIVE = SourceStatus(kind=Kind.POD, phase=Phase.LIVE, since_ns=0)


def tap_to(path: Path) -> HistoryTap:
    return HistoryTap(path, "prod", SystemClock(), Limits())


def until(tap: HistoryTap, condition: Any) -> None:
    assert tap._thread is not None
    for _ in range(2_000):
        if condition():
            return
        tap._thread.join(0.01)
    raise AssertionError(tap.trouble)


def start(tap: HistoryTap) -> None:
    """Start recording, and wait until the process has opened the history or has failed."""
    tap.start(lambda: (NO_EVIDENCE, NO_LIVE_USAGE))
    until(tap, lambda: tap.is_recording or tap.trouble)


def put(tap: HistoryTap, *names: str) -> None:
    tap.put_manifests(Kind.POD, {name: a_manifest("Pod", name, spec={}) for name in names})


def keys(path: Path) -> set[str]:
    return {key for _, key in History(path).objects_at(1 << 62)} if is_history(path) else set()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "prod.karptui"


def test_objects_sent_before_the_process_starts_are_recorded(path: Path) -> None:
    tap = tap_to(path)
    tap.report(LIVE)
    put(tap, "early")
    assert not path.exists()
    start(tap)
    start(tap)
    assert tap.is_recording
    put(tap, "late")
    tap.mark(Mark(at_ns=1, cause="edit"))
    tap.stop(30)
    assert keys(path) == {"early", "late"}
    assert [mark.cause for mark in History(path).marks(0, 2)] == ["edit"]
    assert not tap.trouble
    HistoryWriter(path, "prod").close()


@pytest.mark.parametrize("large_bytes", [-1, 1 << 30], ids=["compressed", "as sent"])
def test_pages_and_lines_are_recorded(path: Path, monkeypatch: pytest.MonkeyPatch, large_bytes: int) -> None:
    monkeypatch.setattr(tap_module, "_LARGE_BYTES", large_bytes)
    tap = tap_to(path)
    pods = [a_manifest("Pod", f"web-{number}", namespace="shop", spec={}) for number in range(4)]
    tap.put_page(Kind.POD, HEAD, json.dumps({"items": pods}).encode(), {f"shop/web-{number}" for number in range(3)})
    line = json.dumps({"type": "ADDED", "object": a_manifest("Pod", "api", namespace="shop", spec={})}).encode()
    tap.put(Kind.POD, HEAD, {"shop/web-0": None, "shop/api": line})
    tap.report(LIVE)
    start(tap)
    tap.stop(30)
    assert keys(path) == {"shop/web-1", "shop/web-2", "shop/api"}


def test_nothing_is_queued_if_another_process_writes_the_history(path: Path) -> None:
    other = HistoryWriter(path, "prod")
    tap = tap_to(path)
    put(tap, "a")
    start(tap)
    until(tap, lambda: not tap._queue)
    put(tap, "b")
    assert tap.trouble == "another karptui records this cluster"
    assert not tap.is_recording
    assert not tap._queue
    tap.stop()
    other.close()


def test_a_tap_that_is_stopped_before_it_starts_records_nothing(path: Path) -> None:
    tap = tap_to(path)
    put(tap, "a")
    tap.stop()
    put(tap, "b")
    assert not tap._queue
    assert not path.exists()


def test_a_killed_process_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Popen(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self.pid)

    monkeypatch.setattr(subprocess, "Popen", Popen)
    tap = tap_to(path)
    start(tap)
    os.kill(started[0], signal.SIGKILL)
    until(tap, lambda: not tap.is_recording)
    assert tap.trouble == "the process that records the history has ended"
    tap.stop()


def test_a_process_that_cannot_be_started_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tap_module, "own_command", lambda *_: [str(path)])
    tap = tap_to(path)
    start(tap)
    assert tap.trouble == "the process that records the history cannot be started: No such file or directory"
    tap.stop()


KILLED = """
import os, signal, sys
from pathlib import Path
from karptui.aws.evidence import NO_EVIDENCE
from karptui.clock import SystemClock
from karptui.decode.kinds import Kind
from karptui.kube.usage import NO_LIVE_USAGE
from karptui.sources.history.tap import HistoryTap, Limits
from karptui.sources.source import Phase, SourceStatus
tap = HistoryTap(Path(sys.argv[1]), "prod", SystemClock(), Limits())
tap.report(SourceStatus(kind=Kind.POD, phase=Phase.LIVE, since_ns=0))
tap.start(lambda: (NO_EVIDENCE, NO_LIVE_USAGE))
for name in ("a", "after a is flushed"):
    tap.put_manifests(Kind.POD, {name: {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {}}})
    while tap._queue or not tap.is_recording:
        tap._thread.join(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_sent_objects_are_written_although_the_sender_was_killed(path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False).returncode == -signal.SIGKILL
    deadline = time.monotonic() + 20
    while "a" not in keys(path):
        assert time.monotonic() < deadline
        os.sched_yield()


@pytest.mark.crashes
def test_an_error_in_the_recorder_is_reported_on_one_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(recorder: Recorder) -> Any:
        raise ValueError("no such luck")

    monkeypatch.setattr(Recorder, "open", fail)
    answers = io.BytesIO()
    process.record(io.BytesIO(pickle.dumps(("open", (path, "prod", Limits())))), answers)
    answer = answers.getvalue().decode()
    assert "opening the history" in answer
    assert "no such luck" in answer
    assert answer.count("\n") == 1


def test_a_truncated_message_is_ignored(path: Path) -> None:
    messages = [("open", (path, "prod", Limits())), ("report", (LIVE,)), ("step", ())]
    cut = pickle.dumps(("put_manifests", (Kind.POD, {"a": a_manifest("Pod", "a", spec={})}, 1)))[:-20]
    answers = io.BytesIO()
    process.record(io.BytesIO(b"".join(map(pickle.dumps, messages)) + cut), answers)
    assert answers.getvalue() == b"\n"
    assert keys(path) == set()


def test_a_history_is_written_although_the_answer_pipe_is_closed(path: Path) -> None:
    """This happens if the user closes karptui's window before the history is open."""
    messages = [
        ("open", (path, "prod", Limits())),
        ("report", (LIVE,)),
        ("put_manifests", (Kind.POD, {"a": a_manifest("Pod", "a", spec={})}, 1)),
    ]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb", buffering=0) as answers:
        process.record(io.BytesIO(b"".join(map(pickle.dumps, messages))), answers)
    assert keys(path) == {"a"}


class _BusyOutput(io.BytesIO):
    """Receives a copy of a history; before each part, the writer adds marks and checkpoints its log."""

    def __init__(self, path: Path, writer: HistoryWriter) -> None:
        super().__init__()
        self._path, self._writer, self._count = path, writer, 0

    def write(self, data: object) -> int:
        for _ in range(5):
            self._count += 1
            self._writer.write_marks([a_mark(self._count)])
        with closing(sqlite3.connect(self._path, timeout=0)) as database:
            database.execute("PRAGMA wal_checkpoint(PASSIVE)")
        return super().write(data)  # type: ignore[arg-type]


def a_mark(second: int) -> Mark:
    return Mark(at_ns=BEGIN_NS + second * NS_PER_SECOND, cause="edit", text="x" * 2_000)


def test_a_copy_is_complete_although_the_history_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "demo.karptui"
    record_demo(path, 5)
    with closing(HistoryWriter(path, "")) as writer:
        writer.write_marks([a_mark(0)])
        output = _BusyOutput(path, writer)
        send_history(path, output)
    folder = tmp_path / "copy"
    folder.mkdir()
    with tarfile.open(fileobj=io.BytesIO(output.getvalue())) as archive:
        for member in archive:
            content = archive.extractfile(member)
            assert content is not None
            (folder / member.name).write_bytes(content.read())
    with closing(sqlite3.connect(folder / path.name)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with closing(History(folder / path.name)) as copied:
        marks = copied.marks(0, BEGIN_NS * 2)
    assert marks[0] == a_mark(0)
    assert list(marks) == [a_mark(second) for second in range(len(marks))]
