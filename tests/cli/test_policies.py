"""`karptui policies`: dollars saved against pods evicted."""

from __future__ import annotations

import csv
import io
import json

import pytest

from karptui.cli.main import main
from tests.cli.conftest import Run

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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--after", "soon"), "'soon' is not a duration such as 30s or 1h, and not Never"),
        (("--after", ","), "names no value of consolidateAfter"),
        (("--pool", "none"), "there is no NodePool none; there are "),
        (("--policy", "Often"), "invalid choice: 'Often'"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(run: Run, story: str, words: tuple[str, ...], says: str) -> None:
    out, err = run("policies", "--snapshot", story, *words, status=2)
    assert not out
    assert says in err
