"""Limits that leave room for no allowed type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted, nano_amount
from karptui.karpenter.nodepool import NodePool
from karptui.kube.resources import NODES
from karptui.provisioning.catalogue import bits
from karptui.provisioning.limits import remaining_limits
from karptui.whatif.edits import SetField


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.tried_pools:
        if not pool.limits:
            continue
        states = [node for node in context.nodes_of(pool) if not node.is_marked_for_deletion]
        remaining = remaining_limits(pool, states)
        for resource, left in remaining.items():
            finding = _of_resource(context, pool, resource, left)
            if finding is not None:
                yield finding


def _of_resource(context: AdviceContext, pool: NodePool, resource: str, left: int) -> Finding | None:
    limit = (pool.limits or {})[resource]
    waiting = sum(1 for pod in context.prepared.pending if pool in context.pools_for(pod.template))
    pods = f" {counted(waiting, 'pending pod')} could go to it." if waiting else ""
    if resource == NODES:
        if left > 0:
            return None
        fact = f"{pool.name} is at its limit of {counted(limit.units, 'node')}.{pods}"
        return Finding(severity=_severity(waiting), objects=(pool_ref(pool),), fact=fact)
    smallest = _smallest(context, pool, resource)
    if smallest is None or left >= smallest:
        return None
    least = nano_amount(smallest, resource)
    if limit.nano < smallest:
        fact = f"{pool.name} has a limit of {resource} {limit}, and its smallest allowed type has {least}: it can "
        fact += f"never launch a node.{pods}"
        severity = Severity.ERROR
    else:
        rest = nano_amount(max(left, 0), resource)
        fact = f"{pool.name} has {resource} {rest} left of {limit}, and its smallest allowed type has {least}: it "
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
    """Return the least capacity of an allowed and available type, None where some type does not have the resource."""
    catalogue = context.catalogue_of(pool)
    template = next((one for one in context.prepared.templates if one.name == pool.name), None)
    allowed = [catalogue.types[i].capacity for i in bits(template.types if template is not None else 0)]
    if any(resource not in capacity for capacity in allowed):
        return None
    return min((capacity[resource].nano for capacity in allowed), default=None)


RULE: Final = Rule(
    id="pool-limit-below-type",
    title="limits leave no room for a node",
    what="What a NodePool's limits leave is less than the smallest type that the pool allows, or its node limit is "
    "reached.",
    why="A type counts against the limits with its whole capacity, not with what pods ask. When no allowed type fits "
    "into what is left the pool is passed over, although some cpu or memory is left on paper.",
    source="filterByRemainingResources in pkg/controllers/provisioning/scheduling/scheduler.go",
    remedy="Raise the limit by at least one node, or allow smaller types.",
    find=_find,
)
