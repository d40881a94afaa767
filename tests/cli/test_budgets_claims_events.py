"""`karptui budgets`, `karptui claims` and `karptui events` over the demo cluster."""

from __future__ import annotations

from tests.cli.conftest import Run


def test_budgets(run: Run) -> None:
    rows = {(row["pool"], row["reason"]): row for row in run.json("budgets", "--demo")}
    general = rows["general", "Drifted"]
    assert (general["allowed"], general["binding_line"], general["binding_index"]) == (2, "2 · Drifted", 1)
    assert general["left"] == max(general["allowed"] - general["deleting"] - general["not_ready"], 0)
    assert len(general["deleting_nodes"].split()) == general["deleting"] > 0
    assert len(general["week"]) == 42


def test_claims(run: Run) -> None:
    rows = run.csv("claims", "--demo", "--filter", "status=Launching", "--sort-by", "name=asc")
    assert rows
    assert all(row["waiting_on"] and not row["node"] and not row["launched_seconds"] for row in rows)
    assert [row["name"] for row in rows] == sorted(row["name"] for row in rows)


def test_events(run: Run) -> None:
    lines = run("events", "--demo", "--filter", "reason=DisruptionBlocked kind=NodePool").out.splitlines()
    assert lines[0].split() == ["LAST", "FIRST", "TIMES", "KIND", "OBJECT", "REASON", "MESSAGE"]
    assert len(lines) > 1
    assert all("No allowed disruptions" in line for line in lines[1:])
    rows = run.json("events", "--demo")
    told = [row["last"] for row in rows if row["last"]]
    assert told == sorted(told, reverse=True)
    assert {"karpenter", "condition"} <= {row["source"] for row in rows}
