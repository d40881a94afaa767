"""Spot pools with too few types for spot-to-spot consolidation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted
from karptui.disruption.consolidation import SPOT_TO_SPOT_GATE, SPOT_TO_SPOT_TYPES
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, SPOT
from karptui.karpenter.nodepool import WHEN_EMPTY


def _find(context: AdviceContext) -> Iterator[Finding]:
    if not context.settings.gate(SPOT_TO_SPOT_GATE):
        return
    for pool in context.pools:
        if pool.is_static or pool.consolidation_policy == WHEN_EMPTY or pool.consolidate_after_ns is None:
            continue
        nodes = [node for node in context.nodes_of(pool) if node.labels.get(CAPACITY_TYPE) == SPOT]
        offered = frozenset(context.offered_types(pool))
        types, running = len(offered), {node.labels.get(INSTANCE_TYPE, "") for node in nodes}
        # A type is never cheaper than itself.
        if nodes and types - (running <= offered) < SPOT_TO_SPOT_TYPES:
            cost = context.cost(nodes)
            yield Finding(
                severity=Severity.WARNING,
                objects=(pool_ref(pool),),
                fact=f"{pool.name} allows {counted(types, 'available type')}; a spot node is replaced by another only "
                f"with {SPOT_TO_SPOT_TYPES} cheaper ones to choose from, so its {counted(len(nodes), 'spot node')}"
                f"{at_cost(cost)} can be deleted but never be replaced.",
                per_hour=cost,
            )


RULE: Final = Rule(
    id="pool-spot-inflexible",
    title="too few types for spot-to-spot",
    what="SpotToSpotConsolidation is on, and a NodePool with spot nodes allows 15 types or fewer.",
    why="A single spot node is replaced by another only if at least 15 cheaper types remain, so that the replacement "
    "does not land in the one pool that is about to be interrupted. A pool with 15 types or fewer never has 15 cheaper "
    "than the one that runs.",
    source="MinInstanceTypesForSpotToSpotConsolidation in pkg/controllers/disruption/consolidation.go",
    remedy="Allow more families, sizes or generations.",
    find=_find,
)
