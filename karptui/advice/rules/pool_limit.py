"""Limits of NodePools, and the room within them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import pool_ref
from karptui.karpenter.nodepool import NodePool
from karptui.kube.resources import NODES
from karptui.kube.units import amount_text, counted
from karptui.provisioning.catalogue import bits
from karptui.provisioning.limits import remaining_limits
from karptui.whatif.edits import SetField


@rule(
    "pool-limit-below-type",
    title="limits leave no room for a node",
    what="The room within a NodePool's limits is smaller than its smallest allowed type, or its node limit is reached.",
    why="A type counts with its whole capacity, not with the pods' requests. If no allowed type fits within the limits "
    "the pool is skipped, although some cpu or memory is nominally left.",
    source="filterByRemainingResources in pkg/controllers/provisioning/scheduling/scheduler.go",
    remedy="Raise the limit by at least one node, or allow smaller types.",
)
def _limit_below_type(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.tried_pools:
        if not pool.limits:
            continue
        states = [node for node in context.nodes_of(pool) if not node.is_marked_for_deletion]
        remaining = remaining_limits(pool, states)
        for resource, left in remaining.items():
            if (finding := _of_resource(context, pool, resource, left)) is not None:
                yield finding


def _of_resource(context: AdviceContext, pool: NodePool, resource: str, left: int) -> Finding | None:
    limit = (pool.limits or {})[resource]
    waiting = context.held_by_limits.get(pool.name, 0)
    pods = f" {counted(waiting, 'pending pod')} could go to it." if waiting else ""
    if resource == NODES:
        if left > 0:
            return None
        fact = f"{pool.name} is at its limit of {counted(limit.units, 'node')}.{pods}"
        return Finding(severity=_severity(waiting), objects=(pool_ref(pool),), fact=fact)
    smallest = _smallest(context, pool, resource)
    if smallest is None or left >= smallest:
        return None
    least = amount_text(resource, smallest, is_exact=True)
    most = amount_text(resource, limit.nano, is_exact=True)
    if limit.nano < smallest:
        fact = f"{pool.name} has a limit of {resource} {most}, and its smallest allowed type has {least}: it can "
        fact += f"never launch a node.{pods}"
        # A limit of 0 switches a NodePool off on purpose.
        severity = Severity.ERROR if limit.nano else _severity(waiting)
    else:
        rest = amount_text(resource, max(left, 0), is_exact=True)
        fact = f"{pool.name} has {resource} {rest} left of {most}, and its smallest allowed type has {least}: it "
        fact += f"launches nothing more.{pods}"
        severity = _severity(waiting)
    return Finding(
        severity=severity,
        objects=(pool_ref(pool),),
        fact=fact,
        edits=(
            SetField(pool_ref(pool), ("spec", "limits", resource), _raised(limit.nano - left + smallest, resource)),
        ),
    )


def _severity(waiting: int) -> Severity:
    return Severity.ERROR if waiting else Severity.WARNING


def _raised(nano: int, resource: str) -> str:
    """Return a limit that has room for one more node of the smallest type."""
    units = -(-nano // 1_000_000_000)
    return f"{-(-units // (1 << 30))}Gi" if resource == "memory" else str(units)


def _smallest(context: AdviceContext, pool: NodePool, resource: str) -> int | None:
    """Return the smallest capacity of an allowed and available type.

    None if a type lacks the resource, or only types of existing nodes are known.

    """
    if not context.knows_types(pool):
        return None
    catalogue = context.catalogue_of(pool)
    template = next((template for template in context.prepared.templates if template.name == pool.name), None)
    allowed = [catalogue.types[i].capacity for i in bits(template.types if template is not None else 0)]
    if any(resource not in capacity for capacity in allowed):
        return None
    return min((capacity[resource].nano for capacity in allowed), default=None)


_FEW_NODES: Final = 2


@rule(
    "pool-limit-largest-type",
    title="limits count the largest type",
    what="The room within a NodePool's limit is less than twice the largest type that still fits, although several "
    "small nodes would fit.",
    why="While it plans, Karpenter does not know which type a claim will get and subtracts the largest capacity among "
    "the claim's types. One claim with open requirements can use up the limit for a whole run; the other pods wait "
    "for the next run, when the node's real size is known.",
    source="subtractMax in pkg/controllers/provisioning/scheduling/scheduler.go",
    remedy="Bound the size with requirements (instance-cpu Lt 33), or leave more headroom in the limit.",
)
def _limit_largest_type(context: AdviceContext) -> Iterator[Finding]:
    templates = {template.name: template for template in context.prepared.templates}
    for pool in context.tried_pools:
        template = templates.get(pool.name)
        if not pool.limits or template is None:
            continue
        states = [node for node in context.nodes_of(pool) if not node.is_marked_for_deletion]
        for resource, left in remaining_limits(pool, states).items():
            ladder = template.catalogue.capacity.get(resource)
            if resource == NODES or ladder is None or left <= 0:
                continue
            within = template.types & template.catalogue.within_limits(((resource, left),))
            largest = ladder.greatest(within) if within else 0
            smallest = min((amount for amount in _amounts(context, pool.name, within, resource)), default=0)
            if not smallest or left // smallest <= _FEW_NODES or left // largest >= _FEW_NODES:
                continue
            yield Finding(
                severity=Severity.INFO,
                objects=(pool_ref(pool),),
                fact=f"{pool.name} has {resource} {amount_text(resource, left, is_exact=True)} left, and allowed types "
                f"reach up to {amount_text(resource, largest, is_exact=True)}: a pod that any of them can take "
                f"counts as a node of that size, so one run may plan a single node where {left // smallest:,} of the "
                "smallest would fit.",
            )


def _amounts(context: AdviceContext, pool: str, types: int, resource: str) -> Iterator[int]:
    catalogue = context.prepared.catalogues[pool]
    return (catalogue.types[i].capacity[resource].nano for i in bits(types) if resource in catalogue.types[i].capacity)


@rule(
    "pool-limit-nodes",
    title="a node limit can be overshot",
    what="A NodePool that takes pods limits its nodes and has not reached the limit.",
    why="While a run plans, its new NodeClaims do not count as nodes: only a limit that is exactly used up stops it. "
    "A burst of pods can exceed the limit in one run; above the limit, the message names instance types that exceed "
    "limits.",
    source="pkg/controllers/provisioning/scheduling/scheduler.go, subtractMax and the nodes limit",
    remedy="Limit cpu and memory as well if the number matters for quotas or licences.",
)
def _limit_nodes(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.tried_pools:
        limit = (pool.limits or {}).get(NODES)
        if limit is None:
            continue
        nodes = [node for node in context.nodes_of(pool) if not node.is_marked_for_deletion]
        left = limit.units - len(nodes)
        if left > 0:
            yield Finding(
                severity=Severity.INFO,
                objects=(pool_ref(pool),),
                fact=f"{pool.name} has {counted(len(nodes), 'node')} of at most {limit.units:,}: one run of the "
                f"provisioner may still plan more than the {left:,} that are left.",
            )
