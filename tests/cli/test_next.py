"""`karptui next`: the next command and the removable nodes, in every output format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.files import written
from tests.cli.conftest import Run
from tests.incidents.all import INCIDENTS
from tests.troubled_cluster import troubles_document


@pytest.fixture(name="file", scope="module")
def snapshot_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write the troubles snapshot without pods, so that its spot node is empty, and return the path."""
    document = troubles_document()
    document["objects"] = [manifest for manifest in document["objects"] if manifest["kind"] != "Pod"]
    return str(written(tmp_path_factory.mktemp("empty") / "empty.json", document))


def test_json(file: str, run: Run) -> None:
    document = run.json("next", "--snapshot", file)
    assert document["next"]["method"] == "Emptiness"
    assert document["next"]["commands"] == [
        {"decision": "delete", "nodes": ["spot-1"], "savings_per_hour": 0.31, "replacements": [], "lost_pods": []}
    ]
    assert [(node["name"], node["would_be"], node["held_by"]) for node in document["nodes"]] == [
        ("spot-1", "delete", [])
    ]


def test_table_and_csv(file: str, run: Run) -> None:
    text = run("next", "--snapshot", file).out
    assert text.startswith("Next: Emptiness (Empty), saves $0.3100/h\n  delete spot-1\n")
    assert "NODE" in text
    assert run("next", "--snapshot", file, "--no-headers", "-l", "karpenter.sh/nodepool=spot").out.startswith("spot-1")
    rows = run.csv("next", "--snapshot", file)
    assert [(row["name"], row["held_by"], row["replaced_by"], row["would_be"]) for row in rows] == [
        ("spot-1", "", "", "delete")
    ]


def test_csv_has_the_type_of_replacements(run: Run) -> None:
    rows = run.csv("next", "--demo", "--filter", "pool=trino")
    assert {row["replaced_by"] for row in rows} == {"trino:r5a.8xlarge"}


def test_no_launch_is_promised_while_karpenter_is_down(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "cluster.json", INCIDENTS["karpenter-scaled-to-zero"].snapshot())
    groups = json.loads(run("pending", "--snapshot", str(path), "-o", "json").out)
    pod = next(group for group in groups if group["turn"] == "new node")
    printed = run("explain", "pod", f"{pod['namespace']}/{pod['pods'][0]}", "--snapshot", str(path), "--no-remedies")
    assert "Karpenter is not running" in printed.out
    assert "Karpenter's rules call for a new node" in printed.out
    assert "Karpenter would launch" not in printed.out


@pytest.mark.parametrize(("incident", "idle"), [
    ("karpenter-down-and-a-strict-budget", "Karpenter is not running: none of this happens until it runs"),
    ("karpenter-without-leader", "Karpenter has no leader: none of this happens until it has one"),
    ("budget-keeps-empty-nodes", ""),
])  # fmt: skip
def test_next_reports_if_karpenter_is_not_running(incident: str, idle: str, tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "cluster.json", INCIDENTS[incident].snapshot())
    printed = run("next", "--snapshot", str(path))
    assert idle in printed.err
    assert ("none of this happens" in printed.err) == bool(idle)
