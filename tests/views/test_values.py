"""Values of a parameter: the recommended one, and the replay or forecast that compares them."""

from __future__ import annotations

import pytest

from karptui.views.values import POINTS, VALUES, policies_study, sweep_answer, values_study
from karptui.whatif.scenario import Replay
from karptui.whatif.sweep import SweepPoint, SweepResult, parse_sweep
from tests.builders import present

CHEAP, DEAR = (
    SweepPoint(value="0.04", place=0, price_per_hour=30.0, pending=3),
    SweepPoint(value="0.05", place=1, price_per_hour=35.42),
)
SAME, DEARER = (
    SweepPoint(value="0.06", place=2, price_per_hour=35.42),
    SweepPoint(value="0.07", place=3, price_per_hour=40.0),
)


def answer(*points: SweepPoint, current: str = "") -> str:
    sweep = parse_sweep("VM_MEMORY_OVERHEAD_PERCENT=" + ",".join(point.value for point in points))
    return sweep_answer(SweepResult(sweep, Replay.PENDING, points), current)


def test_fewest_pending_pods_then_the_lowest_cost_are_recommended() -> None:
    assert answer(CHEAP, DEAR) == (
        "Recommended: 0.05: the fewest pending pods: no pod pending, $35.42/h; 3 pods pending up to 0.04, 0 from 0.05"
    )
    assert answer(DEAR, SAME, DEARER).startswith("Recommended: 0.05 (like 0.06): the lowest cost: no pod pending")
    assert answer(DEAR, SAME, DEARER, current="0.06").startswith("Recommended: keep 0.06 (like 0.05): the lowest cost")
    assert answer(CHEAP, CHEAP) == (
        "Recommended: no change, because all values have the same result: 3 pods pending, $30.00/h"
    )
    drifted = SweepPoint(value="0.08", price_per_hour=35.42, drifted=2)
    assert answer(DEAR, drifted).startswith("Recommended: 0.05: the least drift: ")
    many = tuple(SweepPoint(value=str(at), place=at, pending=at) for at in range(5))
    assert answer(*many).endswith("1 pod pending up to 1, 2 from 2; 2 more changes")
    bad = SweepPoint(value="x", problem="no such field")
    assert answer(bad) == "no value can be set"
    assert answer(CHEAP, bad) == "Only 0.04 can be set: 3 pods pending, $30.00/h"


@pytest.mark.parametrize(("parameter", "is_forecast"), [
    ("NodePool/general:spec.disruption.consolidateAfter", True),
    ("NodePool/general:spec.template.spec.expireAfter", True),
    ("PodDisruptionBudget/web/front:spec.minAvailable", True),
    ("NodePool/general:spec.weight", False),
    ("VM_MEMORY_OVERHEAD_PERCENT", False),
])  # fmt: skip
def test_settings_of_disruption_are_compared_over_time(parameter: str, *, is_forecast: bool) -> None:
    study = values_study(parse_sweep(f"{parameter}=1,2"), Replay.PENDING)
    assert study.table is (VALUES if is_forecast else POINTS)
    assert (study.further is not None) is is_forecast
    other = present(study.values).study("3,4,5")
    assert other.title == study.title
    assert present(other.values).value == "3,4,5"
    assert present(study.values).fault("1,,2")


def test_time_span_and_seeds_change_alone() -> None:
    study = policies_study("general", afters=("5m",))
    assert study.further is not None
    assert study.with_seeds is not None
    assert study.further().title == "Values ─ consolidation policy of general ─ over 24h"
    assert study.with_seeds().title == "Values ─ consolidation policy of general ─ over 6h, 5 seeds"
