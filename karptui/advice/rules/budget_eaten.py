"""Budgets that nodes out of order use up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, joined, listed, verb
from karptui.disruption.budgets import BudgetState, Reason, budget_state
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.state_node import StateNode
from karptui.whatif.edits import ObjectRef

_LONG_NS: Final = 30 * 60 * NS_PER_SECOND


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodes = context.nodes_of(pool)
        stuck = frozenset(node.name for node in nodes if _has_drained_long(node, context.now_ns))
        use = context.fleet.use.get(pool.name)
        states = [budget_state(pool, reason, use, context.now_ns) for reason in Reason]
        eaten = [one for one in states if _is_eaten(one, stuck)]
        if pool.is_static:
            eaten = [one for one in eaten if one.reason is Reason.DRIFTED]
        if not eaten:
            continue
        first = eaten[0]
        rest = [one for one in nodes if one.name not in (*first.not_ready, *first.deleting)]
        if not rest:
            continue
        cost = context.cost(rest)
        parts = []
        if first.not_ready:
            parts.append(f"{counted(len(first.not_ready), 'node')} not Ready ({listed(first.not_ready)})")
        if first.deleting:
            since = " for more than 30m" if stuck & set(first.deleting) else ""
            parts.append(f"{counted(len(first.deleting), 'node')} on the way out{since} ({listed(first.deleting)})")
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool), *(ObjectRef("Node", name) for name in (*first.not_ready, *first.deleting))),
            fact=f"{pool.name} allows {first.allowed:,} of {counted(first.nodes, 'node')} to be disrupted for "
            f"{joined([one.reason for one in eaten])}, and {joined(parts)} use all of it: the other "
            f"{counted(len(rest), 'node')}{at_cost(cost)} {verb(len(rest), 'waits', 'wait')}, and no event says so.",
            per_hour=cost,
        )


def _has_drained_long(node: StateNode, now_ns: int) -> bool:
    claim = node.claim
    return claim is not None and claim.is_deleting and now_ns - claim.deletion_ns > _LONG_NS


def _is_eaten(state: BudgetState, stuck: frozenset[str]) -> bool:
    """Return whether nodes that are broken or stuck make the difference between something and nothing left."""
    passing = sum(name not in stuck for name in state.deleting)
    return not state.problem and state.left == 0 and state.allowed > passing


RULE: Final = Rule(
    id="budget-eaten",
    title="broken nodes eat the budget",
    what="A NodePool's budget allows disruption, and nodes that are not Ready, or have been draining for more than "
    "half an hour, use up all of it.",
    why="What may be disrupted is the budget less the nodes that are being deleted, for whatever reason, and less "
    "those that are not Ready. A node that a protected pod holds in a drain for a day takes a place for a day. "
    "Karpenter publishes an event only where the budget itself is 0, so a budget that is eaten is silent.",
    source="BuildDisruptionBudgetMapping in pkg/controllers/disruption/helpers.go",
    remedy="Repair or delete the nodes that are not Ready, and settle what the drains wait for; the gate NodeRepair "
    "deletes broken nodes where the provider supports it.",
    find=_find,
)
