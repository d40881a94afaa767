"""`karptui policies`, `karptui pause`, `karptui timeouts` and `karptui rehearse`."""

from __future__ import annotations

import json
import shlex

from tests.cli.conftest import Run

FEW = ("--no-aws", "--policy", "WhenEmpty", "--policy", "Balanced", "--after", "0s", "--horizon", "1h")
SHORT = ("--no-aws", "--until", "1h", "--horizon", "1h")


def test_policies_have_the_same_rows_in_every_format(story: str, run: Run) -> None:
    document = run.json("policies", "--snapshot", story, *FEW)
    rows = run.csv("policies", "--snapshot", story, *FEW)
    assert [row["consolidationPolicy"] for row in rows] == ["", "WhenEmpty", "Balanced"]
    assert [int(row["evictions"]) for row in rows] == [outcome["evictions"] for outcome in document["outcomes"]]
    answer, *lines = run("policies", "--snapshot", story, *FEW).out.splitlines()
    assert "; without a change consolidation saves " in answer
    assert len([line for line in lines if line.startswith(("current", "WhenEmpty", "Balanced"))]) == 3


def test_pause_has_the_same_rows_in_every_format(story: str, run: Run) -> None:
    document = run.json("pause", "--snapshot", story, *SHORT)
    rows = run.csv("pause", "--snapshot", story, *SHORT)
    assert [row["kind"] for row in rows] == [removal["kind"] for removal in document["removals"]]
    lines = run("pause", "--snapshot", story, *SHORT).out.splitlines()
    commands = [shlex.split(line) for line in lines if line.startswith("kubectl")]
    changed = [pool for pool in document["nodePools"] if pool["patch"]]
    assert changed
    first = [json.loads(words[-1]) for words in commands][::2]
    assert first == [pool["patch"] for pool in changed]
    assert [words[3] for words in commands][::2] == [pool["name"] for pool in changed]


def test_timeouts_have_the_same_order_in_every_format(run: Run) -> None:
    words = ["timeouts", "--demo", "--per-simulation", "12s"]
    document = run.json(*words)
    rows = run.csv(*words)
    assert [row["node"] for row in rows] == [node["node"] for node in document["nodes"]]
    assert document["unreached"] == sum(row["isReached"] == "False" for row in rows) > 0
    out = run(*words, "--fail-on", "timeout", status=3 if document["isStarved"] else 0).out
    assert out.startswith("demo: a pass ends with delete ")
    out = run("unreached", *words[1:], "--fail-on", "unreached", status=3 if document["isStarved"] else 0).out
    assert out.startswith("demo: a pass ends with delete "), "the command's former name still works"


def test_rehearse_has_the_same_numbers_in_every_format(run: Run) -> None:
    [document] = run.json("rehearse", "--demo")
    [row] = run.csv("rehearse", "--demo")
    assert (row["nodeGroup"], int(row["nodes"])) == (document["nodeGroup"], len(document["nodes"]))
    out = run("rehearse", "--demo", document["nodeGroup"], "--fail-on", "pending").out
    assert out.startswith("demo: without node group system (2 nodes) ")
    assert "draining one node at a time takes 90s, peak " in out
    assert int(row["drainSeconds"]) == document["drain"]["seconds"] == 90
    out = run("rehearse", "--demo", "--at-once", "2", "--fail-on", "stall", "--fail-on", "pending").out
    assert "draining 2 nodes at a time takes 60s, peak " in out
