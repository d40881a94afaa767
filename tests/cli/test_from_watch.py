"""``--from-watch``: the history of a pod, which kubectl copies."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from karptui.cli.main import main
from tests.histories import record_demo

POD = "karptui/karptui-7d4b9c-x2k8p"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "demo.karptui"
    record_demo(path, 20)
    return path


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the script that PATH finds as kubectl; a test writes it."""
    script = tmp_path / "bin" / "kubectl"
    script.parent.mkdir()
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    return script


def write_script(script: Path, commands: str) -> None:
    script.write_text(f"#!/bin/sh\n{commands}\n")
    script.chmod(0o755)


def test_a_pods_history_is_read_like_a_copy(history: Path, kubectl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = kubectl.with_name("words")
    sender = shlex.join([sys.executable, "-m", "karptui", "history-sender", str(history)])
    write_script(kubectl, f'echo "$@" > {words}\nexec {sender}')
    answers = []
    for flags in ([f"--from-watch={POD}", "--context=prod", "--as=jane"], ["--snapshot", str(history)]):
        assert main(["nodes", "-o", "json", "--at=-5s", *flags]) in (0, 1)
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1] != []
    assert words.read_text().split() == [
        *("--context=prod", "--as=jane", "exec", "--namespace", "karptui", "karptui-7d4b9c-x2k8p", "--"),
        *("karptui", "history-sender", "/history/cluster.karptui"),
    ]


@pytest.mark.parametrize(("commands", "message"), [
    ('echo "Error from server (NotFound): pods not found" >&2; exit 1', "Error from server (NotFound)"),
    ("head -c 100000 /dev/zero | tr '\\0' x", "what it sent is damaged"),
    ("exit 0", "what it sent is damaged"),
    ("exit 3", "damaged"),
    ("tar cf - -C /etc hostname; exit 3", "kubectl ended with status 3"),
    ("tar cf - -C /etc hostname", "it sent something else"),
])  # fmt: skip
def test_messages_of_kubectl(commands: str, message: str, kubectl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_script(kubectl, commands)
    assert main(["nodes", "--from-watch", POD]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"karptui nodes: {POD}: its history cannot be copied: ")
    assert message in told


def test_without_kubectl_the_message_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["nodes", "--from-watch", POD]) == 2
    assert "kubectl, which copies the history, cannot be started: No such file" in capsys.readouterr().err
