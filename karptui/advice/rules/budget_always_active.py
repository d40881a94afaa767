"""Schedules that never come, and so always apply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.disruption.budgets import BudgetValueError, Window, read_window, scaled
from karptui.disruption.schedule import ScheduleError
from karptui.karpenter.nodepool import DisruptionBudget
from karptui.kube.durations import DurationError


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        for index, budget in enumerate(pool.budgets or ()):
            window = _window(budget)
            if window is None or window.schedule.next_after(context.now_ns - window.duration_ns) is not None:
                continue
            yield Finding(
                severity=Severity.WARNING,
                objects=(pool_ref(pool),),
                fact=f'Budget {index} of {pool.name} ({budget.nodes} nodes) has the schedule "{budget.schedule}", '
                "a date that never comes: Karpenter then takes its window as open at all times.",
            )


def _window(budget: DisruptionBudget) -> Window | None:
    try:
        scaled(budget.nodes, 1)
        return read_window(budget)
    except (ScheduleError, DurationError, BudgetValueError):
        return None


RULE: Final = Rule(
    id="budget-always-active",
    title="a budget date that never comes",
    what="A budget's schedule can be read but has no hit within five years, such as February 30th.",
    why="Karpenter asks for the next hit after now less the duration, and takes the window as open when that is not "
    "after now. The library answers a schedule without hits with the zero time, which is before now at all times.",
    source="IsActive in pkg/apis/v1/nodepool.go",
    remedy="Mend the date; to close a pool for good leave the schedule out.",
    find=_find,
)
