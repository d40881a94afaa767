"""The hint for a command typed after ``:``: completions, usage or an error."""

from __future__ import annotations

import pytest

from karptui.screens.command_line import TypedCommand, hint

COMMANDS = (
    TypedCommand("nodes", "Nodes", lambda _: None, ("node", "no")),
    TypedCommand("save", "Save the rows to a file, .csv or .txt", lambda _: None, placeholder="FILE"),
    TypedCommand("theme", "Choose a theme", lambda _: None, arguments=lambda: ("nord", "dracula"), placeholder="NAME"),
    TypedCommand(
        "solve", "Reach a goal", lambda _: None, arguments=lambda: ("weight",), placeholder="[GOAL NAME=VALUE …]"
    ),
)


@pytest.mark.parametrize(("line", "text"), [
    ("", "nodes  save  theme  solve"),
    ("sa", "save"),
    ("s", "save  solve"),
    ("zz", "nothing called zz"),
    ("theme ", "nord  dracula"),
    ("theme d", "dracula  nord"),
    ("theme zz", "nothing called zz"),
    ("save nodes.csv", ":save FILE  Save the rows to a file, .csv or .txt"),
    ("solve w", "weight"),
    ("solve weight pods=a/b", ":solve [GOAL NAME=VALUE …]  Reach a goal"),
    ("nodes x", ":nodes  Nodes"),
    ("zz top", "there is no command :zz; ? lists the commands"),
])  # fmt: skip
def test_the_hint_lists_completions_or_explains_the_command(line: str, text: str) -> None:
    assert hint(COMMANDS, line) == text


@pytest.mark.parametrize("line", ["theme d", "theme zz"])
def test_the_arguments_of_a_command_are_listed_only_once(line: str) -> None:
    asked: list[str] = []

    def names() -> tuple[str, ...]:
        asked.append("names")
        return ("nord", "dracula")

    assert hint([TypedCommand("theme", "", lambda _: None, arguments=names, placeholder="NAME")], line)
    assert asked == ["names"]
