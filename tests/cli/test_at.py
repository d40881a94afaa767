"""``--at``: commands about a past moment, from a file or from the history that this machine has recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karptui.cli.main import main
from karptui.paths import history_file
from tests.cli.conftest import Run
from tests.cli.files import kubeconfig
from tests.histories import record_demo

SECONDS = 60
SERVER = "https://127.0.0.1:1"
"""No server answers there: whoever connects fails."""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a history of the demo from 14:00:00 to 14:01:00."""
    path = tmp_path_factory.mktemp("history") / "demo.karptui"
    record_demo(path, SECONDS)
    return str(path)


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
def test_a_moment_of_a_history(at: str, instant: str, history: str, run: Run) -> None:
    captured = recorded_at(["--snapshot", history, "--at", at], run)
    assert captured[:19] == instant[:19]


def test_a_moment_has_the_nodes_of_its_time(history: str, run: Run) -> None:
    asked = ([history, "--at", "14:00"], ["--at=-0s", history], [history])
    before, after, last = ({row["name"] for row in run.json("nodes", *words)} for words in asked)
    assert after == last
    assert before != after


@pytest.mark.parametrize("command", [["simulate"], ["forward", "--horizon", "1m"]])
def test_commands_of_files_take_a_moment(command: list[str], history: str, capsys: pytest.CaptureFixture[str]) -> None:
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
