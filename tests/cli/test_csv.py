"""CSV output of commands that print rows: the header has JSON's keys, and is printed even without rows."""

from __future__ import annotations

import csv
import io
import json

import pytest

from karptui.cli.listing import cell
from karptui.cli.main import main

NOTHING = ("--filter", "no-such-thing-anywhere")
COMMANDS = (
    ("nodes", "--extra-labels", "team,kubernetes.io/arch"),
    ("pools", "--pool", "general"),
    ("types", "--pool", "general"),
    ("pending",),
    ("claims",),
    ("next",),
    ("churn",),
    ("churn", "--replacements"),
    ("advice",),
)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(list(words))
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_header_has_the_keys_of_json_even_without_rows(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(printed(capsys, *command, "--demo", "-o", "json"))
    rows_at = {("next",): "nodes", ("churn",): "pools", ("churn", "--replacements"): "replacements"}
    if isinstance(document, dict):
        document = document[rows_at.get(command, "daemonsets")]
    full = printed(capsys, *command, "--demo", "-o", "csv")
    header, *rows = csv.reader(io.StringIO(full))
    assert header == list(document[0])
    assert len(rows) == len(document)
    assert not [text for row in rows for text in row if text.startswith(("{'", "['"))]
    assert printed(capsys, *command, "--demo", "-o", "csv", *NOTHING) == full.partition("\n")[0] + "\n"


@pytest.mark.parametrize(("value", "text"), [
    (None, None),
    (0.5, 0.5),
    (True, True),
    ("a\x1b[31m", "a␛[31m"),
    ([], ""),
    (["a", "b"], "a b"),
    ({"spot": ["a", "b"], "on-demand": []}, "spot=a,b on-demand="),
    ({"cpu": {"used": 1, "limit": 2}, "memory": None}, "cpu.used=1 cpu.limit=2 memory="),
    ([{"node": "a", "price": None}, {"node": "b", "price": 0.5}], "node=a price=; node=b price=0.5"),
    (["a\x07"], "a␇"),
])  # fmt: skip
def test_values_as_csv_cells(value: object, text: object) -> None:
    assert cell(value) == text
