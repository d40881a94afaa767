"""`karptui solve`: a change that reaches a goal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karptui.solve.catalogue import GOALS
from karptui.solve.run import _FINDERS, solve_goal
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.shared_analyses import answer_once


@pytest.fixture(autouse=True)
def _cached_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_once(monkeypatch, "karptui.solve.run.solve_goal", solve_goal)


def printed(run: Run, *words: str, status: int = 0) -> str:
    return run("solve", *words, "--demo", status=status).out


FAMILIES = ("families", "--nodepool", "general", "--most", "1", "--tries", "15")


def test_the_answer_comes_first_with_the_runner_up(run: Run) -> None:
    first, *lines = printed(run, *FAMILIES).splitlines()
    assert first.startswith("demo: NodePool general: allow ")
    assert "; runner-up NodePool general: allow " in first
    headings = [line.strip() for line in lines if line.startswith("  ") and line[2] != " "]
    assert headings == ["Change", "Result", "Not chosen", "Search", "Approximated", "Not modelled"]


def test_scenario_manifests_and_commands_hold_the_same_edits(run: Run, tmp_path: Path) -> None:
    words = FAMILIES
    document = json.loads(printed(run, *words, "-o", "json"))
    (change,) = document["answer"]["changes"]
    family = change.rpartition(" ")[2]
    scenario = written(tmp_path / "scenario.yaml", printed(run, *words, "-o", "scenario"))
    assert family in printed(run, *words, "-o", "yaml")
    commands = printed(run, *words, "-o", "patch")
    assert commands.startswith("# Nothing has been applied.")
    assert f'"{family}"' in commands
    simulated = run.json("simulate", "--demo", "--scenario", str(scenario))
    after = document["answer"]["figures"]
    assert simulated["after"]["pricePerHour"] == pytest.approx(after["pricePerHour"])
    assert simulated["after"]["pending"] == after["pending"]


def test_an_unreachable_goal_exits_with_3(run: Run) -> None:
    words = ("weight", "--pods", "trino/*", "--nodepool", "runners", "--tries", "20")
    assert printed(run, *words, status=3).startswith("demo: not reached: with runners as the only NodePool 11 pods")
    assert "# nothing is edited" in printed(run, *words, "-o", "yaml", status=3)


def test_solve_as_markdown(run: Run) -> None:
    lines = printed(run, *FAMILIES, "-o", "markdown").splitlines()
    assert lines[0] == "## of the instance families tried, those to add that make NodePool general cheapest on demo"
    assert any(line.startswith("- NodePool general: allow ") for line in lines)
    assert "    - edit: set" in lines


def test_every_goal_has_a_finder() -> None:
    assert list(GOALS) == list(_FINDERS)
