"""Compare forecasts of fleets with real clusters that start the same.

Runs if KARPTUI_REAL has the seeds of the fleets, such as 1-10; each takes about ten minutes. KARPTUI_REAL_AT_ONCE is
the number of concurrent clusters (2), KARPTUI_REAL_FOLDER the folder of the recordings. The first run needs Go.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from .fleets import make_fleet
from .play_beside import compare, numbers, record, recorded, row
from .servers.build import cache_folder
from .servers.build import main as build

SEEDS = os.environ.get("KARPTUI_REAL", "")


@pytest.mark.skipif(not SEEDS, reason="KARPTUI_REAL names no seeds of fleets")
def test_final_states_of_fleets_are_predicted(tmp_path: Path) -> None:
    folder = Path(os.environ.get("KARPTUI_REAL_FOLDER") or tmp_path)
    assert build([]) == 0
    at_once = os.environ.get("KARPTUI_REAL_AT_ONCE", "2")
    assert record(cache_folder(), folder, numbers(SEEDS), at_once=int(at_once)) == ""
    figures = [compare(folder, seed) for seed in sorted(recorded(folder))]
    sys.stdout.write("".join(f"{row(item)}\n" for item in figures))
    assert {item.seed for item in figures} >= set(numbers(SEEDS))
    assert [item.seed for item in figures if not item.is_kept_alike] == [], "the same nodes must have the same blockers"
    dearer = [item.seed for item in figures if abs(item.prices[0] - item.prices[1]) > 0.05 * item.prices[1]]
    assert dearer == [], "the final price must be within 5 %"
    parted = [item.seed for item in figures if not item.is_foretold]
    assert len(parted) * 10 <= len(figures) * 2, f"first commands not predicted in order: fleets {parted}"


def test_a_seed_makes_the_same_fleet_again() -> None:
    fleet = make_fleet(7, 40)
    assert fleet == make_fleet(7, 40)
    assert fleet != make_fleet(8, 40)
    assert {app.pool.name for app in fleet.apps} == {pool.name for pool in fleet.pools}
    assert sum(app.left for app in fleet.apps) < sum(app.replicas for app in fleet.apps)
