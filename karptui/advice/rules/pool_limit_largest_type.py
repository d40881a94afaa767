"""Limits are spent at the size of the largest type that a claim could get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import nano_amount
from karptui.kube.resources import NODES
from karptui.provisioning.catalogue import bits
from karptui.provisioning.limits import remaining_limits

_FEW_NODES: Final = 2


def _find(context: AdviceContext) -> Iterator[Finding]:
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
                fact=f"{pool.name} has {resource} {nano_amount(left, resource)} left, and allowed types reach up to "
                f"{nano_amount(largest, resource)}: a pod that any of them can take counts as a node of that size, so "
                f"one run may plan a single node where {left // smallest:,} of the smallest would fit.",
            )


def _amounts(context: AdviceContext, pool: str, types: int, resource: str) -> Iterator[int]:
    catalogue = context.prepared.catalogues[pool]
    return (catalogue.types[i].capacity[resource].nano for i in bits(types) if resource in catalogue.types[i].capacity)


RULE: Final = Rule(
    id="pool-limit-largest-type",
    title="limits count the largest type",
    what="What is left of a NodePool's limit is less than twice the largest type that it still allows, though several "
    "small nodes would fit.",
    why="While it plans, Karpenter does not know which type a claim will get and subtracts the largest capacity among "
    "the claim's types. One claim with open requirements can use up the limit for a whole run; the other pods wait "
    "for the next run, after the node has turned out small.",
    source="subtractMax in pkg/controllers/provisioning/scheduling/scheduler.go",
    remedy="Bound the size with requirements (instance-cpu Lt 33), or leave more headroom in the limit.",
    find=_find,
)
