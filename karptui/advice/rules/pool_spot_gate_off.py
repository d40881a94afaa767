"""Spot nodes that are never replaced by cheaper spot nodes, because the gate is off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, listed
from karptui.disruption.consolidation import SPOT_TO_SPOT_GATE
from karptui.karpenter.labels import CAPACITY_TYPE, SPOT
from karptui.karpenter.nodepool import WHEN_EMPTY
from karptui.whatif.edits import SetSetting


def _find(context: AdviceContext) -> Iterator[Finding]:
    if context.settings.gate(SPOT_TO_SPOT_GATE):
        return
    found = [
        (pool, nodes)
        for pool in context.pools
        if not pool.is_static
        and pool.consolidation_policy != WHEN_EMPTY
        and pool.consolidate_after_ns is not None
        and (nodes := [one for one in context.nodes_of(pool) if one.labels.get(CAPACITY_TYPE) == SPOT])
    ]
    if not found:
        return
    pools = [pool for pool, _ in found]
    nodes = [node for _, own in found for node in own]
    cost = context.cost(nodes)
    yield Finding(
        severity=Severity.INFO,
        objects=tuple(map(pool_ref, pools)),
        fact=f"{counted(len(nodes), 'spot node')}{at_cost(cost)} of {listed(pool.name for pool in pools)} can be "
        f"deleted by consolidation but never replaced by cheaper ones: {SPOT_TO_SPOT_GATE} is off"
        f"{context.doubt('FEATURE_GATES')}.",
        edits=(SetSetting(f"FEATURE_GATES.{SPOT_TO_SPOT_GATE}", "true"),),
        per_hour=cost,
    )


RULE: Final = Rule(
    id="pool-spot-gate-off",
    title="spot-to-spot consolidation is off",
    what="A NodePool that consolidates underutilised nodes has spot nodes, and the gate SpotToSpotConsolidation is "
    "off.",
    why="Replacing spot by spot is behind a feature gate that is off by default. Without it a large spot node with "
    "little on it goes only when its pods fit elsewhere.",
    source="computeSpotToSpotConsolidation in pkg/controllers/disruption/consolidation.go",
    remedy="Set FEATURE_GATES=SpotToSpotConsolidation=true on the controller, with pools that allow at least 15 "
    "cheaper types; or leave it off on purpose where interruptions cost more.",
    find=_find,
)
