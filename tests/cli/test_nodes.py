from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karptui.cli import loading as module
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.cli.files import a_file
from tests.stories import STORIES


def nodes(run: Run, *words: str, status: int = 0) -> list[dict[str, Any]]:
    """Return the parsed JSON output of `karptui nodes`."""
    rows: list[dict[str, Any]] = json.loads(run("nodes", "-o", "json", *words, status=status).out)
    return rows


def test_json_numbers_have_the_unit_named_by_their_key(tmp_path: Path, run: Run) -> None:
    rows = {row["name"]: row for row in nodes(run, "--snapshot", a_file(tmp_path))}
    assert set(rows) == {"general-abcde", "node-1", "node-2"}
    expected = {
        "node_claim": None,
        "pool": "general",
        "type": "m5.xlarge",
        "cap": "on-demand",
        "zone": "us-east-1a",
        "status": "Ready",
        "cpu_requested_millis": 1500,
        "cpu_daemonset_millis": 500,
        "cpu_allocatable_millis": 4000,
        "mem_requested_bytes": 3 << 30,
        "mem_daemonset_bytes": 1 << 30,
        "mem_allocatable_bytes": 8 << 30,
        "pods_requested": 3,
        "pods_daemonset": 1,
        "pods_allocatable": 20,
        "gpu_requested": 0,
        "gpu_allocatable": 1,
        "arch": "amd64",
        "age_seconds": 3600,
    }
    assert {key: rows["node-1"][key] for key in expected} == expected
    claim = rows["general-abcde"]
    assert (claim["node_claim"], claim["status"], claim["age_seconds"]) == ("general-abcde", "Launching", 60)
    assert claim["cpu_requested_millis"] is None
    assert claim["cpu_allocatable_millis"] is None


def test_rows_are_filtered_and_sorted(tmp_path: Path, run: Run) -> None:
    file = a_file(tmp_path)

    def names(*words: str) -> list[str]:
        return [row["name"] for row in nodes(run, "--snapshot", file, *words)]

    assert names("-l", "team=a") == ["node-1"]
    assert names("--node-selector", "team in (a,b)", "--node-sort", "name=dsc") == ["node-2", "node-1"]
    assert names("--filter", "cpu>30%") == ["node-1"]
    assert names("--filter", "pool=gpu", "-l", "team=a") == []
    assert names("--sort-by", "cpu=dsc")[0] == "node-1"


def test_labels_become_columns(tmp_path: Path, run: Run) -> None:
    rows = nodes(run, "--snapshot", a_file(tmp_path), "--extra-labels", "team, none")
    assert [(row["label:team"], row["label:none"]) for row in rows] == [(None, None), ("a", None), ("b", None)]


def test_unreadable_and_unknown_objects_are_reported_with_exit_status_1(tmp_path: Path, run: Run) -> None:
    broken = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "\x1b[31mred"}, "spec": {"nodeName": 5}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}
    provisioner = {"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner", "metadata": {"name": "x"}}
    error = run("nodes", "--snapshot", a_file(tmp_path, broken, secret, provisioner), status=1).err
    assert "spec.nodeName: must be text, is a number: write it in quotes" in error
    assert "skipped: 1 Provisioner.karpenter.sh: karptui does not know these kinds of Karpenter" in error
    assert "Secret" not in error
    assert "\x1b" not in error


def test_an_unreadable_object_is_reported_once(tmp_path: Path, run: Run) -> None:
    file = written(tmp_path / "nameless.json", '{"apiVersion": "v1", "kind": "Node", "metadata": {}}')
    error = run("nodes", "--snapshot", str(file), "--now", "2026-11-20T12:00:00Z", status=1).err
    told = [line for line in error.splitlines() if "is missing" in line]
    assert told == [f"karptui nodes: {file}: Node (without a name): metadata.name: is missing"]


def story_nodes(run: Run, *args: str) -> list[dict[str, Any]]:
    document: list[dict[str, Any]] = json.loads(run("nodes", "--snapshot", str(STORIES), "-o", "json", *args).out)
    return document


def test_without_simulation_the_outcome_of_unblocking_is_null(run: Run) -> None:
    assert {node["goes_without_blockers"] for node in story_nodes(run, "--no-simulate")} == {None}


def test_large_clusters_are_simulated_only_on_request(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SIMULATED", 0)
    assert "--simulate does it" in run("nodes", "--snapshot", str(STORIES)).err
    assert "--simulate does it" not in run("nodes", "--snapshot", str(STORIES), "--simulate").err


def test_why_codes_are_left_out_if_pods_may_not_be_listed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.session.readiness.unready_because", lambda _: "Pods may not be listed")
    assert "left out: Pods may not be listed" in run("nodes", "--snapshot", str(STORIES)).err
