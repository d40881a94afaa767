"""`karptui pools` over the demo cluster and over documents."""

from __future__ import annotations

from pathlib import Path

from tests.builders.files import written
from tests.builders.manifests import a_pool_manifest
from tests.cli.conftest import Run

A_WEIGHTS = str(Path(__file__).resolve().parents[2] / "docs" / "cases" / "a-weights.yaml")
STORIES = str(Path(__file__).resolve().parents[1] / "data" / "stories-c-d.json")


def test_story_a_as_json(run: Run) -> None:
    rows = run.json("pools", "--snapshot", A_WEIGHTS)
    assert [(row["rank"], row["name"], row["weight"]) for row in rows] == [
        (1, "first", 100),
        (2, "second", 50),
        (3, "third", 0),
    ]
    assert [row["pods_new_nodes_here"] for row in rows] == [5, 0, 0]
    assert [row["pods_shared"] for row in rows] == [5, 5, 5]
    assert rows[1]["shared_with"] == {"first": 5, "third": 5}


def test_csv_holds_plain_cells(run: Run) -> None:
    (row,) = run.csv("pools", "--demo", "--filter", "pool=general")
    assert row["same_weight_as"] == "spare"
    assert row["budget_left"].startswith("Empty=")
    assert float(row["cost_per_hour"]) > 0
    assert "{" not in ",".join(row.values())


def test_one_pool_at_length(run: Run) -> None:
    out = run("pools", "--snapshot", STORIES, "--pool", "small").out
    assert "a new node carries 11 DaemonSet pods = 460m / 896Mi / 11 slots" in out
    assert "kube-system/agent-04" in out
    document = run.json("pools", "--snapshot", STORIES, "--pool", "small")
    assert document["types_excluded_by_daemonsets"] == 7
    assert [item["name"] for item in document["daemonsets"] if item["excludes"] == ["t3a.small"]] == ["kube-system/cni"]
    rows = run.csv("pools", "--snapshot", STORIES, "--pool", "small")
    assert [row["excludes"] for row in rows if row["name"] == "kube-system/agent-02"] == ["t3.nano t3a.nano"]


def test_rows_of_one_pool_are_chosen_in_every_form(run: Run) -> None:
    result = ("pools", "--snapshot", STORIES, "--pool", "small", "--filter", "name=*/cni")
    assert [row["name"] for row in run.json(*result)["daemonsets"]] == ["kube-system/cni"]
    (line,) = run(*result, "--no-headers").out.splitlines()
    assert line.startswith("kube-system/cni")


def test_only_the_first_of_many_pools_are_described(tmp_path: Path, run: Run) -> None:
    file = written(tmp_path / "pools.json", [a_pool_manifest(f"p{number}") for number in range(100)])
    printed = run("pools", str(file))
    assert len(printed.out.splitlines()) == 101
    assert len(printed.err.splitlines()) < 100
    assert "90 more NodePools: --pool NAME describes one" in printed.err
    assert "more notes are left out" in printed.err
