"""Resources reported by the nodes of an instance type.

Once a node of a type has registered, Karpenter uses its reported memory instead of the estimate. Source:
pkg/controllers/providers/instancetype/capacity/controller.go and ``UpdateInstanceTypeCapacityFromNode`` in
pkg/providers/instancetype/instancetype.go in Karpenter's AWS provider. The controller remembers it for 60 days; only
live nodes are visible from outside, which is also all that a restarted controller has. Outside AWS, reported resources
are all that is known.
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
    """Return the least memory reported by nodes of each type, by NodeClass name and instance type.

    Only registered nodes that run the current image of their NodeClass count, for every NodeClass with the same images.
    """
    images_by_nodeclass = {nodeclass.name: _Images(nodeclass.amis) for nodeclass in nodeclasses}
    reported_by_images: dict[frozenset[Ami], dict[str, int]] = {}
    for node, claim in nodes:
        images = images_by_nodeclass.get(claim.node_class_ref.name)
        if images is None or node.labels.get(REGISTERED) != "true" or claim.image_id != images.current(node.labels):
            continue
        if reported := memory_bytes(node.capacity):
            by_type = reported_by_images.setdefault(images.set, {})
            name = node.labels.get(INSTANCE_TYPE, "")
            by_type[name] = min(reported, by_type.get(name, reported))
    return {name: reported_by_images.get(images.set, {}) for name, images in images_by_nodeclass.items()}


class _Images:
    def __init__(self, amis: Iterable[Ami]) -> None:
        self._amis = tuple(amis)
        self.set = frozenset(self._amis)
        keys = {KEY_ALIASES.get(term.key, term.key) for ami in self._amis for term in ami.selectors}
        self._keys = (*keys, *(alias for alias, key in KEY_ALIASES.items() if key in keys))
        self._current: dict[tuple[str | None, ...], str | None] = {}

    def current(self, labels: Mapping[str, str]) -> str | None:
        """Return the id of the current image for a node with these labels, None if none matches."""
        of_interest = tuple(map(labels.get, self._keys))
        if of_interest not in self._current:
            self._current[of_interest] = current_image(self._amis, labels)
        return self._current[of_interest]


def current_image(amis: Iterable[Ami], labels: Mapping[str, str]) -> str | None:
    """Return the id of the first image that matches a node's labels, None if none does."""
    node = Requirements.from_labels(labels)
    return next((ami.id for ami in amis if node.compatible(Requirements.from_selectors(ami.selectors))), None)


class ResourceSpread(msgspec.Struct, frozen=True):
    """Distribution of a resource over several nodes."""

    smallest: Quantity
    median: Quantity
    """Lower median, so always a value reported by some node."""
    largest: Quantity

    @property
    def is_uniform(self) -> bool:
        """Whether all nodes report the same amount."""
        return self.smallest.nano == self.largest.nano


class ObservedType(msgspec.Struct, frozen=True):
    """Resources reported by the nodes of an instance type."""

    instance_type: str
    node_count: int
    capacity: Mapping[str, ResourceSpread]
    """By resource name, over the nodes that report it."""
    allocatable: Mapping[str, ResourceSpread]


def observed_types(nodes: Iterable[Node]) -> dict[str, ObservedType]:
    """Return reported resources by instance type label, sorted by name.

    Nodes without the label, and nodes that have not reported yet, are ignored.
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
