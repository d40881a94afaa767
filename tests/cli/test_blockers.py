"""`karptui blockers`."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.blockers import without_idle
from tests.builders import a_manifest
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.cli.files import a_file
from tests.goldens_loading import GOLDENS, scenarios

STORY = GOLDENS / "karpenter-1.14.1" / "storyE.jsonl.gz"


@pytest.fixture(scope="module")
def runners(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a snapshot in which do-not-disrupt annotations of Job pods block nodes."""
    snapshot = dict(
        next(scenario["snapshot"] for scenario in scenarios(STORY) if scenario["snapshot"]["name"][-1] == "2")
    )
    snapshot["instanceTypes"] = json.loads(
        gzip.decompress((STORY.parent / f"{snapshot.pop('catalog')}.gz").read_bytes())
    )
    return str(written(tmp_path_factory.mktemp("runners") / "runners.json", snapshot))


def _json(run: Run, *words: str) -> Any:
    return run.json("blockers", *words)


def test_each_protected_job_is_listed_with_the_result_of_removing_it(runners: str, run: Run) -> None:
    result = _json(run, runners)
    jobs = [item for item in result if item["code"] == "POD_DND"]
    assert jobs
    assert {job["object"].rpartition("/")[0] for job in jobs} == {"Pod/default"}
    assert {job["value"] for job in jobs} == {"true"}
    assert all(job["pricePerHour"] > 0 for job in jobs)
    assert {job["wouldGoWithout"] for job in jobs} <= {"delete", "replace", "no"}
    assert any(job["reportedByKarpenter"] for job in jobs)


def test_blockers_of_one_node_without_simulation(runners: str, run: Run) -> None:
    node = _json(run, runners)[0]["node"]
    result = _json(run, "--snapshot", runners, "--node", node, "--no-simulation")
    assert {(item["node"], item["wouldGoWithout"]) for item in result} == {(node, "unknown")}


def test_table_and_csv(runners: str, run: Run) -> None:
    table = run("blockers", runners).out.splitlines()
    assert table[0].split()[:3] == ["NODE", "$/H", "CODE"]
    text = run("blockers", runners, "-o", "csv").out
    rows = list(csv.DictReader(io.StringIO(text)))
    assert run("blockers", runners, "--node", "none", "-o", "csv").out == f"{text.partition(chr(10))[0]}\n"
    assert len(rows) == len(table) - 1
    assert {row["code"] for row in rows} >= {"POD_DND"}


def test_blockers_of_nodes_that_no_method_wants_share_a_row() -> None:
    def row(node: str, *, wanted: bool = False, pool: str = "web", code: str = "BUDGET_ZERO") -> Any:
        shown = {"node": node, "code": code, "object": f"NodePool/{pool}", "wanted": wanted, "pricePerHour": 1.0}
        return {**shown, "since": "now", "wouldGoWithout": "delete", "podsInLastHour": 3, "value": "nodes 0"}

    rows = [row("a"), row("b", wanted=True), row("c"), row("d", pool="ci"), row("e", code="POD_DND")]
    shown = without_idle([*rows, row("f", code="DELETING"), {**row("g", code="DELETING"), "wouldGoWithout": "no"}])
    nodes = [document["node"] for document in shown]
    assert nodes == [
        "b",
        "3 nodes that no method wants now",
        "1 node that no method wants now",
        "2 nodes being deleted",
    ]
    assert shown[3]["wouldGoWithout"] == ""
    assert (shown[1]["value"], shown[1]["pricePerHour"], shown[1]["wouldGoWithout"]) == ("", "-", "delete")
    assert (shown[1]["object"], shown[2]["object"], shown[2]["value"]) == ("", "NodePool/web", "nodes 0")


def test_a_blocker_of_the_whole_cluster_is_listed(tmp_path: Path, run: Run) -> None:
    claim = a_manifest("NodeClaim", "new", api_version="karpenter.sh/v1")
    (blocker,) = _json(run, a_file(tmp_path, objects=[claim]))
    assert (blocker["code"], blocker["object"], blocker["node"]) == ("UNSYNCED", "NodeClaim/new", "")


def test_assumptions_are_printed_on_standard_error(tmp_path: Path, run: Run) -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["web"]}]}
    spec = {"selector": selector, "maxUnavailable": 1}
    pdb = a_manifest("PodDisruptionBudget", "odd", namespace="web", api_version="policy/v1", spec=spec)
    read = run("blockers", a_file(tmp_path, objects=[pdb]), "-o", "json")
    assert json.loads(read.out) == []
    assert "karptui blockers: PodDisruptionBudget web/odd: the API refuses its selector" in read.err
