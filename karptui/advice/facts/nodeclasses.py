"""EC2NodeClasses, and what the nodes that they made report."""

from __future__ import annotations

from functools import cached_property

from karptui.advice.facts.nodes import NodeFacts
from karptui.advice.observed_memory import ReportedType, reported_types
from karptui.aws.errors import NodeClassError
from karptui.aws.nodeclass import KIND, Ec2NodeClass, is_ec2_nodeclass, parse_nodeclass
from karptui.karpenter.labels import AWS_GROUP
from karptui.karpenter.nodepool import NodePool


class NodeClassFacts(NodeFacts):
    """What is known of EC2NodeClasses."""

    @cached_property
    def _parsed(self) -> dict[str, Ec2NodeClass]:
        found = {}
        for nodeclass in filter(is_ec2_nodeclass, self.inventory.nodeclasses):
            try:
                found[nodeclass.name] = parse_nodeclass(nodeclass)
            except NodeClassError:
                continue
        return found

    @property
    def ec2_nodeclasses(self) -> tuple[Ec2NodeClass, ...]:
        """EC2NodeClasses that can be read, by name."""
        return tuple(nodeclass for _, nodeclass in sorted(self._parsed.items()))

    def ec2_nodeclass_of(self, pool: NodePool) -> Ec2NodeClass | None:
        """Return a NodePool's EC2NodeClass, None for other providers and where it is missing."""
        ref = pool.node_class_ref
        is_ec2 = ref.kind == KIND and ref.group in ("", AWS_GROUP)
        return self._parsed.get(ref.name) if is_ec2 else None

    def pools_with(self, nodeclass: str) -> tuple[NodePool, ...]:
        """Return the served NodePools that use an EC2NodeClass."""
        return tuple(pool for pool in self.pools if pool.node_class_ref.name == nodeclass)

    @cached_property
    def reported_types(self) -> tuple[ReportedType, ...]:
        """Instance types of the nodes that EC2NodeClasses made, with the memory that these report, by name."""
        nodes = [
            node.node
            for pool in self.pools
            if self.ec2_nodeclass_of(pool) is not None
            for node in self.nodes_of(pool)
            if node.node is not None
        ]
        return reported_types(nodes, self.evidence.facts) if nodes else ()
