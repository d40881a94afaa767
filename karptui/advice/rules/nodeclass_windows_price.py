"""Windows and dedicated nodes are reckoned at the price of shared Linux."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted
from karptui.karpenter.labels import AWS_GROUP
from karptui.karpenter.nodepool import NodePool

_TENANCY: Final = f"{AWS_GROUP}/instance-tenancy"


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        reason = _reason(context, pool)
        if not reason:
            continue
        nodes = context.nodes_of(pool)
        cost = context.cost(nodes)
        yield Finding(
            severity=Severity.INFO,
            objects=(pool_ref(pool),),
            fact=f"{pool.name} launches {reason}, which Karpenter and karptui reckon at the price of shared Linux: its "
            f"{counted(len(nodes), 'node')}{at_cost(cost)} cost more than is shown.",
            per_hour=cost,
        )


def _reason(context: AdviceContext, pool: NodePool) -> str:
    nodeclass = context.ec2_nodeclass_of(pool)
    if nodeclass is None:
        return ""
    if nodeclass.family.is_windows:
        return f"{nodeclass.family.name} nodes"
    tenancy = context.requirements_of(pool).find(_TENANCY)
    return "nodes of dedicated tenancy" if tenancy is not None and tenancy.allows("dedicated") else ""


RULE: Final = Rule(
    id="nodeclass-windows-price",
    title="cost more than shown",
    what="A NodePool's EC2NodeClass is of a Windows family, or the pool allows dedicated tenancy.",
    why="Karpenter's prices are those of Linux on shared hardware. The order of types is mostly the same; savings and "
    "totals are too low.",
    source="pkg/providers/pricing/pricing.go of the AWS provider",
    remedy="Nothing to mend: add the surcharge when you read the figures, or give a price multiplier in the settings.",
    find=_find,
)
