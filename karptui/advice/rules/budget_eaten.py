"""Budgets that nodes out of order use up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext, pool_ref
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, joined, listed
from karptui.disruption.budgets import BudgetState, Reason, budget_state
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        use = context.fleet.use.get(pool.name)
        states = [budget_state(pool, reason, use, context.now_ns) for reason in Reason]
        eaten = [one for one in states if _is_eaten(one)]
        if pool.is_static:
            eaten = [one for one in eaten if one.reason is Reason.DRIFTED]
        if not eaten:
            continue
        first = eaten[0]
        rest = [one for one in context.nodes_of(pool) if one.name not in (*first.not_ready, *first.deleting)]
        if not rest:
            continue
        cost = context.cost(rest)
        going = f" and {counted(len(first.deleting), 'node')} on the way out" if first.deleting else ""
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool), *(ObjectRef("Node", name) for name in first.not_ready)),
            fact=f"{pool.name} allows {first.allowed:,} of {counted(first.nodes, 'node')} to be disrupted for "
            f"{joined([one.reason for one in eaten])}, and {counted(len(first.not_ready), 'node')} that "
            f"{'is' if len(first.not_ready) == 1 else 'are'} not Ready ({listed(first.not_ready)}){going} use all of "
            f"it: the other {counted(len(rest), 'node')}{at_cost(cost)} wait, and no event says so.",
            per_hour=cost,
        )


def _is_eaten(state: BudgetState) -> bool:
    """Return whether NodeNotReady makes the difference between something and nothing left."""
    return not state.problem and state.left == 0 and state.allowed > len(state.deleting) and bool(state.not_ready)


RULE: Final = Rule(
    id="budget-eaten",
    title="NotReady nodes eat the budget",
    what="A NodePool's budget allows disruption, and nodes that are not Ready use up all of it.",
    why="What may be disrupted is the budget less the nodes that are being deleted and less those that are not Ready. "
    "Karpenter publishes an event only where the budget itself is 0, so a budget that broken nodes eat is silent.",
    source="BuildDisruptionBudgetMapping in pkg/controllers/disruption/helpers.go",
    remedy="Repair or delete the nodes that are not Ready; the gate NodeRepair does it where the provider supports it.",
    find=_find,
)
