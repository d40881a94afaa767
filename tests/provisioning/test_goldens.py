"""Karpenter's own answers: one rule each, and seeded clusters of every kind."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from karptui.provisioning.solution import solve
from tests.provisioning.differential import decision, words
from tests.provisioning.loading import load

GOLDENS = Path(__file__).resolve().parent.parent / "goldens"
FAMILIES = sorted(path.name.removesuffix(".jsonl.gz") for path in (GOLDENS / "karpenter-1.14.1").glob("*.jsonl.gz"))


def scenarios(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as lines:
        yield from map(json.loads, lines)


@cache
def catalog(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def differs(scenario: dict[str, Any], folder: Path) -> str:
    """Return how our answer differs from every one that Karpenter gave, empty if it is one of them."""
    snapshot = scenario["snapshot"]
    types = catalog(folder / f"{snapshot['catalog']}.gz") if "catalog" in snapshot else []
    ours = solve(load(snapshot, types)).as_json()
    theirs = [one["provisioning"] for one in (scenario["expected"], *scenario.get("alternatives", ()))]
    same = [one for one in theirs if decision(one) == decision(ours)]
    if not same:
        return "decision"
    return "" if any(words(one) == words(ours) for one in same) else "words"


RULES = [
    pytest.param(scenario, id=f"{scenario['snapshot']['name']}: {scenario['rule'][:80]}")
    for path in (
        GOLDENS / "rules" / "rules-provisioning.jsonl.gz",
        GOLDENS / "rules" / "rules-provisioning-pv.jsonl.gz",
        *sorted((GOLDENS / "k115").glob("*.jsonl.gz")),
    )
    for scenario in scenarios(path)
]


@pytest.mark.parametrize("scenario", RULES)
def test_rule(scenario: dict[str, Any]) -> None:
    assert differs(scenario, GOLDENS / "rules") == "", scenario["rule"]


def differing(path: Path) -> dict[str, str]:
    return {
        scenario["snapshot"]["name"]: difference
        for scenario in scenarios(path)
        if (difference := differs(scenario, path.parent))
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    assert differing(GOLDENS / "karpenter-1.14.1" / f"{family}.jsonl.gz") == {}


def test_scenarios_of_every_kind() -> None:
    """Snapshots of `tests.provisioning.scenarios` whose answer chance has no part in."""
    assert differing(GOLDENS / "kinds.jsonl.gz") == {}
