"""Paths that CONTRIBUTING.md and docs/architecture.md name are there, and every package is told of."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("CONTRIBUTING.md", "docs/architecture.md")
FOLDERS = ("benchmarks", "contrib", "docs", "karptui", "tests", "tools")
PATH = re.compile(r"`((?:[\w.-]+/)*[\w-]+(?:\.(?:py|md|tcss|yaml))?)`")


@cache
def files() -> tuple[str, ...]:
    """Return the paths of all files."""
    return tuple(
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if "__pycache__" not in path.parts
    )


def told(text: str) -> set[str]:
    """Return the paths that a text names; of packages only those that stand below a folder of the repository."""
    findall = PATH.findall(text)
    return {path for path in findall if path.endswith((".py", ".tcss")) or path.partition("/")[0] in FOLDERS}


def missing(text: str) -> list[str]:
    """Return the paths that lead nowhere; the beginning of one may be left out."""
    top = {path.name for path in ROOT.iterdir()}
    return sorted(
        path for path in told(text) - top if not any(file == path or file.endswith(f"/{path}") for file in files())
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_path_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(told(text)) > 20
    assert missing(text) == []


def test_a_path_that_leads_nowhere_is_missed_and_no_other() -> None:
    there = ("pool_order.py", "provisioning/pool_order.py", "karptui/studies", "docs/solve.md")
    nowhere = ["docs/solved.md", "karptui/study", "ordering.py", "pending/order.py"]
    assert missing(" ".join(f"see `{path}`" for path in (*there, *nowhere))) == nowhere


def test_every_package_is_told_of() -> None:
    table = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").partition("## From the API server")[0]
    packages = {path.parent.name for path in (ROOT / "karptui").glob("*/__init__.py")}
    assert packages - set(re.findall(r"`(\w+)`", table)) == set()
