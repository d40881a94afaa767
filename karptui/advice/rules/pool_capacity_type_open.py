"""NodePools that leave the capacity type open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, share
from karptui.karpenter.labels import CAPACITY_TYPE, SPOT
from karptui.karpenter.nodepool import WHEN_EMPTY
from karptui.whatif.edits import SetField


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        if pool.is_static or CAPACITY_TYPE in context.requirements_of(pool):
            continue
        nodes = context.nodes_of(pool)
        spot = [node for node in nodes if node.labels.get(CAPACITY_TYPE) == SPOT]
        sells = context.capacity_types_of(pool)
        no_spot = bool(sells) and SPOT not in sells
        consequence = (
            "every replacement fails to launch, and the savings shown are too high"
            if no_spot
            else "the launch does not fall back to on-demand"
        )
        consolidates = pool.consolidation_policy != WHEN_EMPTY and pool.consolidate_after_ns is not None
        consolidation = f" Consolidation pins its replacements to spot: {consequence}." if consolidates else ""
        fact = f"{pool.name} does not say which capacity type it wants: new nodes "
        fact += "are on-demand, as no spot is offered" if no_spot else "are spot wherever spot is offered"
        fact += f"; {share(len(spot), len(nodes))} nodes are spot{at_cost(context.cost(spot))}" if nodes else ""
        rest = {"key": CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]}
        written = [*_requirements(pool.raw), rest]
        yield Finding(
            severity=Severity.WARNING if no_spot and consolidates else Severity.INFO,
            objects=(pool_ref(pool),),
            fact=f"{fact}.{consolidation}",
            edits=(SetField(pool_ref(pool), ("spec", "template", "spec", "requirements"), written),)
            if pool.raw
            else (),
        )


def _requirements(raw: object) -> list[object]:
    """Return ``spec.template.spec.requirements`` as written."""
    for name in ("spec", "template", "spec", "requirements"):
        raw = raw.get(name) if isinstance(raw, dict) else None
    return list(raw) if isinstance(raw, list) else []


RULE: Final = Rule(
    id="pool-capacity-type-open",
    title="no capacity type is required",
    what="Neither requirements nor labels of a NodePool name karpenter.sh/capacity-type.",
    why="Such a pool counts as both. When consolidation replaces a node it pins the new one to spot, so that the "
    "launch fails rather than falls back to a dearer on-demand node; so it does even where only on-demand is offered. "
    "A spot node of such a pool is never replaced by a cheaper on-demand type.",
    source="computeConsolidation in pkg/controllers/disruption/consolidation.go",
    remedy="Name the capacity types that you want: In [on-demand], In [spot], or both on purpose.",
    find=_find,
)
