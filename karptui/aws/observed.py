"""What nodes of a type have reported.

From a type's first registered node on, Karpenter plans with the memory it reports, not with its estimate. Source:
pkg/controllers/providers/instancetype/capacity/controller.go and ``UpdateInstanceTypeCapacityFromNode`` in
pkg/providers/instancetype/instancetype.go of Karpenter's AWS provider. What it has learned lives in the controller's
memory for 60 days; a cluster's live nodes are what a restarted controller learns it from again, and all that can be
seen from outside. Off AWS, what nodes report is all there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from karptui.aws.nodeclass import Ami, Ec2NodeClass
from karptui.karpenter.labels import INSTANCE_TYPE, KEY_ALIASES, REGISTERED
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.requirements import Requirements
from karptui.kube.node import Node
from karptui.kube.quantity import Quantity
from karptui.kube.resources import ResourceList, memory_bytes


def discovered_memory_bytes(
    nodeclasses: Iterable[Ec2NodeClass], nodes: Iterable[tuple[Node, NodeClaim]]
) -> Mapping[str, Mapping[str, int]]:
    """Return the least memory that nodes of each type report, by NodeClass name and instance type.

    A node counts when it is registered and runs the image that its NodeClass would choose for it today; what it teaches
    holds for every NodeClass with the same set of images.

    Args:
        nodeclasses: All EC2NodeClasses.
        nodes: Nodes with the NodeClaims that they belong to.
    """
    known = {nodeclass.name: _Images(nodeclass.amis) for nodeclass in nodeclasses}
    learned: dict[frozenset[Ami], dict[str, int]] = {}
    for node, claim in nodes:
        images = known.get(claim.node_class_ref.name)
        if images is None or node.labels.get(REGISTERED) != "true" or claim.image_id != images.current(node.labels):
            continue
        if reported := memory_bytes(node.capacity):
            by_type = learned.setdefault(images.set, {})
            name = node.labels.get(INSTANCE_TYPE, "")
            by_type[name] = min(reported, by_type.get(name, reported))
    return {name: learned.get(images.set, {}) for name, images in known.items()}


class _Images:
    """The images of a NodeClass; which is the current one is looked for once for all nodes that are alike to them."""

    def __init__(self, amis: Iterable[Ami]) -> None:
        self._amis = tuple(amis)
        self.set = frozenset(self._amis)
        keys = {KEY_ALIASES.get(term.key, term.key) for ami in self._amis for term in ami.selectors}
        self._keys = (*keys, *(alias for alias, key in KEY_ALIASES.items() if key in keys))
        self._found: dict[tuple[str | None, ...], str | None] = {}

    def current(self, labels: Mapping[str, str]) -> str | None:
        """Return the id of the current image of a node with these labels, None where none fits."""
        of_interest = tuple(map(labels.get, self._keys))
        if of_interest not in self._found:
            self._found[of_interest] = current_image(self._amis, labels)
        return self._found[of_interest]


def current_image(amis: Iterable[Ami], labels: Mapping[str, str]) -> str | None:
    """Return the id of the first image that fits a node with these labels, None where none does."""
    node = Requirements.from_labels(labels)
    return next((ami.id for ami in amis if node.compatible(Requirements.from_selectors(ami.selectors))), None)


class ResourceSpread(msgspec.Struct, frozen=True):
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
    capacity: Mapping[str, ResourceSpread]
    """By resource name; over the nodes that report the resource."""
    allocatable: Mapping[str, ResourceSpread]


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


def _spreads(lists: list[ResourceList]) -> dict[str, ResourceSpread]:
    amounts: dict[str, list[Quantity]] = {}
    for resources in lists:
        for name, amount in resources.items():
            amounts.setdefault(name, []).append(amount)
    return {name: _spread(of_resource) for name, of_resource in sorted(amounts.items())}


def _spread(amounts: list[Quantity]) -> ResourceSpread:
    ordered = sorted(amounts, key=lambda amount: amount.nano)
    return ResourceSpread(ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1])
