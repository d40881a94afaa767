"""`karptui packing`: the pods on each node, before and after a what-if."""

from __future__ import annotations

from pathlib import Path

from tests.builders.files import written
from tests.cli.conftest import Run

STORIES = str(Path(__file__).resolve().parent.parent / "data" / "stories-c-d.json")
OVERHEAD = "name: less overhead\nedits:\n- {edit: setting, name: VM_MEMORY_OVERHEAD_PERCENT, value: 0.03}\n"


def test_packing_before_and_after_a_what_if(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "scenario.yaml", OVERHEAD)
    document = run.json("packing", "--snapshot", STORIES, "--scenario", str(path))
    new = [node for node in document["nodes"] if node["before"] is None]
    assert {(item["name"], item["type"]) for item in new} == {(None, "r5a.16xlarge")}
    assert run("packing", "--snapshot", STORIES, "--scenario", str(path)).out.startswith(document["sentence"])
