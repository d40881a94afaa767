"""The Balanced policy refuses without a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted
from karptui.karpenter.nodepool import BALANCED


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodes = context.nodes_of(pool)
        if pool.consolidation_policy == BALANCED and nodes and not pool.is_static:
            yield Finding(
                severity=Severity.INFO,
                objects=(pool_ref(pool),),
                fact=f"{pool.name} ({counted(len(nodes), 'node')}) consolidates by the Balanced policy: a node whose "
                "saving is small against the pods it disturbs is refused, and nothing on the node says so.",
            )


RULE: Final = Rule(
    id="pool-balanced-silent",
    title="Balanced refuses silently",
    what="A NodePool with nodes has consolidationPolicy Balanced.",
    why="Balanced compares the share of the pool's cost that a move saves with the share of its pods that it disturbs, "
    "and approves from a score of 0.5. An approved move gets the event ConsolidationApproved; a refused node gets "
    "nothing, and neither does a node for which the budget has run out.",
    source="pkg/controllers/disruption/balanced.go",
    remedy="Nothing to mend: look at the score in the WHY column of the Nodes screen.",
    find=_find,
)
