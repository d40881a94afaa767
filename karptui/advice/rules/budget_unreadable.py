"""Budgets that Karpenter cannot read: the whole pool is closed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted
from karptui.disruption.budgets import read_line


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodes = context.nodes_of(pool)
        for index, budget in enumerate(pool.budgets or ()):
            line = read_line(index, budget, len(nodes), context.now_ns)
            if not line.problem:
                continue
            cost = context.cost(nodes)
            yield Finding(
                severity=Severity.ERROR,
                objects=(pool_ref(pool),),
                fact=f"Budget {index} of {pool.name} cannot be read ({line.problem}): the pool is closed for every "
                f"reason, so none of its {counted(len(nodes), 'node')}{at_cost(cost)} is drifted away or consolidated.",
                per_hour=cost,
            )
            break


RULE: Final = Rule(
    id="budget-unreadable",
    title="a budget that cannot be read",
    what="A disruption budget has a schedule, duration or nodes value that Karpenter cannot parse, or a duration "
    "without a schedule.",
    why="One unreadable budget closes its NodePool for every reason, other budgets notwithstanding. The cron dialect "
    "has five fields in UTC; Sunday is 0 only, and neither a TZ prefix nor a sixth field is understood.",
    source="GetAllowedDisruptionsByReason in pkg/apis/v1/nodepool.go",
    remedy="Mend the line: five fields, days of the week 0 to 6, a duration of hours and minutes.",
    find=_find,
)
