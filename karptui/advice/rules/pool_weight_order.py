"""Weights that look like a ratio: Karpenter reads them as an order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted
from karptui.karpenter.nodepool import NodePool

_CLOSE: Final = 10
_WHOLE: Final = 100
_LARGEST_RATIO: Final = 4


def _find(context: AdviceContext) -> Iterator[Finding]:
    for first, second in combinations(context.tried_pools, 2):
        looks = _looks_like(first, second)
        shared = context.pods_for_all((first, second)) if looks else 0
        if not shared:
            continue
        ours, theirs = len(context.nodes_of(first)), len(context.nodes_of(second))
        yield Finding(
            severity=Severity.INFO,
            objects=(pool_ref(first), pool_ref(second)),
            fact=f"{first.name} has weight {first.weight} and {second.name} {second.weight}, which {looks}: "
            f"{counted(shared, 'pod')} may go to either, and for each of them every new node comes from {first.name} "
            f"until it can launch none. Now they have {ours:,} and {counted(theirs, 'node')}.",
        )


def _looks_like(first: NodePool, second: NodePool) -> str:
    """Return why somebody may take two weights, the larger first, for shares; empty where nobody would."""
    high, low = first.weight, second.weight
    if low in (high, 0):
        return ""
    if high + low == _WHOLE:
        return "add up to 100 like shares"
    if high - low < _CLOSE:
        return f"differ by only {high - low}"
    return "look like a ratio" if high <= _LARGEST_RATIO * low else ""


RULE: Final = Rule(
    id="pool-weight-order",
    title="weight is an order, not a share",
    what="Two NodePools that can take the same pods have weights that add up to 100, differ by less than 10, or are "
    "within a factor of four.",
    why="Weight is strict priority: for every pod the NodePools are tried from the heaviest down, and the first that "
    "can launch a node takes it. A weight of 51 against 49 sends everything to the first. Weight matters for new nodes "
    "only: existing nodes and claims in flight are tried before any NodePool.",
    source="pkg/controllers/provisioning/provisioner.go and pkg/controllers/provisioning/scheduling/scheduler.go; "
    "OrderByWeight in pkg/utils/nodepool/nodepool.go",
    remedy="For a preferred pool and a fallback keep weights far apart (100 and 1) so that nobody misreads them. For a "
    "proportion spread the pods instead: topologySpreadConstraints over karpenter.sh/capacity-type or over a label of "
    "your own that each pool sets.",
    find=_find,
)
