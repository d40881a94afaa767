"""`karptui pause`: forms of the answer, and flags that are refused."""

from __future__ import annotations

import csv
import io
import json
import shlex

import pytest

from karptui.cli.main import main

SHORT = ("--until", "1h", "--horizon", "1h")


def printed(capsys: pytest.CaptureFixture[str], story: str, *words: str) -> str:
    assert main(["pause", "--snapshot", story, "--no-aws", *words]) != 2
    return capsys.readouterr().out


def test_json_csv_and_the_table_hold_the_same(capsys: pytest.CaptureFixture[str], story: str) -> None:
    document = json.loads(printed(capsys, story, *SHORT, "-o", "json"))
    rows = list(csv.DictReader(io.StringIO(printed(capsys, story, *SHORT, "-o", "csv"))))
    assert [row["kind"] for row in rows] == [removal["kind"] for removal in document["removals"]]
    lines = printed(capsys, story, *SHORT).splitlines()
    commands = [shlex.split(line) for line in lines if line.startswith("kubectl")]
    changed = [pool for pool in document["nodePools"] if pool["patch"]]
    assert changed
    first = [json.loads(words[-1]) for words in commands][::2]
    assert first == [pool["patch"] for pool in changed]
    assert [words[3] for words in commands][::2] == [pool["name"] for pool in changed]
