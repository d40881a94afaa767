"""Random fleets, crossed scenarios and fleets with oddities, asked of Karpenter's own code too.

Opt in with KARPTUI_ORACLE=/path/to/the/oracle. KARPTUI_ORACLE_FLEETS says how many fleets (300), KARPTUI_ORACLE_CROSSES
how many crosses (300), KARPTUI_ORACLE_ODDITIES how many fleets with oddities (300), KARPTUI_ORACLE_SEED where they
begin, KARPTUI_ORACLE_VERSION which version the oracle is (1.14.1). Karpenter breaks ties by chance, so it is asked
again where it differs: what it never answers in 25 runs is a difference.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.disruption.fleet_generator import FleetGenerator
from tests.disruption.parity import answer, decisions, events
from tests.provisioning.crossing import cross, stock
from tests.provisioning.oddities import odd

ORACLE = os.environ.get("KARPTUI_ORACLE", "")
VERSION = os.environ.get("KARPTUI_ORACLE_VERSION", "")
SEED = os.environ.get("KARPTUI_ORACLE_SEED", "1")
RUNS = 25

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(not ORACLE, reason="KARPTUI_ORACLE is not set")]


def test_random_fleets_are_decided_as_karpenter_decides_them(tmp_path: Path) -> None:
    names = [f"fleet-{SEED}-{number}" for number in range(int(os.environ.get("KARPTUI_ORACLE_FLEETS", "300")))]
    assert _differing({name: FleetGenerator(name, VERSION).snapshot(name) for name in names}, tmp_path) == []


def test_crossed_scenarios_are_decided_as_karpenter_decides_them(tmp_path: Path) -> None:
    source = stock(newer=VERSION.startswith("1.15"))
    seeds = [f"{SEED}-{number}" for number in range(int(os.environ.get("KARPTUI_ORACLE_CROSSES", "300")))]
    crosses = [cross(seed, source, version=VERSION) for seed in seeds]
    assert _differing({document["name"]: document for document in crosses}, tmp_path) == []


def test_odd_fleets_are_decided_as_karpenter_decides_them(tmp_path: Path) -> None:
    names = [f"{SEED}-{number}" for number in range(int(os.environ.get("KARPTUI_ORACLE_ODDITIES", "300")))]
    fleets = [odd(name, FleetGenerator(name, VERSION).snapshot(name), version=VERSION) for name in names]
    assert _differing({fleet["name"]: fleet for fleet in fleets}, tmp_path) == []


def _differing(snapshots: Mapping[str, Mapping[str, Any]], folder: Path) -> list[str]:
    """Return which snapshots we decide otherwise than Karpenter ever does."""
    files = {}
    for name, snapshot in snapshots.items():
        files[name] = folder / f"{name}.json"
        files[name].write_text(json.dumps(snapshot))
    ours = {name: answer(snapshot) for name, snapshot in snapshots.items()}
    seen: dict[str, list[dict[str, Any]]] = {name: [] for name in files}
    differing = list(files)
    for _ in range(RUNS):
        for name, theirs in _asked([files[name] for name in differing]):
            seen[name].append(theirs)
        differing = [name for name in differing if not _is_right(ours[name], seen[name])]
        if not differing:
            break
    return differing


def _asked(paths: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    for start in range(0, len(paths), 50):
        batch = [str(path) for path in paths[start : start + 50]]
        lines = subprocess.run([ORACLE, *batch], check=True, capture_output=True, text=True).stdout.splitlines()
        for line in lines:
            document = json.loads(line)
            if document.get("error"):
                continue
            yield document["name"], document


def _is_right(ours: dict[str, Any], seen: Sequence[dict[str, Any]]) -> bool:
    """Whether each method's answer, and the events as a whole, are among those seen; a refusal asks nothing."""
    if not seen:
        return True
    by_method = [decisions(document) for document in seen]
    texts = decisions(ours)
    names = texts.keys() | by_method[0].keys()
    return all(any(texts.get(name) == item.get(name) for item in by_method) for name in names) and any(
        events(ours) == events(document) for document in seen
    )
