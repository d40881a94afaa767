"""References to the objects of findings."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from karptui.advice.context import PodGroup
from karptui.advice.words import listed
from karptui.karpenter.nodepool import NodePool
from karptui.kube.units import counted
from karptui.provisioning.state_node import StateNode
from karptui.whatif.edits import ObjectRef


def pool_ref(pool: NodePool) -> ObjectRef:
    """Return the reference to a NodePool."""
    return ObjectRef("NodePool", pool.name)


def node_refs(nodes: Iterable[StateNode]) -> tuple[ObjectRef, ...]:
    """Return the references to nodes."""
    return tuple(ObjectRef("Node", node.node.name) for node in nodes if node.node is not None)


def named_nodes(nodes: Collection[StateNode]) -> str:
    """Return ``5 nodes (node-1, node-2, node-3 and 2 more)``."""
    return f"{counted(len(nodes), 'node')} ({listed(node.name for node in nodes)})"


def owner_refs(groups: Iterable[PodGroup]) -> tuple[ObjectRef, ...]:
    """Return the workloads behind groups of pods, each once, the largest first."""
    sizes: dict[ObjectRef, int] = {}
    for group in groups:
        sizes[group.owner] = sizes.get(group.owner, 0) + len(group.pods)
    return tuple(sorted(sizes, key=lambda ref: (-sizes[ref], ref.kind, ref.key)))


def ref_text(ref: ObjectRef) -> str:
    """Return ``Kind/namespace/name``."""
    return f"{ref.kind}/{ref.key}"
