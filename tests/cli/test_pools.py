"""`karptui pools` over the demo cluster and over documents."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from karptui.cli.main import main
from tests.builders import a_manifest

A_WEIGHTS = str(Path(__file__).resolve().parents[2] / "docs" / "cases" / "a-weights.yaml")
STORIES = str(Path(__file__).resolve().parents[1] / "data" / "stories-c-d.json")


def test_story_a_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pools", "--snapshot", A_WEIGHTS, "-o", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["rank"], row["name"], row["weight"]) for row in rows] == [
        (1, "first", 100),
        (2, "second", 50),
        (3, "third", 0),
    ]
    assert [row["pods_new_nodes_here"] for row in rows] == [5, 0, 0]
    assert [row["pods_shared"] for row in rows] == [5, 5, 5]
    assert rows[1]["shared_with"] == {"first": 5, "third": 5}


def test_story_a_as_a_table_with_the_reasons_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pools", "--snapshot", A_WEIGHTS]) == 0
    result = capsys.readouterr()
    assert result.out.splitlines()[0].split()[:3] == ["#", "NAME", "WEIGHT"]
    assert "every pod that fits lands here before second is tried" in result.err
    assert "overlap: 5 of 5 pods (100%) match several pools and land on first 5" in result.err
    assert "cost of all pools" not in result.err


def test_csv_holds_plain_cells(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pools", "--demo", "-o", "csv", "--filter", "pool=general"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["same_weight_as"] == "spare"
    assert row["budget_left"].startswith("Empty=")
    assert float(row["cost_per_hour"]) > 0
    assert "{" not in ",".join(row.values())


def test_the_demo_tells_what_its_pools_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pools", "--demo"]) == 0
    result = capsys.readouterr()
    assert "cost of all pools: $" in result.err
    assert "no spot prices are known" not in result.err
    assert main(["pools", "--demo", "--disable-pricing"]) == 0
    result = capsys.readouterr()
    assert "$" not in result.out + result.err


def test_one_pool_at_length(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pools", "--snapshot", STORIES, "--pool", "small"]) == 0
    out = capsys.readouterr().out
    assert "a new node carries 11 DaemonSet pods = 460m / 896Mi / 11 slots" in out
    assert "kube-system/agent-04" in out
    assert main(["pools", "--snapshot", STORIES, "--pool", "small", "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["types_excluded_by_daemonsets"] == 7
    assert [item["name"] for item in document["daemonsets"] if item["excludes"] == ["t3a.small"]] == ["kube-system/cni"]
    assert main(["pools", "--snapshot", STORIES, "--pool", "small", "-o", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["excludes"] for row in rows if row["name"] == "kube-system/agent-02"] == ["t3.nano t3a.nano"]


def test_rows_of_one_pool_are_chosen_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    result = ("pools", "--snapshot", STORIES, "--pool", "small", "--filter", "name=*/cni")
    assert main([*result, "-o", "json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["daemonsets"]] == ["kube-system/cni"]
    assert main([*result, "--no-headers"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("kube-system/cni")


def test_a_pool_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pools", "--demo", "--pool", "nowhere"]) == 2
    assert "there is no NodePool nowhere; there are runners, spare" in capsys.readouterr().err


def test_a_filter_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pools", "--demo", "--filter", "colour=red"]) == 2
    assert "colour" in capsys.readouterr().err


def test_only_the_first_of_many_pools_are_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    pools = [
        a_manifest("NodePool", f"p{number}", spec={"template": {"spec": {"nodeClassRef": reference}}})
        | {"apiVersion": "karpenter.sh/v1"}
        for number in range(100)
    ]
    file = tmp_path / "pools.json"
    file.write_text(json.dumps(pools))
    assert main(["pools", str(file)]) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 101
    assert len(printed.err.splitlines()) < 100
    assert "90 more NodePools: --pool NAME describes one" in printed.err
    assert "more notes are left out" in printed.err
