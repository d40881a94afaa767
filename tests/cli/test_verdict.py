"""`karptui verdict`: its three output formats and its exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.files import written
from tests.cli.conftest import Run
from tests.incidents.all import INCIDENTS


def test_findings_are_sorted_by_severity_with_cost_and_evidence(run: Run) -> None:
    rows = run.json("verdict", "--demo")
    severities = [row["severity"] for row in rows]
    assert severities[0] == "error"
    assert set(severities[severities.index("info") :]) == {"info"}
    pending = [row["code"] == "PENDING" for row in rows]
    assert all(sum(pending[:count]) <= (count + 1) // 2 for count in (3, 5)), (
        "pending pods fill at most half of the first findings"
    )
    by_code = {row["code"]: row for row in rows}
    assert {"PENDING", "PDB", "DRIFT", "STOPPED", "NEXT"} <= set(by_code)
    assert rows[0]["code"] == "STOPPED"
    assert "cannot launch: Request limit exceeded" in rows[0]["text"]
    assert by_code["PDB"]["pricePerHour"] > 1
    assert by_code["PDB"]["proof"] == {"screen": "blockers", "key": "6"}
    assert rows[-1]["code"] == "NEXT"


def test_text_and_markdown_agree_and_fail_on_sets_the_exit_status(run: Run) -> None:
    rows = run.json("verdict", "--demo")
    text = run("verdict", "--demo", "--fail-on", "error", status=4).out.splitlines()
    table = run("verdict", "--demo", "-o", "markdown", "--fail-on", "warning", status=4).out.splitlines()
    assert len(text) == len(rows) == len(table) - 2
    for row, line, cells in zip(rows, text, table[2:], strict=True):
        assert row["text"] in line
        assert row["text"].replace("|", "\\|") in cells


@pytest.mark.parametrize(("name", "shown", "not_shown"), [
    ("fine-single-karpenter", "not everything is checked: changes of the last 60m", "no leader"),
    ("replacement-never-registers", "for 69m; Karpenter should have given up 54m ago", "no leader"),
    ("karpenter-without-leader", "has no leader", "no blockers or problems"),
])  # fmt: skip
def test_an_old_snapshot_with_a_later_now_has_no_new_faults(
    name: str, shown: str, not_shown: str, tmp_path: Path, run: Run
) -> None:
    path = written(tmp_path / "snapshot.json", INCIDENTS[name].snapshot())
    out = run("verdict", "--snapshot", str(path), "--now", "2026-11-24T10:30:00Z").out
    assert shown in out
    assert not_shown not in out
