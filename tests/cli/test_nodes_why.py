"""`karptui nodes` says why nodes are still here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from karptui.cli import loading as module
from tests.cli.conftest import Run
from tests.stories import STORIES


def nodes(run: Run, *args: str) -> list[dict[str, Any]]:
    document: list[dict[str, Any]] = json.loads(run("nodes", "--snapshot", str(STORIES), "-o", "json", *args).out)
    return document


def test_without_simulation_nothing_is_said_about_what_would_follow(run: Run) -> None:
    assert {node["goes_without_blockers"] for node in nodes(run, "--no-simulate")} == {None}


def test_large_clusters_are_simulated_on_request(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SIMULATED", 0)
    assert "--simulate does it" in run("nodes", "--snapshot", str(STORIES)).err
    assert "--simulate does it" not in run("nodes", "--snapshot", str(STORIES), "--simulate").err


def test_without_pods_the_codes_are_left_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.session.readiness.unready_because", lambda _: "Pods may not be listed")
    assert "left out: Pods may not be listed" in run("nodes", "--snapshot", str(STORIES)).err
