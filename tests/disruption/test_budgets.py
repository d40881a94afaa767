"""Budgets: what is allowed, what is used up, and when that changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from karptui.disruption.budget_calendar import (
    DAY_NS,
    WEEK_NS,
    AllowanceSpan,
    TimeSpan,
    allowance,
    next_opening,
    open_spans,
    opened_at,
)
from karptui.disruption.budgets import (
    UNLIMITED,
    BudgetState,
    BudgetValueError,
    PoolUse,
    Reason,
    budget_state,
    count_use,
    read_window,
    reasons_of,
    scaled,
)
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.karpenter.settings import DEFAULTS
from karptui.kube.timestamps import parse_timestamp
from karptui.provisioning import StateNode
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_condition, a_node, a_nodeclaim, a_nodepool, present
from tests.disruption.making import a_claim


def _pool(*budgets: DisruptionBudget) -> NodePool:
    return a_nodepool(budgets=budgets)


def _state(*budgets: DisruptionBudget, reason: Reason = Reason.DRIFTED, nodes: int = 10, **use: Any) -> BudgetState:
    return budget_state(_pool(*budgets), reason, PoolUse(nodes, **use), NOW_NS)


@pytest.mark.parametrize(
    ("value", "nodes", "allowed"),
    [
        ("10%", 0, 0), ("10%", 1, 1), ("10%", 10, 1), ("10%", 11, 2), ("0%", 50, 0), ("100%", 7, 7), ("33%", 10, 4),
        ("0", 10, 0), ("5", 2, 5), ("+3", 2, 3), ("-1", 2, -1), ("0" * 5000 + "3", 2, 3),
    ],
)  # fmt: skip
def test_percentages_are_rounded_up(value: str, nodes: int, allowed: int) -> None:
    assert scaled(value, nodes) == allowed


@pytest.mark.parametrize("value", ["", "ten", "10 %", "1.5", "%", "10%%", "9" * 5000, "9" * 5000 + "%"])
def test_values_that_are_no_number(value: str) -> None:
    with pytest.raises(BudgetValueError):
        scaled(value, 10)


def test_no_budget_is_no_limit() -> None:
    state = budget_state(a_nodepool(budgets=None), Reason.EMPTY, None, NOW_NS)
    assert (state.allowed, state.binding, state.left, state.is_announced) == (UNLIMITED, None, UNLIMITED, False)


def test_the_least_line_that_covers_the_reason_binds() -> None:
    lines = (
        DisruptionBudget("50%"),
        DisruptionBudget("2", reasons=("Drifted",)),
        DisruptionBudget("0", reasons=("Empty",)),
        DisruptionBudget("0", reasons=()),
    )
    states = [_state(*lines, reason=reason) for reason in reasons_of(DEFAULTS)]
    assert {state.reason: (state.allowed, present(state.binding).index) for state in states} == {
        Reason.EMPTY: (0, 2),
        Reason.DRIFTED: (2, 1),
        Reason.UNDERUTILIZED: (5, 0),
    }


def test_nodes_on_their_way_out_and_not_ready_use_it_up_whatever_the_reason() -> None:
    state = _state(DisruptionBudget("3"), deleting=("a",), not_ready=("b", "c"))
    assert (state.consuming, state.left, state.is_announced) == (3, 0, False)
    assert _state(DisruptionBudget("1"), deleting=("a", "b")).left == 0


def test_event_only_if_a_budget_allows_no_node_of_some() -> None:
    assert _state(DisruptionBudget("0")).is_announced
    assert not _state(DisruptionBudget("0"), nodes=0).is_announced


@pytest.mark.parametrize(
    "budget",
    [
        DisruptionBudget("ten"),
        DisruptionBudget("1", "0 0 * * 7", "1h"),
        DisruptionBudget("1", None, "1h"),
        DisruptionBudget("1", "0 0 * * *", "1d"),
    ],
)
def test_invalid_budget_closes_the_pool_for_every_reason(budget: DisruptionBudget) -> None:
    line = DisruptionBudget(budget.nodes, budget.schedule, budget.duration, ("Empty",))
    state = _state(DisruptionBudget("100%"), line)
    assert (state.allowed, state.left, state.binding) == (0, 0, None)
    assert state.problem


@pytest.mark.parametrize(
    ("schedule", "duration", "is_open"),
    [
        ("0 9 * * *", "8h", True),
        ("0 12 * * *", "1m", True),  # the hit is now
        ("0 11 * * *", "1h", False),  # the end is excluded
        ("0 11 * * *", "61m", True),
        ("0 12 * * *", None, False),  # a schedule without duration never applies
        ("0 0 30 2 *", "1h", True),  # a date that never comes: open for ever
        ("0 0 29 2 *", "1h", False),
        ("@every 1h", "2h", True),
        ("@every 3h", "2h", False),
    ],
)
def test_windows(schedule: str, duration: str | None, is_open: bool) -> None:
    window = read_window(DisruptionBudget("0", schedule, duration))
    assert present(window).is_open(NOW_NS) is is_open
    assert (_state(DisruptionBudget("0", schedule, duration)).allowed == 0) is is_open


def test_only_initialised_nodes_with_instances_count() -> None:
    def node(name: str, *, claim: NodeClaim | None = None, **fields: Any) -> StateNode:
        return StateNode(f"aws:///us-east-1a/{name}", a_node(name=name, **fields), claim or a_claim(name))

    nodes = [
        node("a"),
        node("b", is_ready=False),
        node("c", claim=a_claim("c", deletion_ns=NOW_NS)),
        node("d", claim=a_claim("d", deletion_ns=NOW_NS), is_ready=False),
        node("e", is_initialized=False),
        node("f", claim=a_claim("f", conditions=(a_condition("InstanceTerminating"),))),
        StateNode("g", a_node(name="g"), None),
        StateNode("h", None, a_nodeclaim(name="h", stage="Launched")),
        node("i", conditions=()),
    ]
    use = count_use(nodes, frozenset({"a"}))["general"]
    assert use == PoolUse(5, ("a", "c", "d"), ("b", "i"))


def test_spans_of_a_daily_window() -> None:
    window = read_window(DisruptionBudget("0", "0 9 * * *", "8h"))
    nine = parse_timestamp("2026-11-20T09:00:00Z")
    assert list(open_spans(present(window), NOW_NS, NOW_NS + 2 * DAY_NS)) == [
        TimeSpan(NOW_NS, nine + 8 * HOUR_NS),
        TimeSpan(nine + DAY_NS, nine + DAY_NS + 8 * HOUR_NS),
        TimeSpan(nine + 2 * DAY_NS, NOW_NS + 2 * DAY_NS),
    ]


@pytest.mark.parametrize(
    ("schedule", "duration", "spans"),
    [
        ("*/30 * * * *", "40m", [TimeSpan(NOW_NS, NOW_NS + DAY_NS)]),
        ("0 0 30 2 *", "1h", [TimeSpan(NOW_NS, NOW_NS + DAY_NS)]),
        ("0 0 29 2 *", "1h", []),
        ("0 13 * * *", "1h", [TimeSpan(NOW_NS + HOUR_NS, NOW_NS + 2 * HOUR_NS)]),
        ("0 13 * * *", None, []),
        ("@every 1h", "2h", [TimeSpan(NOW_NS, NOW_NS + DAY_NS)]),
        ("@every 3h", "2h", []),
    ],
)
def test_spans(schedule: str, duration: str | None, spans: Sequence[TimeSpan]) -> None:
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
        ("*/30 * * * *", "40m", None),  # open for longer than is looked back
        ("59 11 * * *", "1h", NOW_NS - MINUTE_NS),
        (None, None, None),
        ("nonsense", "1h", None),
    ],
)
def test_since_when_a_window_is_open(schedule: str | None, duration: str | None, opened: int | None) -> None:
    assert opened_at(DisruptionBudget("0", schedule, duration), NOW_NS) == opened


def test_a_week_is_seven_days() -> None:
    assert WEEK_NS == 7 * DAY_NS
