"""`karptui policies`: dollars saved against pods evicted."""

from __future__ import annotations

from tests.cli.conftest import Run

FEW = ("--no-aws", "--policy", "WhenEmpty", "--policy", "Balanced", "--after", "0s", "--horizon", "1h")


def test_json_csv_and_the_table_say_the_same(story: str, run: Run) -> None:
    document = run.json("policies", "--snapshot", story, *FEW)
    rows = run.csv("policies", "--snapshot", story, *FEW)
    assert [row["consolidationPolicy"] for row in rows] == ["", "WhenEmpty", "Balanced"]
    assert [int(row["evictions"]) for row in rows] == [outcome["evictions"] for outcome in document["outcomes"]]
    answer, *lines = run("policies", "--snapshot", story, *FEW).out.splitlines()
    assert "; without a change consolidation saves " in answer
    assert len([line for line in lines if line.startswith(("current", "WhenEmpty", "Balanced"))]) == 3
