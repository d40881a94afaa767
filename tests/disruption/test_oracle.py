"""Comparison with Karpenter's own code on random fleets, crossed scenarios and fleets with oddities.

Opt in with KARPTUI_ORACLE=/path/to/the/oracle. Further settings:

    KARPTUI_ORACLE_FLEETS     number of fleets (300)
    KARPTUI_ORACLE_CROSSES    number of crosses (300)
    KARPTUI_ORACLE_ODDITIES   number of fleets with oddities (300)
    KARPTUI_ORACLE_SEED       first seed
    KARPTUI_ORACLE_VERSION    version of the oracle (1.14.1)

Karpenter breaks ties at random, so it runs again if its answer differs. Our answer is wrong if none of 25 runs gives
it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.builders.files import written
from tests.disruption.fleet_generator import FleetGenerator
from tests.disruption.parity import answer, decisions, events, never_given
from tests.provisioning.crossing import cross, stock
from tests.provisioning.oddities import odd

ORACLE = os.environ.get("KARPTUI_ORACLE", "")
VERSION = os.environ.get("KARPTUI_ORACLE_VERSION", "")
SEED = os.environ.get("KARPTUI_ORACLE_SEED", "1")
RUNS = 25

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(not ORACLE, reason="KARPTUI_ORACLE is not set")]


@pytest.mark.parametrize("kind", ["fleets", "crosses", "oddities"])
def test_decisions_for_seeded_snapshots_match_karpenter(kind: str, tmp_path: Path) -> None:
    source = stock(newer=VERSION.startswith("1.15")) if kind == "crosses" else None
    ours = {}
    for number in range(int(os.environ.get(f"KARPTUI_ORACLE_{kind.upper()}", "300"))):
        seed = f"{SEED}-{number}"
        name = f"fleet-{seed}" if kind == "fleets" else seed
        snapshot = cross(seed, source, version=VERSION) if source else FleetGenerator(name, VERSION).snapshot(name)
        if kind == "oddities":
            snapshot = odd(seed, snapshot, version=VERSION)
        ours[snapshot["name"]] = answer(snapshot)
        written(tmp_path / f"{snapshot['name']}.json", snapshot)
    assert never_given(ORACLE, ours, tmp_path, _is_right, runs=RUNS) == []


def _is_right(ours: Mapping[str, Any], seen: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether each method's answer, and all events together, equal those of some Karpenter run."""
    by_method = [decisions(document) for document in seen]
    texts = decisions(ours)
    names = texts.keys() | by_method[0].keys()
    return all(any(texts.get(name) == item.get(name) for item in by_method) for name in names) and any(
        events(ours) == events(document) for document in seen
    )
