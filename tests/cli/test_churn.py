"""`karptui churn` over the demo cluster, and over a snapshot with a node churn loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from karptui.kube.timestamps import format_timestamp
from tests.builders import MINUTE_NS, NOW, NOW_NS
from tests.builders.files import written
from tests.builders.manifests import a_pool_manifest, an_event_manifest
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def ago(minutes: int) -> str:
    return format_timestamp(NOW_NS - minutes * MINUTE_NS)


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """Return a snapshot whose events show three nodes that each lived only 15 minutes."""
    items = [a_pool_manifest() | {"metadata": {"name": "general", "labels": {"team": "web"}}}]
    for number, minutes in enumerate((60, 40, 20)):
        claim = f"general-{'abc'[number] * 5}"
        for reason, verb, at in (("Launching", "Launching", minutes), ("Terminating", "Disrupting", minutes - 15)):
            items.append(an_event_manifest(claim, f"Disruption{reason}", f"{verb} NodeClaim: Underutilized", ago(at)))
    return str(written(tmp_path / "circles.json", {"kind": "List", "apiVersion": "v1", "items": items}))


def test_a_churn_loop_as_json(run: Run, snapshot: str) -> None:
    document = run.json("churn", "--snapshot", snapshot, "--now", NOW)
    assert document["window"]["events_since"] == ago(60)
    assert document["window"]["observed_since"] is None
    (pool,) = document["pools"]
    assert (pool["created"], pool["removed"], pool["removed_per_hour"]) == (3, 3, 3.0)
    assert (pool["reasons"], pool["median_life_seconds"]) == ({"Underutilized": 3}, 900)
    (loop,) = document["loops"]
    assert (loop["kind"], loop["times"], loop["nodeclaims"][0]) == ("short-lived", 3, "general-ccccc")
    assert "3 nodes of general" in loop["fact"]
    assert sum(document["chart"]["removed"]) == 3


def test_nodeclaims_and_pools_as_csv(run: Run, snapshot: str) -> None:
    rows = run.csv("churn", "--snapshot", snapshot, "--now", NOW, "--pool", "general", "--filter", "lived<20m")
    assert [row["nodeclaim"] for row in rows] == ["general-ccccc", "general-bbbbb", "general-aaaaa"]
    assert {row["by_events"] for row in rows} == {"True"}
    (row,) = run.csv("churn", "--snapshot", snapshot, "--now", NOW, "-l", "team=web")
    assert (row["reasons"], row["loops"]) == ("Underutilized=3", "short-lived")
    assert "none of 1 NodePools match" in run("churn", "--snapshot", snapshot, "--now", NOW, "-l", "team=db").err


def test_replacements_as_a_table_and_json(run: Run, snapshot: str) -> None:
    out = run("churn", "--snapshot", snapshot, "--now", NOW, "--replacements").out
    assert "⟳ Karpenter removed 3 nodes of general" in out
    assert "Underutilized    15m" in out
    assert len(run.json("churn", "--snapshot", snapshot, "--now", NOW, "--replacements")["replacements"]) == 3
