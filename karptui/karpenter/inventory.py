"""Every object of a cluster that a decision may depend on."""

from __future__ import annotations

import msgspec

from karptui.karpenter.capacity_buffer import CapacityBuffer
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.overlay import NodeOverlay
from karptui.kube.event import Event
from karptui.kube.namespace import Namespace, PriorityClass
from karptui.kube.node import Node
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod
from karptui.kube.volumes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karptui.kube.workload import DaemonSet, PodTemplateObject, Service, Workload


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
