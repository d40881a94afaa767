"""Every cluster object that a decision may depend on, and recently deleted objects.

An API server keeps no record of deleted objects, and events for an hour only. CapacityBuffer fields:
autoscaling.x-k8s.io/v1beta1.
"""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.karpenter.instance_type import NodeOverlay
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import (
    Condition,
    Event,
    KubeObject,
    Lease,
    Namespace,
    Node,
    PriorityClass,
    WebhookConfiguration,
)
from karptui.kube.pod import Pod
from karptui.kube.volumes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karptui.kube.vpa import VerticalPodAutoscaler
from karptui.kube.workload import DaemonSet, PodDisruptionBudget, PodTemplateObject, Service, Workload


class CapacityBuffer(KubeObject, frozen=True, kw_only=True, gc=False):
    """A CapacityBuffer: placeholder pods that reserve capacity."""

    pod_template_name: str = ""
    """``status.podTemplateRef.name``."""
    scalable_kind: str = ""
    scalable_name: str = ""
    replicas: int = 0
    """``status.replicas``: number of placeholder pods."""
    conditions: tuple[Condition, ...] = ()
    has_spec_ref: bool = False
    """Whether the spec references a pod template or a scalable object."""


class Inventory(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Input of the engines: objects by kind, in the order read, which breaks some ties."""

    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    nodepools: tuple[NodePool, ...] = ()
    nodeclaims: tuple[NodeClaim, ...] = ()
    nodeclasses: tuple[NodeClass, ...] = ()
    overlays: tuple[NodeOverlay, ...] = ()
    daemonsets: tuple[DaemonSet, ...] = ()
    workloads: tuple[Workload, ...] = ()
    pdbs: tuple[PodDisruptionBudget, ...] = ()
    claims: tuple[PersistentVolumeClaim, ...] = ()
    """PersistentVolumeClaims."""
    volumes: tuple[PersistentVolume, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    csi_nodes: tuple[CSINode, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    services: tuple[Service, ...] = ()
    events: tuple[Event, ...] = ()
    capacity_buffers: tuple[CapacityBuffer, ...] = ()
    pod_templates: tuple[PodTemplateObject, ...] = ()
    leases: tuple[Lease, ...] = ()
    vpas: tuple[VerticalPodAutoscaler, ...] = ()
    """Of a snapshot; a live cluster's are read for right-sizing only."""
    webhooks: tuple[WebhookConfiguration, ...] = ()
    unread: frozenset[str] = frozenset()
    """Kinds that could not be read, so an empty tuple does not mean that there are none."""


class GoneClaim(msgspec.Struct, frozen=True, gc=False):
    """A deleted NodeClaim."""

    claim: NodeClaim
    """Last known state, without requests, taints and resources; requirements only if it was never launched."""
    gone_ns: int
    """Time the deletion was noticed, in nanoseconds since the epoch; it may have happened slightly earlier."""


class GonePod(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A pod that left a node being removed; DaemonSet and static pods are not recorded."""

    key: str
    """``namespace/name``."""
    uid: str
    owner_kind: str = ""
    """Kind of its controller; empty if nothing recreates it."""
    owner_name: str = ""
    node_name: str
    at_ns: int
    """Time the deletion was noticed, in nanoseconds since the epoch."""


class ClusterHistory(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Deleted objects, oldest first; limited in number and age."""

    began_ns: int = 0
    """Start of the recording in nanoseconds since the epoch; 0 if nothing was recorded."""
    claims: tuple[GoneClaim, ...] = ()
    pods: tuple[GonePod, ...] = ()
    events: tuple[Event, ...] = ()
    """Events about removed NodeClaims, nodes and pods that the API server no longer has."""


NO_HISTORY: Final = ClusterHistory()


class NotCounted(msgspec.Struct, frozen=True, gc=False):
    """Nodes of the unedited cluster that totals leave out."""

    unmanaged: int = 0
    """Nodes that Karpenter does not manage."""
    leaving: int = 0
    """Nodes that are being removed."""
    unlaunched: int = 0
    """NodeClaims without an instance."""


def unmanaged_nodes(inventory: Inventory) -> tuple[Node, ...]:
    """Return the nodes without a NodeClaim: Karpenter does not manage them."""
    claimed = {claim.provider_id for claim in inventory.nodeclaims} - {""}
    named = {claim.node_name for claim in inventory.nodeclaims}
    return tuple(node for node in inventory.nodes if node.provider_id not in claimed and node.name not in named)
