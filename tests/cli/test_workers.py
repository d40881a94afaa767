"""Commands print the same with any number of workers, and report workers that cannot be started."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from karptui.cli import many
from karptui.cli.main import main
from karptui.cli.streams import begin, put
from karptui.views.sanitize import page
from karptui.workers.near import NearWorkers
from karptui.workers.workers import Question, WorkersError, never, packed, unpacked
from tests.cli.conftest import Run
from tests.troubled_cluster import EXTRA_POOL, troubles_document

SCENARIO = """\
name: no spot
edits:
- {edit: delete, object: NodePool/spot}
---
name: nowhere
edits:
- {edit: delete, object: NodePool/none-such}
"""
GROUPED = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "core-1", "labels": {"eks.amazonaws.com/nodegroup": "core"}},
    "status": {"allocatable": {"cpu": "1", "memory": "2Gi"}, "capacity": {"cpu": "1", "memory": "2Gi"}},
}
"""A node that Karpenter does not manage."""


@pytest.fixture(name="fleet", scope="module")
def snapshots_of_a_fleet(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the paths of several snapshots, one of which does not exist."""
    folder = tmp_path_factory.mktemp("fleet")
    paths = [folder / f"{number}.json" for number in range(3)]
    for path in paths:
        document = troubles_document()
        document |= {"name": path.stem, "objects": [*document["objects"], GROUPED]}
        path.write_text(json.dumps(document))
    (folder / "scenario.yaml").write_text(SCENARIO)
    (folder / "manifest.yaml").write_text(EXTRA_POOL)
    return [str(path) for path in (paths[0], folder / "none.json", *paths[1:])]


def commands(fleet: list[str]) -> list[list[str]]:
    """Return command lines with one or several snapshots, values or scenarios."""
    scenario, manifest = (str(Path(fleet[0]).with_name(name)) for name in ("scenario.yaml", "manifest.yaml"))
    short = ["--horizon", "10m"]
    values = ["--set", "VM_MEMORY_OVERHEAD_PERCENT=0.05,x,0.1"]
    return [
        ["sweep", *fleet, *values, "-o", "json"],
        ["sweep", *fleet, *values, "-o", "csv"],
        ["sweep", fleet[0], *values],
        ["forward", fleet[0], *short, "--scenario", scenario, "--seeds", "2"],
        ["solve", "pending", fleet[0], fleet[1], fleet[2]],
        ["policies", "--snapshot", fleet[0], *short, "--after", "0s", "--seeds", "2"],
        ["plan", *fleet, *short, "-f", manifest, "-o", "json"],
        ["forward", *fleet, *short, "-o", "json"],
        ["drill", "--snapshots", *fleet, "-o", "json"],
        ["headroom", "--requests", "cpu=1", "--most", "2", "--snapshots", fleet[0], fleet[2], "-o", "csv"],
        ["rehearse", *short, "--snapshots", *fleet, "-o", "json"],
    ]


STATUSES = (1, 1, 1, 1, 3, 0, 1, 1, 1, 0, 1)
"""Exit statuses of these commands: a snapshot is missing, a value is invalid, some goals are unreachable."""


def as_in_processes(_: NearWorkers, question: Question, common: object, items: Iterable[object]) -> Iterator[Any]:
    """Yield answers in reverse order; pickle questions and answers, as worker processes do."""
    sent = packed((question, common))
    for position, item in reversed([*enumerate(items)]):
        question, common = unpacked(sent)
        yield position, unpacked(packed(question(common, unpacked(packed(item)), never)))


@pytest.mark.parametrize("place", range(len(STATUSES)))
def test_two_workers_print_the_same_as_one(
    fleet: list[str], place: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Starts no process: a test below and tests/workers check the order with real processes."""
    monkeypatch.setattr(NearWorkers, "_elsewhere", as_in_processes)
    words = commands(fleet)[place]
    result = []
    for workers in ("1", "2"):
        status = main([*words, "--workers", workers])
        result.append((status, capsys.readouterr()))
    assert result[0] == result[1]
    assert result[0][0] == STATUSES[place]
    assert result[0][1].out
    if words[0] in ("drill", "rehearse") and words[-1] == "json":
        assert list(dict.fromkeys(item["cluster"] for item in json.loads(result[0][1].out))) == ["0", "1", "2"]
    elif words[-1] == "json":
        names = [json.loads(line)["name"] for line in result[0][1].out.splitlines()]
        assert names == ["0", *([] if words[0] == "plan" else [fleet[1]]), "1", "2"]


OWN = {
    "sweep": ["--set", "RESERVED_ENIS=0,1"],
    "forward": ["--horizon", "10m"],
    "plan": ["-f", "manifest.yaml"],
    "solve": ["--tries", "5"],
}
"""Required arguments of each command in addition to snapshots."""


@pytest.mark.parametrize("command", OWN)
def test_invalid_or_lost_workers_are_reported(
    fleet: list[str], command: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(fleet[0]).parent)
    snapshots = ["pending", *fleet] if command == "solve" else fleet
    error = run(command, *snapshots, *OWN[command], "--workers", "many", status=2).err
    assert error.startswith(f"karptui {command}: --workers: 'many' is neither a number of processes")

    def lost(*_: object) -> object:
        raise WorkersError("3 processes in a row have died at work")

    monkeypatch.setattr(NearWorkers, "run", lost)
    error = run(command, *snapshots, *OWN[command], "--workers", "2", status=2).err
    assert error == f"karptui {command}: --workers: 3 processes in a row have died at work\n"


def test_progress_is_shown_on_a_terminal(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    begin("sweep")
    for answer in many._counted(iter("ab"), 2):
        put(page(answer))
    line = "\r\x1b[K"
    assert capfd.readouterr().err == f"{line}karptui sweep: 0 of 2{line}{line}karptui sweep: 1 of 2{line}"


def test_output_is_not_repeated_by_forked_workers(fleet: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Workers are forked if there are no other threads; they must not print the parent's buffered output again."""
    words = commands(fleet)[1]
    command = [sys.executable, "-m", "karptui", *words, "--workers", "2"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (main([*words, "--workers", "1"]), capsys.readouterr()) == (ended.returncode, (ended.stdout, ended.stderr))


def test_workers_that_cannot_be_started_give_a_message(fleet: list[str]) -> None:
    command = [sys.executable, "-m", "karptui", "sweep", fleet[0], "--set", "RESERVED_ENIS=0,1,2", "--workers", "64"]
    limited = ["sh", "-c", 'ulimit -n 24; exec "$@"', "sh", *command]
    ended = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "karptui sweep: --workers: 64 processes cannot be started: Too many open files\n"
