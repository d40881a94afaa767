"""What nodes of a type report, beside what anybody says of the type: the last resort, and the only one off AWS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from karptui.karpenter.labels import INSTANCE_TYPE
from karptui.kube.node import Node
from karptui.kube.quantity import Quantity
from karptui.kube.resources import ResourceList


class Spread(msgspec.Struct, frozen=True):
    """One resource over several nodes."""

    smallest: Quantity
    median: Quantity
    """The lower of the two in the middle where the number of nodes is even: always a value that some node reports."""
    largest: Quantity

    @property
    def is_uniform(self) -> bool:
        """Whether all nodes agree."""
        return self.smallest.nano == self.largest.nano


class ObservedType(msgspec.Struct, frozen=True):
    """An instance type as its nodes report it."""

    instance_type: str
    node_count: int
    capacity: Mapping[str, Spread]
    """By resource name; over the nodes that report the resource."""
    allocatable: Mapping[str, Spread]


def observed_types(nodes: Iterable[Node]) -> dict[str, ObservedType]:
    """Return what nodes report, by the value of their ``node.kubernetes.io/instance-type`` label, in order of names.

    Nodes without the label, and nodes whose kubelet has not reported yet, do not count.
    """
    by_type: dict[str, list[Node]] = {}
    for node in nodes:
        name = node.labels.get(INSTANCE_TYPE, "")
        if name and node.capacity:
            by_type.setdefault(name, []).append(node)
    return {
        name: ObservedType(
            name,
            len(of_type),
            _spreads([node.capacity for node in of_type]),
            _spreads([node.allocatable for node in of_type]),
        )
        for name, of_type in sorted(by_type.items())
    }


def _spreads(lists: list[ResourceList]) -> dict[str, Spread]:
    amounts: dict[str, list[Quantity]] = {}
    for resources in lists:
        for name, amount in resources.items():
            amounts.setdefault(name, []).append(amount)
    return {name: _spread(of_resource) for name, of_resource in sorted(amounts.items())}


def _spread(amounts: list[Quantity]) -> Spread:
    ordered = sorted(amounts, key=lambda amount: amount.nano)
    return Spread(ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1])
