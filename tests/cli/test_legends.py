"""What help says of columns and codes."""

from __future__ import annotations

import pytest

from karptui.cli.main import build_parser
from karptui.cli.pages import Entry, epilog_of


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize(("command", "terms"), [
    ("nodes", ("Δ CLAIM", "WHY", "draining 12m", "type not in pool")),
    ("pools", ("NODES", "TYPES", "LAST HOUR")),
    ("claims", ("L/R/I s",)),
    ("pending", ("COMPUTED NOW", "no place")),
    ("headroom", ("NO NODE", "TAKES")),
    ("drill", ("PENDING", "PODS")),
    ("blockers", ("WITHOUT IT", "PDB_MULTIPLE")),
    ("forward", ("two PDBs",)),
    ("next", ("WOULD BE", "blocked (cluster)")),
    ("capacity", ("FREE",)),
    ("explain", ("pods don't fit",)),
])  # fmt: skip
def test_the_help_of_a_command_explains_what_it_prints(command: str, terms: tuple[str, ...]) -> None:
    lines = build_parser(command).format_help().splitlines()
    assert [term for term in terms if not any(line.startswith(f"  {term}  ") for line in lines)] == []


def test_meanings_are_broken_at_the_edge_and_stand_below_terms_that_are_long() -> None:
    sections = (("codes", (Entry("A", "word " * 30), Entry("A_CODE_THAT_IS_AS_LONG_AS_THIS", "short"))),)
    lines = epilog_of("nodes", sections).splitlines()
    start = lines.index("codes:")
    assert lines[start + 1].startswith("  A                     word word")
    assert lines[start + 2].startswith("                        word word")
    at = lines.index("  A_CODE_THAT_IS_AS_LONG_AS_THIS")
    assert lines[at + 1] == "                        short"
    assert all(len(line) < 80 for line in lines[start : at + 2])
