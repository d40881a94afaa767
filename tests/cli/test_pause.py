"""`karptui pause`: forms of the answer, and flags that are refused."""

from __future__ import annotations

import json
import shlex

from tests.cli.conftest import Run

SHORT = ("--no-aws", "--until", "1h", "--horizon", "1h")


def test_json_csv_and_the_table_hold_the_same(story: str, run: Run) -> None:
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
