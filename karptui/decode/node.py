"""Decodes Nodes."""

from __future__ import annotations

import msgspec

from karptui.decode.wire import (
    Wire,
    WireCondition,
    WireMeta,
    WireObject,
    WireQuantities,
    WireTaint,
    as_arguments,
    conditions,
    object_fields,
    quantities,
    taints,
    timestamp,
)
from karptui.kube.node import UNSCHEDULABLE_TAINT, Node
from karptui.kube.timestamps import ABSENT_NS


class WireNodeSpec(Wire):
    """``spec`` of a Node."""

    provider_id: str | None = msgspec.field(default=None, name="providerID")
    taints: list[WireTaint] | None = None
    unschedulable: bool | None = None


class WireNodeInfo(Wire):
    """``status.nodeInfo``."""

    kubelet_version: str | None = None
    os_image: str | None = None
    architecture: str | None = None


class WireAddress(Wire):
    """An address of a node."""

    type: str | None = None
    address: str | None = None


class WireNodeStatus(Wire):
    """``status`` of a Node."""

    capacity: WireQuantities | None = None
    allocatable: WireQuantities | None = None
    conditions: list[WireCondition] | None = None
    node_info: WireNodeInfo | None = None
    addresses: list[WireAddress] | None = None


class WireNodeMeta(WireMeta):
    """``metadata`` of a Node."""

    finalizers: list[str] | None = None


class WireNode(WireObject):
    """A Node."""

    metadata: WireNodeMeta = msgspec.field(default_factory=WireNodeMeta)
    spec: WireNodeSpec | None = None
    status: WireNodeStatus | None = None


def _cordoned_ns(spec: WireNodeSpec) -> int:
    """Return when a node was cordoned, ``ABSENT_NS`` if unknown or not cordoned."""
    added = (taint.time_added for taint in spec.taints or () if taint.key == UNSCHEDULABLE_TAINT.key)
    return timestamp(next(added, None), "spec.taints.timeAdded") if spec.unschedulable else ABSENT_NS


def build_node(wire: WireNode) -> Node:
    """Return a Node.

    Raises:
        FieldError: If a field is invalid.
    """
    spec, status = wire.spec or WireNodeSpec(), wire.status or WireNodeStatus()
    info = status.node_info or WireNodeInfo()
    return Node(
        **as_arguments(object_fields(wire.metadata)),
        finalizers=tuple(wire.metadata.finalizers or ()),
        provider_id=spec.provider_id or "",
        taints=taints(spec.taints),
        is_unschedulable=bool(spec.unschedulable),
        cordoned_ns=_cordoned_ns(spec),
        capacity=quantities(status.capacity, "status.capacity"),
        allocatable=quantities(status.allocatable, "status.allocatable"),
        conditions=conditions(status.conditions),
        kubelet_version=info.kubelet_version or "",
        os_image=info.os_image or "",
        architecture=info.architecture or "",
        internal_ip=next((a.address or "" for a in status.addresses or () if a.type == "InternalIP"), ""),
    )
