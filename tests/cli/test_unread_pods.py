"""Commands that simulate refuse a cluster whose pods were not read: every node would look empty."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karptui.cli.main import main
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.incidents.all import INCIDENTS

SCENARIO = "edits: [{edit: delete, object: NodePool/batch}]\n"
COMMANDS = (
    ("blockers",),
    ("remedies",),
    ("next",),
    ("forward",),
    ("timeouts",),
    ("drill",),
    ("policies",),
    ("pause",),
    ("rollout",),
    ("rightsize",),
    ("rehearse",),
    ("simulate", "--scenario", "scenario.yaml"),
    ("sweep", "--set", "NodePool/batch:spec.weight=1..3"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command[0]))
def test_nothing_is_simulated_without_pods(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scenario.yaml").write_text(SCENARIO)
    Path("cluster.json").write_text(json.dumps(INCIDENTS["drains-without-pods-read"].snapshot()))
    assert main([*command, "--snapshot", "cluster.json"]) in (1, 2)
    printed = capsys.readouterr()
    assert "pods were not read" in printed.out + printed.err
    assert "delete" not in printed.out


def test_pods_of_one_namespace_do_not_fill_the_nodes(tmp_path: Path, run: Run) -> None:
    """What `kubectl get` without ``--all-namespaces`` writes."""
    cluster = INCIDENTS["fine-new-pool"].snapshot()
    items = [item for item in cluster["objects"] if item["metadata"].get("namespace", "orders") == "orders"]
    path = written(tmp_path / "cluster.json", {"apiVersion": "v1", "kind": "List", "items": items})
    printed = run("verdict", "--snapshot", str(path), status=1)
    assert "pods outside namespace orders were not read" in printed.out
    assert "cluster has the pods of one namespace only: list them with --all-namespaces" in printed.err
    assert "next: " not in printed.out
