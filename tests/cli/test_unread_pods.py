"""Commands that simulate refuse a cluster whose pods were not read: every node would look empty."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karptui.cli.main import main
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
