"""`karptui policies`: dollars saved against pods evicted."""

from __future__ import annotations

import csv
import io
import json

import pytest

from karptui.cli.main import main

FEW = ("--policy", "WhenEmpty", "--policy", "Balanced", "--after", "0s", "--horizon", "1h")


def printed(capsys: pytest.CaptureFixture[str], story: str, *words: str) -> str:
    assert main(["policies", "--snapshot", story, "--no-aws", *words]) != 2
    return capsys.readouterr().out


def test_json_csv_and_the_table_say_the_same(capsys: pytest.CaptureFixture[str], story: str) -> None:
    document = json.loads(printed(capsys, story, *FEW, "-o", "json"))
    rows = list(csv.DictReader(io.StringIO(printed(capsys, story, *FEW, "-o", "csv"))))
    assert [row["consolidationPolicy"] for row in rows] == ["", "WhenEmpty", "Balanced"]
    assert [int(row["evictions"]) for row in rows] == [outcome["evictions"] for outcome in document["outcomes"]]
    answer, *lines = printed(capsys, story, *FEW).splitlines()
    assert "; without a change consolidation saves " in answer
    assert len([line for line in lines if line.startswith(("current", "WhenEmpty", "Balanced"))]) == 3
