"""`karptui forward`: forecasts of clusters, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.files import written
from tests.cli.conftest import Run

SCENARIO = 'name: less overhead\nedits:\n- {edit: setting, name: VM_MEMORY_OVERHEAD_PERCENT, value: "0.04"}\n'


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    return str(written(tmp_path / "scenario.yaml", SCENARIO))


def documents(run: Run, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("forward", *words, "-o", "json").out.splitlines()]


def test_json_has_one_line_with_or_without_a_scenario(run: Run, story: str, scenario: str) -> None:
    (as_it_is,) = documents(run, story, "--instant")
    (edited,) = documents(run, story, "--instant", "--scenario", scenario)
    assert "scenario" not in as_it_is
    assert edited["scenario"] == "less overhead"
    assert as_it_is["end"] != edited["end"], "the pod fits the smaller type with less overhead"


def test_now_sets_the_start_of_the_forecast(run: Run, story: str) -> None:
    (document,) = documents(run, story, "--instant", "--now", "2026-11-20T12:00:00Z")
    assert document["from"] == "2026-11-20T12:00:00Z"


def test_text_shows_the_unedited_cluster_as_well_as_the_scenario(run: Run, story: str, scenario: str) -> None:
    out = run("forward", story, "--scenario", scenario).out
    heads = [line for line in out.splitlines() if line and not line.startswith(" ")]
    assert [head.partition(": ")[2].startswith("less overhead") for head in heads] == [False, True]


def test_several_seeds_show_the_spread_of_results(run: Run, story: str) -> None:
    (document,) = documents(run, story, "--seed", "3")
    (three,) = documents(run, story, "--seed", "3", "--seeds", "3")
    spread = three.pop("spread")
    assert "spread" not in document
    assert three == document, "apart from the spread, the answer is the first seed's"
    assert spread["seeds"] == 3
    assert spread["nodes"]["least"] <= document["end"]["nodes"] <= spread["nodes"]["greatest"]
    assert "  chance  3 seeds: " in run("forward", story, "--seeds", "3").out
