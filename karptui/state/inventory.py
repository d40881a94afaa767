"""Between the state, by key, and the inventory that engines take, in order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from karptui.decode.kinds import WORKLOAD_API_VERSIONS, Kind
from karptui.karpenter.inventory import Inventory
from karptui.state.cluster import ClusterState

FIELDS: Final[Mapping[Kind, str]] = {
    Kind.POD: "pods",
    Kind.NODE: "nodes",
    Kind.NODEPOOL: "nodepools",
    Kind.NODECLAIM: "nodeclaims",
    Kind.NODECLASS: "nodeclasses",
    Kind.NODEOVERLAY: "overlays",
    Kind.DAEMONSET: "daemonsets",
    Kind.PDB: "pdbs",
    Kind.PVC: "claims",
    Kind.PV: "volumes",
    Kind.STORAGE_CLASS: "storage_classes",
    Kind.CSI_NODE: "csi_nodes",
    Kind.NAMESPACE: "namespaces",
    Kind.PRIORITY_CLASS: "priority_classes",
    Kind.SERVICE: "services",
    Kind.EVENT: "events",
    Kind.CAPACITY_BUFFER: "capacity_buffers",
    Kind.POD_TEMPLATE: "pod_templates",
    Kind.LEASE: "leases",
}
"""Field of the inventory by kind; the kinds that are not here are ``workloads``."""
WORKLOAD_KINDS: Final = (*WORKLOAD_API_VERSIONS, Kind.REPLICATION_CONTROLLER)


@lru_cache(maxsize=1)
def inventory_of(state: ClusterState) -> Inventory:
    """Return the engines' input; the same object for the same generation."""
    fields: dict[str, Any] = {field: tuple(state.of(kind).values()) for kind, field in FIELDS.items()}
    fields["workloads"] = tuple(item for kind in WORKLOAD_KINDS for item in state.of(kind).values())
    return Inventory(**fields, unread=state.unread)


def objects_of(inventory: Inventory) -> dict[Kind, dict[str, Any]]:
    """Return the objects of an inventory by kind and key; kinds without any are left out."""
    objects: dict[Kind, dict[str, Any]] = {
        kind: {item.key: item for item in items}
        for kind, field in FIELDS.items()
        if (items := getattr(inventory, field))
    }
    for workload in inventory.workloads:
        objects.setdefault(Kind(workload.kind), {})[workload.key] = workload
    return objects
