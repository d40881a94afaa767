"""Schedules without a duration never apply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.disruption.budgets import read_line


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        for index, budget in enumerate(pool.budgets or ()):
            if budget.schedule is None or budget.duration not in (None, "0s", "0"):
                continue
            if read_line(index, budget, 1, context.now_ns).problem:
                continue
            yield Finding(
                severity=Severity.WARNING,
                objects=(pool_ref(pool),),
                fact=f'Budget {index} of {pool.name} ({budget.nodes} nodes) has the schedule "{budget.schedule}" and '
                "no duration: its window has no length, so it never applies.",
            )


RULE: Final = Rule(
    id="budget-without-duration",
    title="a budget without duration",
    what="A disruption budget has a schedule and no duration.",
    why="The window of a budget lasts for its duration from each hit of the schedule; without a duration it has no "
    "length. The API server asks for both, but objects that were stored before keep what they have.",
    source="IsActive in pkg/apis/v1/nodepool.go",
    remedy="Add the duration that the window should last.",
    find=_find,
)
