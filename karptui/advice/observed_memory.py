"""Memory that nodes of each type report, beside EC2's facts of the type."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.live import live_instance_types
from karptui.aws.observed import observed_types
from karptui.aws.region_facts import RegionFacts
from karptui.kube.node import Node
from karptui.kube.resources import MEMORY


class ReportedType(msgspec.Struct, frozen=True):
    """An instance type with what its nodes report."""

    facts: InstanceTypeFacts
    nodes: int
    memory_bytes: int
    """The least of its nodes."""


def reported_types(nodes: Iterable[Node], known: RegionFacts) -> tuple[ReportedType, ...]:
    """Return the types of nodes that report memory and that EC2 knows, by name."""
    facts = live_instance_types(known)
    return tuple(
        ReportedType(facts[name], one.node_count, one.capacity[MEMORY].smallest.units)
        for name, one in observed_types(nodes).items()
        if name in facts and MEMORY in one.capacity
    )
