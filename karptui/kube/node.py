"""Nodes."""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.kube import resources
from karptui.kube.objects import Condition, KubeObject, condition_of
from karptui.kube.resources import ResourceList
from karptui.kube.taints import NO_SCHEDULE, Taint
from karptui.kube.timestamps import ABSENT_NS

UNSCHEDULABLE_TAINT: Final = Taint("node.kubernetes.io/unschedulable", NO_SCHEDULE)
"""Taint of a cordoned node; Kubernetes adds it when ``spec.unschedulable`` is set."""


class Node(KubeObject, frozen=True, kw_only=True, gc=False):
    """A Kubernetes Node."""

    finalizers: tuple[str, ...] = ()
    provider_id: str = ""
    """Provider's instance ID, which ties the Node to its NodeClaim; may be set some time after creation."""
    taints: tuple[Taint, ...] = ()
    is_unschedulable: bool = False
    """``spec.unschedulable``: cordoned."""
    cordoned_ns: int = ABSENT_NS
    """Time the node was cordoned: ``timeAdded`` of the unschedulable taint."""
    capacity: ResourceList = resources.EMPTY
    allocatable: ResourceList = resources.EMPTY
    conditions: tuple[Condition, ...] = ()
    kubelet_version: str = ""
    os_image: str = ""
    architecture: str = ""
    internal_ip: str = ""

    @property
    def ready(self) -> Condition | None:
        """The Ready condition."""
        return condition_of(self.conditions, "Ready")


def cordoned(node: Node) -> Node:
    """Return the node with the unschedulable taint added or removed to match ``spec.unschedulable``."""
    others = tuple(taint for taint in node.taints if taint.key != UNSCHEDULABLE_TAINT.key)
    return msgspec.structs.replace(node, taints=(*others, UNSCHEDULABLE_TAINT) if node.is_unschedulable else others)
