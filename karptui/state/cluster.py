"""The cluster as last seen: one immutable generation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from karptui.decode.kinds import WORKLOAD_API_VERSIONS, Kind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import NodePool
from karptui.kube.event import Event
from karptui.kube.node import Node
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod
from karptui.kube.workload import DaemonSet
from karptui.state.usage import NodeUsage

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_WORKLOADS: Final = (*WORKLOAD_API_VERSIONS, Kind.REPLICATION_CONTROLLER)


class ClusterState:
    """Everything a screen shows comes from one of these; a change makes the next. Compared by identity."""

    __slots__ = ("_inventory", "_objects", "generation", "node_usage")

    def __init__(
        self,
        objects: Mapping[Kind, Mapping[str, Any]],
        node_usage: Mapping[str, NodeUsage],
        generation: int,
    ) -> None:
        self._objects = objects
        self.node_usage = node_usage
        """Pods and requests by node name; also of nodes that are not known yet. A node without pods is missing."""
        self.generation = generation
        """Counts changes; a result computed from an older one is out of date."""
        self._inventory: Inventory | None = None

    def of_kind(self, kind: Kind) -> Mapping[str, Any]:
        """Return the objects of a kind by key, in the order they came."""
        return self._objects.get(kind, NOTHING)

    @property
    def kinds(self) -> Mapping[Kind, Mapping[str, Any]]:
        """Objects by kind and key."""
        return self._objects

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Nodes by name."""
        return self.of_kind(Kind.NODE)

    @property
    def pods(self) -> Mapping[str, Pod]:
        """Pods by ``namespace/name``."""
        return self.of_kind(Kind.POD)

    @property
    def nodepools(self) -> Mapping[str, NodePool]:
        """NodePools by name."""
        return self.of_kind(Kind.NODEPOOL)

    @property
    def nodeclaims(self) -> Mapping[str, NodeClaim]:
        """NodeClaims by name."""
        return self.of_kind(Kind.NODECLAIM)

    @property
    def nodeclasses(self) -> Mapping[str, NodeClass]:
        """NodeClasses of every provider by name."""
        return self.of_kind(Kind.NODECLASS)

    @property
    def daemonsets(self) -> Mapping[str, DaemonSet]:
        """DaemonSets by ``namespace/name``."""
        return self.of_kind(Kind.DAEMONSET)

    @property
    def pdbs(self) -> Mapping[str, PodDisruptionBudget]:
        """PodDisruptionBudgets by ``namespace/name``."""
        return self.of_kind(Kind.PDB)

    @property
    def events(self) -> Mapping[str, Event]:
        """Events by ``namespace/name``."""
        return self.of_kind(Kind.EVENT)

    def pods_on(self, node_name: str) -> Mapping[str, Pod]:
        """Return the pods that hold room on a node, by key."""
        usage = self.node_usage.get(node_name)
        return usage.pods if usage is not None else NOTHING

    def inventory(self) -> Inventory:
        """Return the objects as the engines take them; made once for this generation."""
        if self._inventory is None:
            self._inventory = self._make_inventory()
        return self._inventory

    def _make_inventory(self) -> Inventory:
        def every(kind: Kind) -> tuple[Any, ...]:
            return tuple(self.of_kind(kind).values())

        return Inventory(
            pods=every(Kind.POD),
            nodes=every(Kind.NODE),
            nodepools=every(Kind.NODEPOOL),
            nodeclaims=every(Kind.NODECLAIM),
            nodeclasses=every(Kind.NODECLASS),
            overlays=every(Kind.NODEOVERLAY),
            daemonsets=every(Kind.DAEMONSET),
            workloads=tuple(workload for kind in _WORKLOADS for workload in every(kind)),
            pdbs=every(Kind.PDB),
            claims=every(Kind.PVC),
            volumes=every(Kind.PV),
            storage_classes=every(Kind.STORAGE_CLASS),
            csi_nodes=every(Kind.CSI_NODE),
            namespaces=every(Kind.NAMESPACE),
            priority_classes=every(Kind.PRIORITY_CLASS),
            services=every(Kind.SERVICE),
            events=every(Kind.EVENT),
            capacity_buffers=every(Kind.CAPACITY_BUFFER),
            pod_templates=every(Kind.POD_TEMPLATE),
        )


EMPTY: Final = ClusterState(MappingProxyType({}), MappingProxyType({}), 0)
"""The state before anything is known; stands where others would put None."""
