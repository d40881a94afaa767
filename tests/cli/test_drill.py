"""`karptui drill`: the outcome of losing a zone, a capacity type or a NodePool."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from karptui.studies.drill import drill
from tests.cli.conftest import Run
from tests.cli.files import a_file
from tests.shared_analyses import answer_once

ZONE = "zone=us-east-1a"
ON_DEMAND = "capacity-type=on-demand"


@pytest.fixture(autouse=True)
def _cached_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_once(monkeypatch, "karptui.studies.drill.drill", drill)


def printed(run: Run, *words: str, status: int = 0) -> str:
    return run("drill", "--demo", *words, status=status).out


def test_each_loss_has_a_row_below_the_summary(run: Run) -> None:
    answer, _, heads, *rows, _, hint = printed(run).splitlines()
    assert answer.startswith("demo: without NodePool general 255 pods stay pending")
    assert heads.split()[0] == "WITHOUT"
    assert [row.partition("=")[0] for row in rows] == ["zone"] * 3 + ["capacity-type"] * 2 + ["nodepool"] * 5
    assert hint == "karptui drill --without nodepool=general shows which pods stay pending, and why"


def test_losses_named_by_flags_are_described_in_detail(run: Run) -> None:
    lines = printed(run, "--without", ZONE, "--without", ON_DEMAND).splitlines()
    assert [line.partition(" pods")[0] for line in lines if line.startswith("demo")] == [
        "demo: without zone us-east-1a 151",
        "demo: without capacity type on-demand 30 of 226",
    ]
    assert "    edge, runners, trino" in lines


def test_json_and_csv_have_the_same_rows(run: Run) -> None:
    words = [word for loss in (ZONE, ON_DEMAND, "nodepool=edge") for word in ("--without", loss)]
    documents = json.loads(printed(run, *words, "-o", "json"))
    rows = list(csv.DictReader(io.StringIO(printed(run, *words, "-o", "csv"))))
    assert len(rows) == 3
    assert [row["without"] for row in rows] == [document["without"] for document in documents]
    assert [int(row["pending"]) for row in rows] == [len(document["pending"]) for document in documents]
    assert [int(row["newNodes"]) for row in rows] == [document["newNodes"] for document in documents]
    assert all(item["pods"] == item["onNodes"] + item["onNewNodes"] + len(item["pending"]) for item in documents)


def test_rows_are_filtered_and_sorted(run: Run) -> None:
    words = ("--filter", "without=zone*", "--sort-by", "pods=asc")
    documents = json.loads(printed(run, *words, "-o", "json"))
    pods = [document["pods"] for document in documents]
    assert pods == sorted(pods)
    losses = [document["without"] for document in documents]
    assert [loss.partition("=")[0] for loss in losses] == ["zone"] * 3
    table = [line.split()[0] for line in printed(run, *words, "--no-headers").splitlines()[2:5]]
    lines = printed(run, *words, "-o", "csv", "--no-headers").splitlines()
    assert losses == table == [line.partition(",")[0] for line in lines]


def test_fail_on_pending_exits_with_3_if_pods_stay_pending(run: Run) -> None:
    words = ["--without", ON_DEMAND, "-o", "csv"]
    printed(run, *words)
    printed(run, "--without", "zone=us-east-1b", "--fail-on", "pending")
    error = run("drill", "--demo", *words, "--fail-on", "pending", status=3).err
    assert f"karptui drill: --fail-on pending: {ON_DEMAND}: 30 pods are unschedulable" in error


def test_each_cluster_without_the_lost_zone_is_named(run: Run, tmp_path: Path) -> None:
    names = ("left", "right")
    files = [a_file(tmp_path, name=name, objects=[]) for name in names]
    error = run("drill", "--snapshots", *files, "--without", ZONE, status=1).err
    told = [line for line in error.splitlines() if ZONE in line]
    assert told == [f"karptui drill: {name}: {ZONE}: no node has it; none is known" for name in names]
