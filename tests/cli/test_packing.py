"""`karptui packing`: how pods fill nodes, now and on both sides of a what-if."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karptui.cli.main import main

STORIES = str(Path(__file__).resolve().parent.parent / "data" / "stories-c-d.json")
OVERHEAD = "name: less overhead\nedits:\n- {edit: setting, name: VM_MEMORY_OVERHEAD_PERCENT, value: 0.03}\n"
WRONG = "name: no such pool\nedits:\n- {edit: set, object: NodePool/none, path: spec.weight, value: 3}\n"


@pytest.mark.parametrize(("by", "share"), [("cpu", "cpu 3700/3860m 95%"), ("memory", "memory 5.4/14.1Gi 37%")])
def test_a_picture_by_cpu_or_memory(capsys: pytest.CaptureFixture[str], by: str, share: str) -> None:
    assert main(["packing", "--demo", "--by", by]) == 0
    heading = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("─ not Karpenter"))
    assert share in heading


def test_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["packing", "--demo", "-o", "json"]) == 0
    nodes = json.loads(capsys.readouterr().out)["nodes"]
    trino = [node for node in nodes if node["pool"] == "trino"]
    assert len(trino) == 8
    assert {len(item["pods"]) for item in trino} == {1}
    assert trino[0]["daemonsets"] == {"cpu_millis": 250, "mem_bytes": 640 << 20}
    assert [node["pool"] for node in nodes][-2:] == [None, None]


def test_both_sides_of_a_what_if(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(OVERHEAD)
    assert main(["packing", "--snapshot", STORIES, "--scenario", str(path), "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    new = [node for node in document["nodes"] if node["before"] is None]
    assert {(item["name"], item["type"]) for item in new} == {(None, "r5a.16xlarge")}
    assert main(["packing", "--snapshot", STORIES, "--scenario", str(path)]) == 0
    assert capsys.readouterr().out.startswith(document["sentence"])


def test_an_edit_that_cannot_be_made_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(WRONG)
    assert main(["packing", "--snapshot", STORIES, "--scenario", str(path), "-o", "json"]) == 1
    assert "none" in json.loads(capsys.readouterr().out)["error"]
    assert main(["packing", "--snapshot", STORIES, "--scenario", str(path)]) == 1
    assert capsys.readouterr().out.startswith("✘ ")


def test_the_picture_of_capacity_says_where_its_figures_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capacity", "--demo", "--packing", "cpu", "-o", "json"]) == 2
    assert "karptui packing -o json" in capsys.readouterr().err
