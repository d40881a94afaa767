"""`karptui packing`: how pods fill nodes, now and on both sides of a what-if."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

STORIES = str(Path(__file__).resolve().parent.parent / "data" / "stories-c-d.json")
OVERHEAD = "name: less overhead\nedits:\n- {edit: setting, name: VM_MEMORY_OVERHEAD_PERCENT, value: 0.03}\n"


@pytest.mark.parametrize(("by", "share"), [("cpu", "cpu 3700/3860m 95%"), ("memory", "memory 5.4/14.1Gi 37%")])
def test_a_picture_by_cpu_or_memory(run: Run, by: str, share: str) -> None:
    out = run("packing", "--demo", "--by", by).out
    heading = next(line for line in out.splitlines() if line.startswith("─ not Karpenter"))
    assert share in heading


def test_both_sides_of_a_what_if(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(OVERHEAD)
    document = run.json("packing", "--snapshot", STORIES, "--scenario", str(path))
    new = [node for node in document["nodes"] if node["before"] is None]
    assert {(item["name"], item["type"]) for item in new} == {(None, "r5a.16xlarge")}
    assert run("packing", "--snapshot", STORIES, "--scenario", str(path)).out.startswith(document["sentence"])
