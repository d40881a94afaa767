"""Standard streams as they come: closed, full, or in an encoding without most of what is printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from karptui.cli.main import main

KARPTUI = (sys.executable, "-m", "karptui")


def run(*words: str, closed: str = "", encoding: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell that closes some of its streams."""
    environment = {**os.environ, **({"PYTHONIOENCODING": encoding} if encoding else {})}
    script = f'exec "$0" "$@" {closed}'
    command, spoken = ["/bin/sh", "-c", script, *KARPTUI, *words], encoding or "utf-8"
    return subprocess.run(command, capture_output=True, env=environment, cwd=cwd, check=False, encoding=spoken)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_an_encoding_lacks_is_written_plainly(encoding: str) -> None:
    for words in (("pools", "--demo"), ("churn", "--demo"), ("--help",)):
        ended = run(*words, encoding=encoding)
        assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), words
        assert ended.stdout.strip()


def test_input_that_is_closed_is_a_sentence() -> None:
    ended = run("nodes", "--snapshot", "-", closed="<&-")
    assert (ended.returncode, ended.stderr) == (2, "karptui nodes: standard input: is closed\n")


def test_output_that_is_closed_goes_nowhere_and_into_no_file(tmp_path: Path) -> None:
    assert run("--version", closed=">&-").returncode == 0
    ended = run("record", "x.json", "--demo", closed="2>&-", cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (0, ""), "what belongs to standard error is not printed elsewhere"
    assert (tmp_path / "x.json").read_bytes().startswith(b'{"karptui":1')


@pytest.mark.parametrize("words", [("--version",), ("budgets", "--demo")], ids=" ".join)
def test_a_full_device_is_a_sentence(words: tuple[str, ...]) -> None:
    ended = run(*words, closed=">/dev/full")
    assert ended.returncode == 1
    assert "cannot be written: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("now", ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_now_at_the_ends_of_time(now: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"karptui": 1, "objects": []}')
    assert main(["nodes", "--snapshot", str(file), "--now", now]) == 2
    assert "lies beyond what a clock shows: 1970-01-02 to 2261-12-31" in capsys.readouterr().err
    file.write_text(f'{{"karptui": 1, "capturedAt": "{now}", "objects": []}}')
    assert main(["nodes", "--snapshot", str(file)]) == 2
    assert "capturedAt: " in capsys.readouterr().err


def test_a_time_that_no_clock_shows_is_not_taken_for_now(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: a, creationTimestamp: '9999-12-31T23:59:59Z'}\n---\n"
        "apiVersion: v1\nkind: Node\nmetadata: {name: b, creationTimestamp: '2026-11-20T12:00:00Z'}\n"
    )
    assert main(["nodes", "--snapshot", str(file), "-o", "json"]) == 0
    assert '"name": "b"' in capsys.readouterr().out


def test_without_a_place_for_the_key_there_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert main(["record", str(tmp_path / "out.json"), "--demo", "--redact"]) == 2
    assert "the key for pseudonyms cannot be kept in" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert main(["nodes", "--demo", "-o", "json"]) == 0
