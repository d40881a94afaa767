from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from karptui.disruption.budget_calendar import PoolBudgets, pool_budgets
from karptui.disruption.budgets import PoolUse
from karptui.disruption.fleet import Fleet
from karptui.karpenter.nodepool import DisruptionBudget
from karptui.karpenter.settings import DEFAULTS, Settings, parse_settings
from karptui.kube.timestamps import DAY_NS
from tests.builders import NOW_NS, a_nodepool

HOUR_NS = DAY_NS // 24
MIDNIGHT_NS = NOW_NS - NOW_NS % DAY_NS
"""NOW_NS is noon."""
TEN = PoolUse(10, ("a",), ("b", "c"))


def week_of(
    *budgets: DisruptionBudget,
    use: PoolUse | None = TEN,
    now_ns: int = NOW_NS,
    before: PoolBudgets | None = None,
    pool: Any = None,
    settings: Settings = DEFAULTS,
) -> PoolBudgets:
    result = pool or a_nodepool(budgets=budgets or None)
    fleet = SimpleNamespace(use={} if use is None else {result.name: use}, now_ns=now_ns, settings=settings)
    return pool_budgets(cast("Fleet", fleet), result, before)


def test_reasons_with_equal_budgets_share_a_week() -> None:
    budgets = week_of(DisruptionBudget("20%"), DisruptionBudget("0", "0 9 * * *", "8h", ("Drifted",)))
    empty, drifted, under = budgets.weeks
    assert empty is under
    assert [(span.start_ns, span.end_ns, span.allowed) for span in empty] == [
        (MIDNIGHT_NS, MIDNIGHT_NS + 8 * DAY_NS, 2)
    ]
    assert [(span.start_ns - MIDNIGHT_NS) // HOUR_NS for span in drifted][:5] == [0, 9, 17, 33, 41]
    assert [state.left for state in budgets.states] == [0, 0, 0]


@pytest.mark.parametrize(("budget", "hours"), [
    (DisruptionBudget("1"), None),
    (DisruptionBudget("1", "0 9 * * *", "8h"), (9, 17)),
    (DisruptionBudget("1", "0 13 * * *", "1h"), (13, 14)),
    (DisruptionBudget("1", "0 9 * * *", "1h"), (33, 34)),
    (DisruptionBudget("1", "0 20 * * *", "17h"), (-4, 13)),
    (DisruptionBudget("1", "0 0 30 2 *", "1h"), (None, None)),
    (DisruptionBudget("1", "0 0 1 6 *", "1h"), (None, None)),
    (DisruptionBudget("1", "0 0 * * 7", "1h"), None),
])  # fmt: skip
def test_windows(budget: DisruptionBudget, hours: tuple[int | None, int | None] | None) -> None:
    window = week_of(budget).windows[0]
    numbers = tuple(None if at is None else (at - MIDNIGHT_NS) // HOUR_NS for at in (window.start_ns, window.end_ns))
    assert (window.is_windowed, numbers) == (hours is not None, hours or (None, None))


def test_unready_nodes_do_not_consume_the_repair_budget() -> None:
    gate = {"FEATURE_GATES": "NodeRepair=true"}
    budgets = (DisruptionBudget("4"), DisruptionBudget("0", reasons=("Unhealthy",)))
    week = week_of(*budgets, settings=parse_settings(gate, "1.15.0"))
    assert {str(state.reason): state.left for state in week.states}["Unhealthy"] == 0
    assert week_of(DisruptionBudget("4"), settings=parse_settings(gate, "1.15.0")).states[3].left == 3
    for settings in (parse_settings(gate, "1.14.1"), parse_settings({**gate, "LEGACY_NODE_REPAIR": "true"})):
        assert len(week_of(*budgets, settings=settings).states) == 3
    again = week_of(*budgets, before=week, pool=week.pool)
    assert len(again.states) == len(again.weeks) == 3
