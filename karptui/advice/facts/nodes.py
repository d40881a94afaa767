"""Nodes: whose they are, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from karptui.advice.facts.pools import PoolFacts
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import Pod
from karptui.provisioning.state_node import StateNode


class NodeFacts(PoolFacts):
    """What is known of nodes."""

    @cached_property
    def _nodes_by_pool(self) -> dict[str, list[StateNode]]:
        found: dict[str, list[StateNode]] = {}
        for node in self.fleet.nodes:
            if node.claim is not None:
                found.setdefault(node.nodepool_name, []).append(node)
        return found

    def nodes_of(self, pool: NodePool) -> tuple[StateNode, ...]:
        """Return the nodes of a NodePool that Karpenter manages."""
        return tuple(self._nodes_by_pool.get(pool.name, ()))

    @cached_property
    def _prices(self) -> dict[str, float | None]:
        return {}

    def price(self, node: StateNode) -> float | None:
        """Return what a node costs per hour, None where that is not known."""
        if node.name not in self._prices:
            self._prices[node.name] = self._price(node)
        return self._prices[node.name]

    def _price(self, node: StateNode) -> float | None:
        resolved = self.fleet.resolved(node.nodepool_name)
        if resolved is None:
            return None
        names = node.labels
        type_name, zone, kind = names.get(INSTANCE_TYPE, ""), names.get(ZONE, ""), names.get(CAPACITY_TYPE, "")
        return self.evidence.price_settings.paid(resolved[1].price(type_name, zone, kind))

    def cost(self, nodes: Iterable[StateNode]) -> float | None:
        """Return what nodes cost per hour together, None where no price is known."""
        prices = [price for node in nodes if (price := self.price(node)) is not None]
        return sum(prices) if prices else None

    @cached_property
    def node_by_name(self) -> Mapping[str, StateNode]:
        """Tracked nodes by the name of their Node."""
        return {node.node.name: node for node in self.fleet.nodes if node.node is not None}

    def nodes_with(self, pods: Iterable[Pod], *, managed: bool = True) -> tuple[StateNode, ...]:
        """Return the nodes that pods run on, each once; only those that Karpenter manages unless told otherwise."""
        found = {pod.node_name: self.node_by_name.get(pod.node_name) for pod in pods if pod.node_name}
        return tuple(node for node in found.values() if node is not None and (node.claim is not None or not managed))
