"""Unusual standard streams: closed, full, or with an encoding that lacks most printed characters."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import karptui.cli.main
from karptui import crash
from karptui.cli import heartbeat
from karptui.cli.main import main
from karptui.cli.option_values import file_name, target_name
from karptui.cli.parser import COMMANDS, actions_of
from karptui.cli.streams import say
from tests.builders.files import written
from tests.cli.files import a_file
from tests.troubled_cluster import troubles_document

KARPTUI = (sys.executable, "-m", "karptui")


def run(*words: str, closed: str = "", encoding: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell that closes some of its streams."""
    environment = {**os.environ, **({"PYTHONIOENCODING": encoding} if encoding else {})}
    script = f'exec "$0" "$@" {closed}'
    command, spoken = ["/bin/sh", "-c", script, *KARPTUI, *words], encoding or "utf-8"
    return subprocess.run(command, capture_output=True, env=environment, cwd=cwd, check=False, encoding=spoken)


@pytest.mark.parametrize(("words", "closed", "encoding", "status", "error"), [
    (["forward", "--help"], "", "ascii", 0, ""),
    (["nodes", "--snapshot", "-"], "<&-", "", 2, "karptui nodes: standard input: is closed\n"),
    (["--version"], ">&-", "", 1, "karptui: cannot be written: standard output is closed\n"),
    (["completion", "bash"], ">/dev/full", "", 1, "karptui completion: cannot be written: No space left on device\n"),
], ids=["ascii", "input closed", "output closed", "device full"])  # fmt: skip
def test_streams_of_a_shell(words: list[str], closed: str, encoding: str, status: int, error: str) -> None:
    ended = run(*words, closed=closed, encoding=encoding)
    assert (ended.returncode, ended.stderr) == (status, error)
    assert bool(ended.stdout.strip()) is (status == 0)


