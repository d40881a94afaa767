"""Every object of a cluster that a decision may depend on, and what was seen to go while it was watched.

An API server keeps no trace of what went, or only for an hour. Fields of CapacityBuffers: autoscaling.x-k8s.io/v1beta1.
"""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.karpenter.instance_type import NodeOverlay
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import NodePool
from karptui.kube.event import Event
from karptui.kube.lease import Lease
from karptui.kube.node import Node
from karptui.kube.objects import Condition, KubeObject, Namespace, PriorityClass
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod
from karptui.kube.volumes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karptui.kube.workload import DaemonSet, PodTemplateObject, Service, Workload


class CapacityBuffer(KubeObject, frozen=True, kw_only=True, gc=False):
    """A buffer of virtual pods."""

    pod_template_name: str = ""
    """``status.podTemplateRef.name``."""
    scalable_kind: str = ""
    scalable_name: str = ""
    replicas: int = 0
    """``status.replicas``: how many virtual pods it comes to."""
    conditions: tuple[Condition, ...] = ()
    has_spec_ref: bool = False
    """Whether the spec names a pod template or a scalable object."""


class Inventory(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The input of the engines: objects by kind, in the order they were read, which decides some ties."""

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
    unread: frozenset[str] = frozenset()
    """Kinds, as the API writes them, that nobody could read: that there are none of them here says nothing."""


class GoneClaim(msgspec.Struct, frozen=True, gc=False):
    """A NodeClaim that is no more."""

    claim: NodeClaim
    """As it was last seen, without requests, taints and amounts; requirements only if it was never launched."""
    gone_ns: int
    """When it was found to be gone: nanoseconds since the epoch; it may have gone a little earlier."""


class GonePod(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A pod that left a node which was itself on its way out; DaemonSets' and static pods are not kept."""

    key: str
    """``namespace/name``."""
    uid: str
    owner_kind: str = ""
    """Of its controller; empty for a pod that nobody makes again."""
    owner_name: str = ""
    node_name: str
    at_ns: int
    """When it was found to be gone: nanoseconds since the epoch."""


class ClusterHistory(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What has been seen to go, the oldest first; bounded in number and age."""

    began_ns: int = 0
    """Since when everything that went is here: nanoseconds since the epoch, 0 where nobody has watched."""
    claims: tuple[GoneClaim, ...] = ()
    pods: tuple[GonePod, ...] = ()
    events: tuple[Event, ...] = ()
    """Events about the ends of NodeClaims, nodes and pods that the API server has forgotten since."""


NO_HISTORY: Final = ClusterHistory()
