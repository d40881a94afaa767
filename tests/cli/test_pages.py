"""Help below the flags: every example is a command line that the parser takes."""

from __future__ import annotations

import shlex

import pytest

from karptui.cli.main import COMMANDS, build_parser, split
from karptui.cli.pages import EXAMPLES, Entry, epilog_of, statuses_of

LINES = [(command, entry.term) for command, entries in EXAMPLES.items() for entry in entries]


def test_every_command_has_examples() -> None:
    assert set(EXAMPLES) == {"", *COMMANDS}


@pytest.mark.parametrize(("command", "line"), LINES, ids=lambda text: text or "app")
def test_examples_parse(command: str, line: str) -> None:
    words = shlex.split(line.replace("<(", "").replace(")", "").partition(" > ")[0].rpartition(" | ")[2])
    result, rest = split(words[words.index("karptui") + 1 :])
    assert (result or "") == command
    assert build_parser(result).parse_args(rest) is not None


@pytest.mark.parametrize("command", [None, *COMMANDS], ids=lambda name: name or "app")
def test_help_is_enough(command: str | None) -> None:
    text = build_parser(command).format_help()
    assert "\nexamples:\n  karptui" in text or "\nexamples:\n  source" in text
    assert "\nexit status:\n  0 " in text
    assert "nvironment variables" in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_statuses() -> None:
    assert [entry.term for entry in statuses_of("simulate")] == ["0", "1", "2", "3", "130"]
    assert [entry.term for entry in statuses_of("advice")] == ["0", "1", "2", "3", "4", "130"]
    assert [entry.term for entry in statuses_of("nodes")] == ["0", "1", "2", "130"]
    assert "KARPTUI_CONFIG" in epilog_of(None)
    assert Entry("0", "done") in statuses_of(None)
