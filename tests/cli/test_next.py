"""`karptui next`: the next command and the nodes to be removed, in every form."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from karptui.cli.main import main
from tests.incidents.all import INCIDENTS
from tests.troubles import troubles_document


@pytest.fixture(name="file")
def snapshot_file(tmp_path: Path) -> str:
    """A cluster whose spot node is empty but for a pod that is taken away."""
    document = troubles_document()
    document["objects"] = [manifest for manifest in document["objects"] if manifest["kind"] != "Pod"]
    path = tmp_path / "empty.json"
    path.write_text(json.dumps(document))
    return str(path)


def test_json(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next", "--snapshot", file, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["next"]["method"] == "Emptiness"
    assert document["next"]["commands"] == [
        {"decision": "delete", "nodes": ["spot-1"], "savings_per_hour": 0.31, "replacements": [], "lost_pods": []}
    ]
    assert [(node["name"], node["would_be"], node["held_by"]) for node in document["nodes"]] == [
        ("spot-1", "delete", [])
    ]


def test_table_and_csv(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next", "--snapshot", file]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Next: Emptiness (Empty), saves $0.3100/h\n  delete spot-1\n")
    assert "NODE" in text
    assert main(["next", "--snapshot", file, "--no-headers", "-l", "karpenter.sh/nodepool=spot"]) == 0
    assert capsys.readouterr().out.startswith("spot-1")
    assert main(["next", "--snapshot", file, "-o", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["name"], row["held_by"], row["replaced_by"], row["would_be"]) for row in rows] == [
        ("spot-1", "", "", "delete")
    ]


def test_replacements(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next", "--demo", "-o", "csv", "--filter", "pool=trino"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["replaced_by"] for row in rows} == {"trino:r5a.8xlarge"}


def test_errors_are_sentences(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next", "--snapshot", file, "--filter", "price=oops("]) == 2
    assert capsys.readouterr().err.startswith("karptui next: ")
    assert main(["next", "--snapshot", str(tmp_path / "missing.json")]) == 2
    assert "missing.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("incident", "idle"),
    [
        ("karpenter-down-and-a-strict-budget", "Karpenter is not running: none of this happens until it runs"),
        ("karpenter-without-leader", "Karpenter has no leader: none of this happens until it has one"),
        ("budget-keeps-empty-nodes", ""),
    ],
)
def test_karpenter_that_does_not_work_is_told(
    incident: str, idle: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(INCIDENTS[incident].snapshot()))
    assert main(["next", "--snapshot", str(path)]) == 0
    printed = capsys.readouterr()
    assert idle in printed.err
    assert ("none of this happens" in printed.err) == bool(idle)
