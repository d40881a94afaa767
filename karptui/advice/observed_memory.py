"""Memory that nodes of each type report, beside EC2's facts of the type."""

from __future__ import annotations

import msgspec

from karptui.advice.context import AdviceContext
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.live import live_instance_types
from karptui.aws.observed import observed_types
from karptui.kube.resources import MEMORY


class ReportedType(msgspec.Struct, frozen=True):
    """An instance type with what its nodes report."""

    facts: InstanceTypeFacts
    nodes: int
    memory_bytes: int
    """The least of its nodes."""


def reported_types(context: AdviceContext) -> tuple[ReportedType, ...]:
    """Return the types of nodes that EC2NodeClasses made and that report memory, by name."""
    if not context.ec2_nodeclasses:
        return ()
    nodes = [
        node.node
        for pool in context.pools
        if context.ec2_nodeclass_of(pool) is not None
        for node in context.nodes_of(pool)
        if node.node is not None
    ]
    facts = live_instance_types(context.evidence.facts)
    return tuple(
        ReportedType(facts[name], one.node_count, one.capacity[MEMORY].smallest.units)
        for name, one in observed_types(nodes).items()
        if name in facts and MEMORY in one.capacity
    )
