"""`karptui pause`: forms of the answer, and flags that are refused."""

from __future__ import annotations

import csv
import io
import json
import shlex

import pytest

from karptui.cli.main import main
from tests.cli.conftest import Run

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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--pool", "none"), "there is no NodePool none; there are "),
        (("--until", "soon"), "'soon' is not a duration (2h, 90m)"),
        (("--until", "2020-01-01T00:00:00Z"), "is not in the future"),
        (("--release", "--until", "1h"), "--until is the end of a new pause: it does not go with --release"),
        (("--reason", "Old"), "invalid choice: 'Old'"),
    ],
)
def test_what_cannot_be_paused_is_a_sentence(run: Run, story: str, words: tuple[str, ...], says: str) -> None:
    out, err = run("pause", "--snapshot", story, *words, status=2)
    assert not out
    assert says in err
