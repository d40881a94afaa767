from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from karptui.disruption.budget_calendar import (
    AllowanceSpan,
    TimeSpan,
    allowance,
    next_opening,
    open_spans,
    opened_at,
)
from karptui.disruption.budgets import BudgetState, BudgetValueError, PoolUse, Reason, budget_state, read_window, scaled
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.kube.timestamps import DAY_NS
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_nodepool, present


def _pool(*budgets: DisruptionBudget) -> NodePool:
    return a_nodepool(budgets=budgets)


def _state(*budgets: DisruptionBudget, reason: Reason = Reason.DRIFTED, nodes: int = 10, **use: Any) -> BudgetState:
    return budget_state(_pool(*budgets), reason, PoolUse(nodes, **use), NOW_NS)


@pytest.mark.parametrize("value", ["", "ten", "10 %", "1.5", "%", "10%%", "9" * 5000, "9" * 5000 + "%"])
def test_invalid_budget_values_are_errors(value: str) -> None:
    with pytest.raises(BudgetValueError):
        scaled(value, 10)


@pytest.mark.parametrize("budget", [
    DisruptionBudget("ten"), DisruptionBudget("1", "0 0 * * 7", "1h"), DisruptionBudget("1", None, "1h"),
    DisruptionBudget("1", "0 0 * * *", "1d"),
])  # fmt: skip
def test_invalid_budget_closes_the_pool_for_every_reason(budget: DisruptionBudget) -> None:
    line = DisruptionBudget(budget.nodes, budget.schedule, budget.duration, ("Empty",))
    state = _state(DisruptionBudget("100%"), line)
    assert (state.allowed, state.left, state.binding) == (0, 0, None)
    assert state.problem


@pytest.mark.parametrize(("schedule", "duration", "spans"), [
    ("*/30 * * * *", "40m", [TimeSpan(NOW_NS, NOW_NS + DAY_NS)]),
    ("0 0 30 2 *", "1h", [TimeSpan(NOW_NS, NOW_NS + DAY_NS)]),
    ("0 0 29 2 *", "1h", []),
    ("0 13 * * *", "1h", [TimeSpan(NOW_NS + HOUR_NS, NOW_NS + 2 * HOUR_NS)]),
    ("0 13 * * *", None, []),
    ("@every 1h", "2h", [TimeSpan(NOW_NS, NOW_NS + DAY_NS)]),
    ("@every 3h", "2h", []),
])  # fmt: skip
def test_open_spans_of_a_window(schedule: str, duration: str | None, spans: Sequence[TimeSpan]) -> None:
    window = read_window(DisruptionBudget("0", schedule, duration))
    assert list(open_spans(present(window), NOW_NS, NOW_NS + DAY_NS)) == spans


def test_allowance_over_time() -> None:
    pool = _pool(DisruptionBudget("2"), DisruptionBudget("0", "0 9 * * *", "8h"), DisruptionBudget("9", "x", "1h"))
    assert allowance(pool, Reason.EMPTY, PoolUse(10), NOW_NS, NOW_NS + DAY_NS) == [
        AllowanceSpan(NOW_NS, NOW_NS + DAY_NS, 0)
    ]
    pool = _pool(DisruptionBudget("2"), DisruptionBudget("0", "0 9 * * *", "8h"))
    assert allowance(pool, Reason.EMPTY, PoolUse(10), NOW_NS, NOW_NS + DAY_NS) == [
        AllowanceSpan(NOW_NS, NOW_NS + 5 * HOUR_NS, 0),
        AllowanceSpan(NOW_NS + 5 * HOUR_NS, NOW_NS + 21 * HOUR_NS, 2),
        AllowanceSpan(NOW_NS + 21 * HOUR_NS, NOW_NS + DAY_NS, 0),
    ]
    assert next_opening(pool, Reason.EMPTY, PoolUse(10), NOW_NS) == NOW_NS + 5 * HOUR_NS
    assert next_opening(_pool(DisruptionBudget("0")), Reason.EMPTY, PoolUse(10), NOW_NS) is None
    assert next_opening(a_nodepool(budgets=None), Reason.EMPTY, PoolUse(10), NOW_NS) is None


@pytest.mark.parametrize(
    ("schedule", "duration", "opened"),
    [
        ("0 9 * * *", "8h", NOW_NS - 3 * HOUR_NS),
        ("0 13 * * *", "1h", None),
        ("*/30 * * * *", "40m", None),  # open for longer than the search looks back
        ("59 11 * * *", "1h", NOW_NS - MINUTE_NS),
        (None, None, None),
        ("nonsense", "1h", None),
    ],
)
def test_since_when_a_window_is_open(schedule: str | None, duration: str | None, opened: int | None) -> None:
    assert opened_at(DisruptionBudget("0", schedule, duration), NOW_NS) == opened
