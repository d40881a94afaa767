"""`karptui timeouts` and `karptui rehearse`."""

from __future__ import annotations

from tests.cli.conftest import Run


def test_the_order_of_consolidation_is_told_in_every_form(run: Run) -> None:
    words = ["timeouts", "--demo", "--per-simulation", "12s"]
    document = run.json(*words)
    rows = run.csv(*words)
    assert [row["node"] for row in rows] == [node["node"] for node in document["nodes"]]
    assert document["unreached"] == sum(row["isReached"] == "False" for row in rows) > 0
    out = run(*words, "--fail-on", "timeout", status=3 if document["isStarved"] else 0).out
    assert out.startswith("demo: a pass ends with delete ")
    out = run("unreached", *words[1:], "--fail-on", "unreached", status=3 if document["isStarved"] else 0).out
    assert out.startswith("demo: a pass ends with delete "), "its former name still works"


def test_a_node_group_is_rehearsed_in_every_form(run: Run) -> None:
    [document] = run.json("rehearse", "--demo")
    [row] = run.csv("rehearse", "--demo")
    assert (row["nodeGroup"], int(row["nodes"])) == (document["nodeGroup"], len(document["nodes"]))
    out = run("rehearse", "--demo", document["nodeGroup"], "--fail-on", "pending").out
    assert out.startswith("demo: without node group system (2 nodes) ")
    assert "draining one node at a time takes 90s, peak " in out
    assert int(row["drainSeconds"]) == document["drain"]["seconds"] == 90
    out = run("rehearse", "--demo", "--at-once", "2", "--fail-on", "stall", "--fail-on", "pending").out
    assert "draining 2 nodes at a time takes 60s, peak " in out
