"""`karptui timeouts` and `karptui rehearse`."""

from __future__ import annotations

import csv
import io
import json

import pytest

from karptui.cli.main import main


def test_the_order_of_consolidation_is_told_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["timeouts", "--demo", "--per-simulation", "12s"]
    assert main([*words, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert main([*words, "-o", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["node"] for row in rows] == [node["node"] for node in document["nodes"]]
    assert document["unreached"] == sum(row["isReached"] == "False" for row in rows) > 0
    assert main([*words, "--fail-on", "timeout"]) == (3 if document["isStarved"] else 0)
    assert capsys.readouterr().out.startswith("demo: a pass ends with delete ")
    assert main(["unreached", *words[1:], "--fail-on", "unreached"]) == (3 if document["isStarved"] else 0)
    assert capsys.readouterr().out.startswith("demo: a pass ends with delete "), "its former name still works"
    assert main(["timeouts", "--demo", "--per-simulation", "soon"]) == 2
    assert "'soon' is not a duration such as 200ms or 1s" in capsys.readouterr().err


def test_a_node_group_is_rehearsed_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rehearse", "--demo", "-o", "json"]) == 0
    [document] = json.loads(capsys.readouterr().out)
    assert main(["rehearse", "--demo", "-o", "csv"]) == 0
    [row] = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["nodeGroup"], int(row["nodes"])) == (document["nodeGroup"], len(document["nodes"]))
    assert main(["rehearse", "--demo", document["nodeGroup"], "--fail-on", "pending"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("demo: without node group system (2 nodes) ")
    assert "draining one node at a time takes 90s, peak " in out
    assert int(row["drainSeconds"]) == document["drain"]["seconds"] == 90
    assert main(["rehearse", "--demo", "--at-once", "2", "--fail-on", "stall", "--fail-on", "pending"]) == 0
    assert "draining 2 nodes at a time takes 60s, peak " in capsys.readouterr().out
    assert main(["rehearse", "--demo", "--at-once", "none"]) == 2
    assert "'none' is not a number from 1 to 1,000" in capsys.readouterr().err
    assert main(["rehearse", "--demo", "none"]) == 2
    assert "there is no node group none; there are system" in capsys.readouterr().err
