"""Instance types made of what nodes report: all there is where no provider can be asked for its list."""

from __future__ import annotations

from collections.abc import Iterable

from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.karpenter.labels import ARCH, CAPACITY_TYPE, INSTANCE_TYPE, OS, ZONE
from karptui.kube import resources
from karptui.kube.node import Node
from karptui.kube.selectors import NodeSelectorRequirement


def seen_types(nodes: Iterable[Node]) -> tuple[InstanceType, ...]:
    """Return a type for every instance type label, as small as the smallest of its nodes.

    Offerings are the zones and capacity types that nodes have; their prices are not known and stand as 0.
    """
    by_type: dict[str, list[Node]] = {}
    for node in nodes:
        name = node.labels.get(INSTANCE_TYPE, "")
        if name and node.capacity:
            by_type.setdefault(name, []).append(node)
    return tuple(_seen(name, of_type) for name, of_type in sorted(by_type.items()))


def _seen(name: str, nodes: list[Node]) -> InstanceType:
    smallest = min(nodes, key=lambda node: resources.memory_bytes(node.allocatable))
    labels = [(key, sorted({node.labels[key] for node in nodes if key in node.labels})) for key in (ARCH, OS, ZONE)]
    pairs = sorted({(node.labels.get(CAPACITY_TYPE, ""), node.labels.get(ZONE, "")) for node in nodes})
    return InstanceType(
        name=name,
        requirements=(
            NodeSelectorRequirement(INSTANCE_TYPE, "In", (name,)),
            *(NodeSelectorRequirement(key, "In", tuple(values)) for key, values in labels if values),
        ),
        capacity=smallest.capacity,
        overhead=Overhead(kube_reserved=resources.subtract(smallest.capacity, smallest.allocatable)),
        offerings=tuple(
            Offering(
                requirements=tuple(
                    NodeSelectorRequirement(key, "In", (value,))
                    for key, value in ((CAPACITY_TYPE, capacity_type), (ZONE, zone))
                    if value
                ),
                price_per_hour=0.0,
            )
            for capacity_type, zone in pairs
        ),
    )
