"""Equivalence of nodes to Karpenter, which may pick any of equal candidates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import INSTANCE_TYPE, NODEPOOL, ZONE


class Likeness:
    """Equivalence keys of nodes: by their state at the start, or for later nodes by their labels."""

    def __init__(self, inventory: Inventory) -> None:
        """Take the cluster at the start."""
        self._inventory = inventory

    def of(self, name: str, labels: Mapping[str, str]) -> str:
        """Return NodePool, type, zone and pods of a node at the start; of a later node the first two.

        Args:
            name: Name of the node, or of its NodeClaim.
            labels: Its current labels.
        """
        found = self._beginning.get(name)
        return _values(labels, NODEPOOL, INSTANCE_TYPE) if found is None else found

    @cached_property
    def _beginning(self) -> dict[str, str]:
        pods: dict[str, Counter[str]] = defaultdict(Counter)
        for pod in self._inventory.pods:
            if pod.node_name and pod.is_active:
                owner = pod.owners[0].name if pod.owners else pod.name
                pods[pod.node_name][f"{pod.namespace}/{owner}"] += 1
        found = {}
        for node in self._inventory.nodes:
            held = (f"{owner}:{count}" for owner, count in sorted(pods[node.name].items()))
            found[node.name] = " ".join((_values(node.labels, NODEPOOL, INSTANCE_TYPE, ZONE), *held))
        return found


def _values(labels: Mapping[str, str], *keys: str) -> str:
    return " ".join(labels.get(key, "") for key in keys)
