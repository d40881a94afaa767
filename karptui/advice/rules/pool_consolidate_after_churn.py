"""consolidateAfter longer than the time between two pod events."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median_low
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, share, span
from karptui.karpenter.nodepool import NodePool
from karptui.provisioning.state_node import StateNode
from karptui.whatif.edits import SetField

_FEWEST_NODES: Final = 3
_OLD: Final = 3
"""A node counts once it is this many times as old as consolidateAfter: it has had time to be quiet."""


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        if pool.is_static or not pool.consolidate_after_ns:
            continue
        old = [node for node in context.nodes_of(pool) if _is_old(node, pool, context.now_ns)]
        kept = [node for node in old if _quiet_ns(node, context.now_ns) < pool.consolidate_after_ns]
        if len(kept) < _FEWEST_NODES or 2 * len(kept) < len(old):
            continue
        cost, after = context.cost(kept), span(pool.consolidate_after_ns)
        quiet = span(median_low(_quiet_ns(node, context.now_ns) for node in kept))
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool),),
            fact=f"{pool.name} waits {after} without a pod coming or going before a node may be consolidated, and "
            f"{share(len(kept), len(old))} nodes older than {span(_OLD * pool.consolidate_after_ns)}{at_cost(cost)} "
            f"saw one within that time, half of them no longer than {quiet} ago: their clocks keep starting anew.",
            edits=(SetField(pool_ref(pool), ("spec", "disruption", "consolidateAfter"), "0s"),),
            per_hour=cost,
        )


def _is_old(node: StateNode, pool: NodePool, now_ns: int) -> bool:
    initialized = node.claim.condition("Initialized") if node.claim is not None else None
    if initialized is None or initialized.status != "True" or node.is_marked_for_deletion:
        return False
    return now_ns - initialized.last_transition_ns > _OLD * (pool.consolidate_after_ns or 0)


def _quiet_ns(node: StateNode, now_ns: int) -> int:
    """Return how long no pod has come or gone; without such an event for ever."""
    last_ns = node.claim.last_pod_event_ns if node.claim is not None else 0
    return now_ns - last_ns


RULE: Final = Rule(
    id="pool-consolidate-after-churn",
    title="pods outpace consolidateAfter",
    what="At least three nodes, and half of those three times as old as consolidateAfter, saw a pod come or go within "
    "consolidateAfter.",
    why="Every pod that is bound to a node or leaves it starts consolidateAfter anew, CronJobs' and batch pods too. A "
    "pool whose pods come and go more often than that is never consolidated, however empty its nodes are.",
    source="pkg/controllers/nodeclaim/podevents and pkg/controllers/nodeclaim/disruption/consolidation.go",
    remedy="Shorten consolidateAfter; with 0s pods do not start a clock at all. Or give short-lived pods a pool of "
    "their own.",
    find=_find,
)
