"""A node as Karpenter sees it: a Node and its NodeClaim joined by provider ID, either of which may be missing.

Rules: ``pkg/controllers/state/statenode.go``, and ``UpdateNodeClaim`` and ``UpdateNode`` of cluster.go beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

from karptui.karpenter.labels import INITIALIZED, INSTANCE_TYPE, NODEPOOL, REGISTERED
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.node import Node

INSTANCE_TERMINATING: Final = "InstanceTerminating"


class StateNode:
    """A Node, a NodeClaim or both; never neither. Immutable: the answers are worked out once."""

    def __init__(self, node: Node | None, claim: NodeClaim | None) -> None:
        if node is None and claim is None:
            raise ValueError("a state node needs a Node or a NodeClaim")
        self.node = node
        self.claim = claim

    def __repr__(self) -> str:
        return f"StateNode({self.name})"

    @cached_property
    def provider_id(self) -> str:
        """What ties the two together; an unmanaged Node without one goes by its name."""
        if self.node is not None:
            return self.node.provider_id or self.node.name
        assert self.claim is not None
        return self.claim.provider_id

    @cached_property
    def name(self) -> str:
        """The NodeClaim's name until the Node is registered, then the Node's."""
        if self.node is not None and (self.claim is None or self.is_registered):
            return self.node.name
        assert self.claim is not None
        return self.claim.name

    @property
    def is_managed(self) -> bool:
        """Whether there is a NodeClaim."""
        return self.claim is not None

    @cached_property
    def is_registered(self) -> bool:
        """Whether the Node carries Karpenter's label; unmanaged nodes always count as registered."""
        return self.claim is None or (self.node is not None and self.node.labels.get(REGISTERED) == "true")

    @cached_property
    def is_initialized(self) -> bool:
        """Whether the Node carries Karpenter's label; unmanaged nodes always count as initialised."""
        return self.claim is None or (self.node is not None and self.node.labels.get(INITIALIZED) == "true")

    @cached_property
    def is_deleting(self) -> bool:
        """Whether the NodeClaim is being deleted or its instance terminated; of unmanaged nodes, the Node.

        A Node that is being deleted while its NodeClaim is not does not count (``Deleted``).
        """
        if self.claim is not None:
            return self.claim.is_deleting or self.claim.is_true(INSTANCE_TERMINATING)
        return self.node is not None and self.node.is_deleting

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The NodeClaim's labels until the Node is registered, then the Node's."""
        if self.node is not None and (self.claim is None or self.is_registered):
            return self.node.labels
        assert self.claim is not None
        return self.claim.labels

    @cached_property
    def annotations(self) -> Mapping[str, str]:
        """The NodeClaim's annotations until the Node is registered, then the Node's."""
        if self.node is not None and (self.claim is None or self.is_registered):
            return self.node.annotations
        assert self.claim is not None
        return self.claim.annotations

    @cached_property
    def pool_name(self) -> str:
        """Value of the NodePool label, empty without it."""
        return self.labels.get(NODEPOOL, "")

    @property
    def node_name(self) -> str:
        """The Node's name, empty while there is none: what pods are bound to."""
        return self.node.name if self.node is not None else ""


def join_nodes(nodes: Iterable[Node], claims: Iterable[NodeClaim]) -> tuple[StateNode, ...]:
    """Return the state nodes of a cluster, NodeClaims first in their order, then Nodes without a NodeClaim.

    NodeClaims without a provider ID are left out: they have not been launched. So are Nodes that Karpenter waits for:
    those with its NodePool label but no provider ID, or not initialised and without the instance type label.
    """
    claim_by_id = {claim.provider_id: claim for claim in claims if claim.provider_id}
    node_by_id: dict[str, Node] = {}
    for node in nodes:
        is_pool_node = bool(node.labels.get(NODEPOOL))
        if is_pool_node and not node.provider_id:
            continue
        if is_pool_node and not node.labels.get(INSTANCE_TYPE) and not node.labels.get(INITIALIZED):
            continue
        node_by_id[node.provider_id or node.name] = node
    joined = [StateNode(node_by_id.get(provider_id), claim) for provider_id, claim in claim_by_id.items()]
    return (*joined, *(StateNode(node, None) for key, node in node_by_id.items() if key not in claim_by_id))
