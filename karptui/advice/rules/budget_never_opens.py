"""NodePools whose budgets allow nothing for a week."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted, joined, money
from karptui.disruption.budget_calendar import WEEK_NS, allowance
from karptui.disruption.budgets import Reason, budget_state
from karptui.karpenter.nodepool import NodePool


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodes = context.nodes_of(pool)
        if not nodes or not pool.budgets:
            continue
        shut = [reason for reason in Reason if _is_shut(context, pool, reason)]
        if pool.is_static:
            shut = [reason for reason in shut if reason is Reason.DRIFTED]
        if not shut:
            continue
        drifted = sum(1 for node in nodes if node.claim is not None and node.claim.is_true("Drifted"))
        drifted *= Reason.DRIFTED in shut
        waits = f" {counted(drifted, 'drifted node waits', 'drifted nodes wait')}." if drifted else ""
        # A pool may well be closed for one reason on purpose; closed for all of them nothing is left but expiry.
        hurts = bool(drifted) or len(shut) == len(Reason)
        cost = context.cost(nodes)
        yield Finding(
            severity=Severity.WARNING if hurts else Severity.INFO,
            objects=(pool_ref(pool),),
            fact=f"The budgets of {pool.name} allow no disruption for {joined(shut)} at any time in the next 7 days "
            f"({counted(len(nodes), 'node')}{', ' + money(cost) if cost else ''}).{waits}",
            per_hour=cost,
        )


def _is_shut(context: AdviceContext, pool: NodePool, reason: Reason) -> bool:
    use = context.fleet.use.get(pool.name)
    state = budget_state(pool, reason, use, context.now_ns)
    if state.problem or state.nodes == 0 or state.allowed > 0:
        return False
    spans = allowance(pool, reason, use, context.now_ns, context.now_ns + WEEK_NS)
    return all(span.allowed <= 0 for span in spans)


RULE: Final = Rule(
    id="budget-never-opens",
    title="budgets that never open",
    what="For some reason a NodePool with nodes allows no disruption now and at no time within a week.",
    why="Of the budgets that apply at an instant the smallest counts. A 0 without a schedule, or schedules that cover "
    "all hours between them, close the pool for good; drifted nodes then keep old images, and nothing is consolidated. "
    "Expiry and deletion go on all the same.",
    source="GetAllowedDisruptionsByReason in pkg/apis/v1/nodepool.go",
    remedy="Give the closing budget a schedule and duration, or name the reasons it is for; the Budgets screen shows "
    "the week.",
    find=_find,
)
