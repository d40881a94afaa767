from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.files import a_file


def pods(run: Run, *words: str) -> list[dict[str, Any]]:
    """Return the parsed JSON output of `karptui pods`."""
    rows: list[dict[str, Any]] = json.loads(run("pods", "-o", "json", *words).out)
    return rows


def test_json(tmp_path: Path, run: Run) -> None:
    rows = {row["name"]: row for row in pods(run, "--snapshot", a_file(tmp_path))}
    assert set(rows) == {"api-1", "api-2", "agent-1", "job-1"}
    expected = {
        "namespace": "web",
        "status": "Running",
        "cpu_millis": 500,
        "mem_bytes": 1 << 30,
        "gpu": 0,
        "node": "node-1",
        "pool": "general",
        "owner": "rs/x",
        "protection": None,
        "priority": 0,
        "age_seconds": 3600,
    }
    assert {key: rows["api-1"][key] for key in expected} == expected
    assert (rows["job-1"]["node"], rows["job-1"]["status"]) == (None, "Pending")
    assert rows["agent-1"]["protection"] == "DaemonSet"


@pytest.mark.parametrize(("words", "names"), [
    (["-n", "kube-system"], ["agent-1"]),
    (["-n", "kube-system", "-A"], ["agent-1", "api-1", "api-2", "job-1"]),
    (["-l", "app=api"], ["api-1", "api-2"]),
    (["--node-selector", "team=a", "--sort-by", "name=dsc"], ["api-2", "api-1", "agent-1"]),
    (["--node-selector", "team=b"], []),
    (["--filter", "status=Pending"], ["job-1"]),
])  # fmt: skip
def test_rows_are_chosen(tmp_path: Path, words: list[str], names: list[str], run: Run) -> None:
    assert [row["name"] for row in pods(run, "--snapshot", a_file(tmp_path), *words)] == names
