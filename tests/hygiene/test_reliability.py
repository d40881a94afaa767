"""Every fault in docs/reliability.md names its tests; these and the tests in docs/security.md exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECURITY = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def rows() -> list[list[str]]:
    """Return the rows of the table of faults, without its header."""
    table = PAGE.partition("| fault |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()[2:]]


def names_in(path: Path) -> set[str]:
    return set(re.findall(r"^ *(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_every_fault_names_a_test() -> None:
    assert len(rows()) > 20
    assert [row for row in rows() if len(row) != 4 or not NAMED.search(row[-1])] == []


def test_every_named_test_exists() -> None:
    named = [item for row in rows() for item in NAMED.findall(row[-1])]
    promised = NAMED.findall(SECURITY)
    assert len(promised) > 20
    missing = [
        f"{file}::{name}"
        for file, name in (*named, *promised)
        if not (ROOT / "tests" / file).is_file() or name not in names_in(ROOT / "tests" / file)
    ]
    assert missing == []