def test_messages_go_into_no_file_if_standard_error_is_closed(tmp_path: Path) -> None:
    ended = run("record", "x.json", "--snapshot", a_file(tmp_path), closed="2>&-", cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert (tmp_path / "x.json").read_bytes().startswith(b'{"karptui":1')


# Commands in this process


@pytest.fixture(name="snapshot", scope="module")
def snapshot_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("every") / "troubles.json"
    whole = troubles_document()
    path.write_text(json.dumps(whole))
    pool = next(manifest for manifest in whole["objects"] if manifest["kind"] == "NodePool")
    path.with_name("pool.json").write_text(json.dumps(pool))
    return path


def words_of(command: str, snapshot: Path, *, given: str = "") -> list[str]:
    """Return a command line that prints something, with the snapshot or another input."""
    texts = {
        "explain": ["pool", "spot"],
        "plan": ["--horizon", "10m", "-f", str(snapshot.with_name("pool.json"))],
        "sweep": ["--set", "VM_MEMORY_OVERHEAD_PERCENT=0.05", "--jobs", "1"],
        "record": ["-"],
        "completion": ["bash"],
    }.get(command, [])
    flag = {"simulate": [], "sweep": [], "completion": None}.get(command, ["--snapshot"])
    return [command, *texts, *([*flag, given or str(snapshot)] if flag is not None else [])]


class Streams:
    """Replaces standard output, and captures standard error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._stderr = io.StringIO()

    def run(self, words: list[str], output: io.TextIOWrapper) -> int:
        """Run a command with this standard output, and return its exit status."""
        self._stderr = io.StringIO()
        self._monkeypatch.setattr(sys, "stdout", output)
        self._monkeypatch.setattr(sys, "stderr", self._stderr)
        self._monkeypatch.setattr(self._stderr, "close", lambda: None)
        self._monkeypatch.setattr(karptui.cli.main, "_leave_output", lambda: None)
        try:
            return main(words)
        finally:
            # Redirect the descriptor, so that closing the stream does not write the rest again.
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), output.fileno())
            output.close()

    @property
    def last_error_line(self) -> str:
        """The last line on standard error."""
        return (self._stderr.getvalue().splitlines() or [""])[-1]

    @property
    def has_traceback(self) -> bool:
        """Whether standard error has a traceback or an internal error."""
        return "Traceback" in self._stderr.getvalue() or "internal error" in self._stderr.getvalue()


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Streams:
    return Streams(monkeypatch)


PRINTERS = ("budgets", "explain", "simulate", "sweep", "drill", "plan", "record", "completion")
"""One command for each function that prints; ``main`` and ``put`` handle the streams of all commands."""
every_printer = pytest.mark.parametrize("command", PRINTERS)


def printing_to(path: Path | int, encoding: str = "utf-8") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(path, "w")), encoding=encoding)


@every_printer
def test_full_closed_or_unread_standard_output(command: str, snapshot: Path, streams: Streams) -> None:
    words = words_of(command, snapshot)
    assert streams.run(words, printing_to(Path("/dev/full"))) == 1
    assert streams.last_error_line == f"karptui {command}: cannot be written: No space left on device"
    assert streams.run(words, printing_to(os.open(os.devnull, os.O_RDONLY))) == 1
    assert streams.last_error_line == f"karptui {command}: cannot be written: standard output is closed"
    reader, writer = os.pipe()
    os.close(reader)
    assert streams.run(words, printing_to(writer)) == 0
    assert not streams.has_traceback


@pytest.mark.parametrize("words", [["forward", "--help"], ["pools", "--demo"], ["explain", "pool", "spot", "--demo"]])
def test_output_with_an_ascii_encoding(words: list[str], streams: Streams, tmp_path: Path) -> None:
    printed = tmp_path / "printed"
    assert streams.run(words, printing_to(printed, "ascii")) in (0, 2)
    assert not streams.has_traceback


@every_printer
def test_commands_report_closed_input(
    command: str, snapshot: Path, streams: Streams, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == "completion":
        return  # completion reads no input
    monkeypatch.setattr(sys, "stdin", None)
    printed = tmp_path / "printed"
    status = streams.run(words_of(command, snapshot, given="-"), printing_to(printed))
    takes_many = command in ("simulate", "sweep")
    assert status == (1 if takes_many else 2), "simulate still answers for the readable one of several snapshots"
    assert "standard input: is closed" in (printed.read_text() if takes_many else streams.last_error_line)


# Files that are written

WRITING = [
    (command, action.dest) for command in COMMANDS for action in actions_of(command) if action.type is target_name
]
"""Commands with an output file argument: all have the type ``target_name``."""
REFUSED = {
    "there": "exists already; --force replaces it",
    "folder": "cannot be written: it is no regular file, and only those are replaced",
    "pipe": "cannot be written: it is no regular file, and only those are replaced",
    "device": "cannot be written: it is no regular file, and only those are replaced",
    "dangling link": "cannot be written: No such file or directory",
    "no folder": "cannot be written: No such file or directory",
    "folder that is a file": "cannot be written: Not a directory",
    "read-only folder": "cannot be written: Read-only file system",
    "full disk": "cannot be written: No space left on device",
}


def target_of(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a path that cannot be written for a reason of REFUSED."""
    path = folder / "out.json"
    if kind == "there":
        path.write_text("mine")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/null")
    elif kind == "dangling link":
        path.symlink_to(folder / "none")
    elif kind == "no folder":
        path = folder / "none" / "out.json"
    elif kind == "folder that is a file":
        (folder / "file").write_text("mine")
        path = folder / "file" / "out.json"
    elif kind == "read-only folder":
        refused = OSError(errno.EROFS, os.strerror(errno.EROFS))
        monkeypatch.setattr("karptui.files.tempfile.mkstemp", Mock(side_effect=refused))
    else:
        monkeypatch.setattr("karptui.files.os.fdopen", FullFile)
    return path


class FullFile(io.FileIO):
    """A file on a disk that fills up while it is written."""

    def write(self, data: Any) -> int:
        super().write(bytes(data)[:100])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(("command", "argument"), WRITING)
@pytest.mark.parametrize("kind", REFUSED)
def test_the_error_names_the_reason_why_a_file_cannot_be_written(
    command: str,
    argument: str,
    kind: str,
    snapshot: Path,
    streams: Streams,
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = target_of(kind, tmp_path, monkeypatch)
    before = {path: path.lstat().st_ino for path in tmp_path.rglob("*")}
    words = [str(path) if word == "-" else word for word in words_of(command, snapshot)]
    assert str(path) in words, f"{argument} of {command} is not given in words_of()"
    words += [] if kind == "there" else ["--force"]
    with Path(os.devnull).open("wb") as nowhere:
        assert streams.run(words, printing_to(os.dup(nowhere.fileno()))) == 2
    assert streams.last_error_line == f"karptui {command}: {path}: {REFUSED[kind]}"
    assert {path: path.lstat().st_ino for path in tmp_path.rglob("*")} == before
    assert kind != "there" or path.read_text() == "mine"


def test_every_file_argument_has_the_type_of_an_input_or_output_file() -> None:
    assert WRITING == [("record", "file")], "add a new command to the tests above"
    names = {
        (command, action.dest)
        for command in COMMANDS
        for action in actions_of(command)
        if action.metavar in ("FILE", "SNAPSHOT") and action.type not in (file_name, target_name)
    }
    assert not names, "these arguments have neither the type of input files nor that of output files"


@every_printer
def test_commands_work_if_no_state_can_be_stored(
    command: str, snapshot: Path, streams: Streams, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, not_there = tmp_path / "there", tmp_path / "not there"
    status = streams.run(words_of(command, snapshot), printing_to(there))
    (tmp_path / "file").write_text("")
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    assert streams.run(words_of(command, snapshot), printing_to(not_there)) == status
    assert not_there.read_bytes() == there.read_bytes()


@pytest.mark.crashes
@pytest.mark.parametrize("kind", ["no folder", "full disk"])
def test_an_internal_error_is_reported_if_no_crash_report_can_be_written(
    kind: str, snapshot: Path, streams: Streams, tmp_path: Path, *, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_folder = Mock(side_effect=OSError(errno.EROFS, os.strerror(errno.EROFS)))
    monkeypatch.setattr(crash, "state_dir", no_folder if kind == "no folder" else lambda: tmp_path)
    if kind == "full disk":
        monkeypatch.setattr("karptui.files.os.fdopen", FullFile)
    monkeypatch.setattr("karptui.cli.pools.run", Mock(side_effect=KeyError(kind)))
    assert streams.run(["pools", "--snapshot", str(snapshot)], printing_to(tmp_path / "printed")) == 70
    assert streams.last_error_line == f"karptui: internal error while running karptui pools: KeyError: '{kind}'"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["printed"]


# Files without an end


@pytest.mark.parametrize("words", [
    ["simulate", "{snapshot}", "--scenario", "/dev/zero"],
    ["sweep", "{snapshot}", "--set", "A=1", "--jobs", "1", "--scenario", "/dev/zero"],
    ["forward", "--snapshot", "{snapshot}", "--horizon", "10m", "--scenario", "/dev/zero"],
    ["plan", "--snapshot", "{snapshot}", "-f", "/dev/zero"],
    ["nodes", "--kubeconfig", "/dev/zero"],
    ["nodes", "--snapshot", "/dev/zero"],
    ["pools", "--snapshot", "/dev/urandom"],
    ["nodes", "--snapshot", "{catalog}"],
], ids=lambda words: f"{words[0]} {words[-2]}")  # fmt: skip
def test_an_endless_file_is_refused(words: list[str], snapshot: Path, streams: Streams, tmp_path: Path) -> None:
    catalog = written(tmp_path / "recording.json", '{"karptui": 1, "objects": [], "catalog": "/dev/zero"}')
    words = [word.format(snapshot=snapshot, catalog=catalog) for word in words]
    tracemalloc.start()
    try:
        status = streams.run(words, printing_to(tmp_path / "printed"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (status, streams.has_traceback) == (2, False)
    assert streams.last_error_line.startswith(f"karptui {words[0]}: ")
    assert peak < 24 << 20


@pytest.mark.parametrize("words", [["simulate", "--scenario", "-"], ["plan", "-f", "-"]], ids=" ".join)
@pytest.mark.parametrize("is_closed", [False, True], ids=["endless", "closed"])
def test_endless_standard_input_is_refused(
    words: list[str],
    snapshot: Path,
    streams: Streams,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_closed: bool,
) -> None:
    words = [*words, *([str(snapshot)] if words[0] == "simulate" else ["--snapshot", str(snapshot)])]
    with Path("/dev/zero").open(encoding="utf-8") as endless:
        monkeypatch.setattr(sys, "stdin", None if is_closed else endless)
        assert streams.run(words, printing_to(tmp_path / "printed")) == 2
    text = "standard input: is closed" if is_closed else "standard input: it is larger than 16 MiB"
    assert streams.last_error_line == f"karptui {words[0]}: {text}"


# Times


@pytest.mark.parametrize("now", ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_time_out_of_range_is_refused(now: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = written(tmp_path / "x.json", '{"karptui": 1, "objects": []}')
    assert main(["nodes", "--snapshot", str(file), "--now", now]) == 2
    assert "is out of range: 1970-01-02 to 2261-12-31" in capsys.readouterr().err
    file.write_text(f'{{"karptui": 1, "capturedAt": "{now}", "objects": []}}')
    assert main(["nodes", "--snapshot", str(file)]) == 2
    assert "capturedAt: " in capsys.readouterr().err


def test_a_creation_time_in_the_year_9999_is_not_used_as_now(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: a, creationTimestamp: '9999-12-31T23:59:59Z'}\n---\n"
        "apiVersion: v1\nkind: Node\nmetadata: {name: b, creationTimestamp: '2026-11-20T12:00:00Z'}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: c, namespace: d}\n"
    )
    assert main(["nodes", "--snapshot", str(file), "-o", "json"]) == 0
    assert '"name": "b"' in capsys.readouterr().out


def test_record_fails_if_the_key_for_pseudonyms_cannot_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert main(["record", str(tmp_path / "out.json"), "--demo", "--redact"]) == 2
    assert "the key for pseudonyms cannot be kept in" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert main(["nodes", "--demo", "-o", "json"]) == 0


def test_a_slow_command_shows_its_progress_on_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(heartbeat, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr("karptui.cli.main._execute", lambda command, _: working(command))
    assert main(["pools"]) == 0
    _, error = capfd.readouterr()
    assert error.startswith("\r\x1b[Kkarptui pools: working for 0 s; ctrl-c cancels")
    assert error.endswith("\r\x1b[Kkarptui pools: done\n"), "the progress line is cleared before other output"


def working(command: str | None) -> int:
    """Run until the progress line is shown."""
    heartbeat.start(command or "")
    until = time.monotonic() + 20
    while not heartbeat._STATE.is_shown and time.monotonic() < until:
        pass
    say("done")
    return 0
