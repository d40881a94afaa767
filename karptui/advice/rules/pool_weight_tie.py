"""NodePools of equal weight: the name decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed
from karptui.karpenter.nodepool import NodePool
from karptui.whatif.edits import SetField


def _find(context: AdviceContext) -> Iterator[Finding]:
    by_weight: dict[int, list[NodePool]] = {}
    for pool in context.tried_pools:
        by_weight.setdefault(pool.weight, []).append(pool)
    for weight, pools in by_weight.items():
        rivals = [(pool, shared) for pool in pools[1:] if (shared := context.pods_for_all((pools[0], pool)))]
        if not rivals:
            continue
        first, others = pools[0], [pool for pool, _ in rivals]
        nodes = ", ".join(f"{pool.name} {len(context.nodes_of(pool)):,}" for pool in (first, *others[:2]))
        said = f"weight {weight}" if weight else "no weight"
        yield Finding(
            severity=Severity.INFO,
            objects=tuple(map(pool_ref, (first, *others))),
            fact=f"{listed(pool.name for pool in (first, *others))} have {said} alike, and up to "
            f"{counted(max(count for _, count in rivals), 'pod')} may go to either: {first.name} is always tried "
            f"first, because its name sorts last. Nodes now: {nodes}.",
            edits=(SetField(pool_ref(first), ("spec", "weight"), weight + 1),) if weight < _HEAVIEST else (),
        )


_HEAVIEST: Final = 100

RULE: Final = Rule(
    id="pool-weight-tie",
    title="equal weights: the name decides",
    what="Two or more NodePools of the same weight, or without one, can take the same pods.",
    why="Among equal weights the NodePool whose name sorts last is tried first, every time: twin pools do not share "
    "the load, one of them gets all of it, and a new pool can take over by its name alone.",
    source="OrderByWeight in pkg/utils/nodepool/nodepool.go",
    remedy="Give each of them a weight of its own, so that the order is the one you mean.",
    find=_find,
)
