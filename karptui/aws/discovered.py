"""Memory that nodes have reported: from a type's first registered node on, Karpenter plans with it, not its estimate.

Source: pkg/controllers/providers/instancetype/capacity/controller.go and ``UpdateInstanceTypeCapacityFromNode`` in
pkg/providers/instancetype/instancetype.go of Karpenter's AWS provider. What it has learned lives in the controller's
memory for 60 days; a cluster's live nodes are what a restarted controller learns it from again, and all that can be
seen from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karptui.aws.nodeclass import Ami, Ec2NodeClass
from karptui.karpenter.labels import INSTANCE_TYPE, REGISTERED
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.requirements import Requirements
from karptui.kube.node import Node
from karptui.kube.resources import memory_bytes


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
    known = {nodeclass.name: nodeclass for nodeclass in nodeclasses}
    learned: dict[frozenset[Ami], dict[str, int]] = {}
    for node, claim in nodes:
        nodeclass = known.get(claim.node_class_ref.name)
        reported = memory_bytes(node.capacity)
        if nodeclass is None or not reported or node.labels.get(REGISTERED) != "true":
            continue
        if claim.image_id != current_image(nodeclass.amis, node.labels):
            continue
        by_type = learned.setdefault(frozenset(nodeclass.amis), {})
        name = node.labels.get(INSTANCE_TYPE, "")
        by_type[name] = min(reported, by_type.get(name, reported))
    return {name: learned.get(frozenset(nodeclass.amis), {}) for name, nodeclass in known.items()}


def current_image(amis: Iterable[Ami], labels: Mapping[str, str]) -> str | None:
    """Return the id of the first image that fits a node with these labels, None where none does."""
    node = Requirements.from_labels(labels)
    return next((ami.id for ami in amis if node.compatible(Requirements.from_selectors(ami.selectors))), None)
