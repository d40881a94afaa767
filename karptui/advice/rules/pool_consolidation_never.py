"""NodePools whose nodes are never consolidated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted
from karptui.whatif.edits import SetField


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodes = context.nodes_of(pool)
        if pool.is_static or pool.consolidate_after_ns is not None or not nodes:
            continue
        empty = [node for node in nodes if node.is_initialized and context.fleet.is_empty(node)]
        cost = context.cost(empty)
        of_these = f"; {counted(len(empty), 'of them is', 'of them are')} empty{at_cost(cost)}" if empty else ""
        yield Finding(
            severity=Severity.WARNING if empty else Severity.INFO,
            objects=(pool_ref(pool),),
            fact=f"{pool.name} has consolidateAfter Never: neither empty nor underutilised nodes go, whatever "
            f"consolidationPolicy ({pool.consolidation_policy}) says. It has {counted(len(nodes), 'node')}{of_these}.",
            edits=(SetField(pool_ref(pool), ("spec", "disruption", "consolidateAfter"), "5m"),),
            per_hour=cost,
        )


RULE: Final = Rule(
    id="pool-consolidation-never",
    title="consolidation is switched off",
    what="A NodePool with nodes has consolidateAfter Never.",
    why="consolidateAfter Never keeps the Consolidatable condition from ever being set, and both emptiness and "
    "consolidation ask for it; the policy beside it has no effect. Drift, expiry and deletion go on.",
    source="pkg/controllers/nodeclaim/disruption/consolidation.go",
    remedy="Set consolidateAfter to a duration where nodes should go when they are empty or cheaper elsewhere.",
    find=_find,
)
