"""Past moments: `--at` with a history file or this machine's history, and `--from-watch` with a pod."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from karptui.cli.main import main
from karptui.paths import history_file
from tests.cli.conftest import Run
from tests.cli.files import kubeconfig
from tests.histories import demo_history, record_demo

SECONDS = 60
SERVER = "https://127.0.0.1:1"
"""Address without a server: every connection fails."""
POD = "karptui/karptui-7d4b9c-x2k8p"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Record the demo from 14:00:00 to 14:01:00, and return the history's path."""
    return str(demo_history(tmp_path_factory, SECONDS))


def recorded_at(words: list[str], run: Run) -> str:
    """Return the time of the cluster that a command reads."""
    captured: str = json.loads(run("record", "-", *words).out)["capturedAt"]
    return captured


@pytest.mark.parametrize(("at", "instant"), [
    ("14:00:30", "2026-11-28T14:00:30Z"),
    ("14:00", "2026-11-28T14:00:00Z"),
    ("-20s", "2026-11-28T14:00:40Z"),
    ("2026-11-28T14:00:07Z", "2026-11-28T14:00:07Z"),
])  # fmt: skip
def test_at_selects_a_moment_of_a_history(at: str, instant: str, history: str, run: Run) -> None:
    captured = recorded_at(["--snapshot", history, "--at", at], run)
    assert captured[:19] == instant[:19]


def test_a_moment_shows_the_nodes_of_that_time(history: str, run: Run) -> None:
    asked = ([history, "--at", "14:00"], ["--at=-0s", history], [history])
    before, after, last = ({row["name"] for row in run.json("nodes", *words)} for words in asked)
    assert after == last
    assert before != after


@pytest.mark.parametrize("command", [["simulate"], ["forward", "--horizon", "1m"]])
def test_commands_that_take_files_accept_at(
    command: list[str], history: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, history, "--at", "-20s"]) != 2, capsys.readouterr().err
    assert capsys.readouterr().out


def test_the_history_of_a_context_needs_no_connection(tmp_path: Path, run: Run) -> None:
    config = kubeconfig(tmp_path, SERVER)
    error = run("nodes", "--kubeconfig", config, "--at", "-20s", status=2).err
    assert "this machine has no history of it; karptui records one while it runs" in error
    record_demo(history_file("test", SERVER), SECONDS, cluster="test")
    assert recorded_at(["--kubeconfig", config, "--at", "-20s"], run)[:19] == "2026-11-28T14:00:40"

    record_demo(history_file("demo", "demo"), SECONDS)
    assert recorded_at(["--demo", "--at", "-20s"], run)[:19] == "2026-11-28T14:00:40"


@pytest.fixture(scope="module")
def pod_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_history(tmp_path_factory, 20)


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the kubectl script on PATH; the test writes its content."""
    script = tmp_path / "bin" / "kubectl"
    script.parent.mkdir()
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    return script


def write_script(script: Path, commands: str) -> None:
    script.write_text(f"#!/bin/sh\n{commands}\n")
    script.chmod(0o755)


def test_from_watch_answers_as_a_copied_history_does(
    pod_history: Path, kubectl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = kubectl.with_name("words")
    sender = shlex.join([sys.executable, "-m", "karptui", "history-sender", str(pod_history)])
    write_script(kubectl, f'echo "$@" > {words}\nexec {sender}')
    answers = []
    for flags in ([f"--from-watch={POD}", "--context=prod", "--as=jane"], ["--snapshot", str(pod_history)]):
        assert main(["nodes", "-o", "json", "--at=-5s", *flags]) in (0, 1)
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1] != []
    assert words.read_text().split() == [
        *("--context=prod", "--as=jane", "exec", "--namespace", "karptui", "karptui-7d4b9c-x2k8p", "--"),
        *("karptui", "history-sender", "/history/cluster.karptui"),
    ]


@pytest.mark.parametrize(("commands", "message"), [
    ('echo "Error from server (NotFound): pods not found" >&2; exit 1', "Error from server (NotFound)"),
    ("head -c 100000 /dev/zero | tr '\\0' x", "the received history is damaged"),
    ("exit 0", "the received history is damaged"),
    ("exit 3", "damaged"),
    ("tar cf - -C /etc hostname; exit 3", "kubectl ended with status 3"),
    ("tar cf - -C /etc hostname", "it sent something else"),
])  # fmt: skip
def test_an_error_of_kubectl_is_shown(
    commands: str, message: str, kubectl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_script(kubectl, commands)
    assert main(["nodes", "--from-watch", POD]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"karptui nodes: {POD}: its history cannot be copied: ")
    assert message in told


def test_missing_kubectl_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["nodes", "--from-watch", POD]) == 2
    assert "kubectl, which copies the history, cannot be started: No such file" in capsys.readouterr().err
