"""The parsers accept every command line in README and docs, and README links to every page."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from karptui.cli.parser import build_parser, split

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
LINE: Final = re.compile(r"^    (?:\$ )?(?:.*\| )?((?:kubectl karp|karptui)(?: .*)?)$", re.MULTILINE)


def lines() -> list[tuple[str, str]]:
    """Return page and command line of every command in a code block."""
    return [(page.name, match[1]) for page in PAGES for match in LINE.finditer(page.read_text(encoding="utf-8"))]


def words_of(line: str) -> list[str]:
    """Return the arguments of a command line, without comments and redirections."""
    words = shlex.split(line.replace("kubectl karp", "karptui"), comments=True)
    ends = (index for index, word in enumerate(words) if word in ("|", "&&", ";") or word.startswith((">", "2>")))
    return words[1 : next(ends, len(words))]


@pytest.mark.parametrize(("page", "line"), lines())
def test_commands_parse(page: str, line: str) -> None:
    command, rest = split([word for word in words_of(line) if word != "..."])
    assert command is not None or not rest or rest[0].startswith("-"), f"{page}: {line}"
    if rest == ["--version"] or "--help" in rest:
        return
    build_parser(command).parse_args(rest)


def test_the_readme_links_to_every_page() -> None:
    assert len(lines()) > 40
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        for target in re.findall(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            resolve = (page.parent / target).resolve()
            if resolve.exists() and resolve not in reached:
                ahead.append(resolve)
    assert set(PAGES) <= reached
    direct = set(re.findall(r"\]\(docs/([^)#\s]+\.md)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {page.name for page in PAGES[1:]} <= direct, "README lacks a link to a page of docs"


COMMANDS: Final = ROOT / "karptui" / "cli"
DIFFER: Final = frozenset(
    {
        "--by",
        "--fail-on",
        "--filename",
        "--namespace",
        "--node-selector",
        "--pool",
        "--wait",
        "--reason",
        "-f",
        "-l",
        "-n",
    }
)
"""Flags with a different meaning in each command."""


def declared(path: Path) -> set[str]:
    calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    words = (
        word.value
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"
        for word in call.args
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    )
    return {word for word in words if word.startswith("-")}


def test_a_flag_of_several_commands_is_declared_in_options() -> None:
    modules = {path.stem: declared(path) for path in sorted(COMMANDS.glob("*.py"))}
    assert len(modules["options"]) > 30
    twice = {
        flag: [name for name, flags in modules.items() if flag in flags]
        for flag in set().union(*modules.values()) - DIFFER
        if sum(flag in flags for flags in modules.values()) > 1
    }
    assert twice == {}
