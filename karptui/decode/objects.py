"""Decodes Nodes, Events of ``v1`` and ``events.k8s.io/v1``, Leases, Namespaces, PriorityClasses and webhooks."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from karptui.decode.loose import field, text, texts
from karptui.decode.wire import (
    Int,
    Wire,
    WireCondition,
    WireObject,
    WireQuantities,
    WireTaint,
    conditions,
    object_fields,
    quantities,
    taints,
    timestamp,
)
from karptui.kube.objects import (
    UNSCHEDULABLE_TAINT,
    Event,
    Lease,
    Namespace,
    Node,
    PriorityClass,
    Webhook,
    WebhookConfiguration,
)
from karptui.kube.timestamps import ABSENT_NS


class WireInvolved(Wire):
    """``involvedObject`` or ``regarding``."""

    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class WireSource(Wire):
    """``source`` or ``deprecatedSource``."""

    component: str | None = None


class WireSeries(Wire):
    """``series``."""

    count: Int | None = None
    last_observed_time: str | None = None


class WireEvent(WireObject):
    """An Event of either API."""

    reason: str | None = None
    message: str | None = None
    note: str | None = None
    type: str | None = None
    count: Int | None = None
    deprecated_count: Int | None = None
    involved_object: WireInvolved | None = None
    regarding: WireInvolved | None = None
    source: WireSource | None = None
    deprecated_source: WireSource | None = None
    reporting_component: str | None = None
    reporting_controller: str | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None
    event_time: str | None = None
    series: WireSeries | None = None


def build_event(wire: WireEvent) -> Event:
    """Return an Event."""
    involved = wire.involved_object or wire.regarding or WireInvolved()
    source = wire.source or wire.deprecated_source or WireSource()
    series = wire.series or WireSeries()
    fields = object_fields(wire.metadata)
    event_ns = timestamp(wire.event_time, "eventTime")
    first_ns = timestamp(wire.first_timestamp or wire.deprecated_first_timestamp, "firstTimestamp")
    last_ns = timestamp(wire.last_timestamp or wire.deprecated_last_timestamp, "lastTimestamp")
    observed_ns = timestamp(series.last_observed_time, "series.lastObservedTime")
    return Event(
        **fields,
        reason=wire.reason or "",
        message=wire.message or wire.note or "",
        type=wire.type or "",
        source=wire.reporting_component or wire.reporting_controller or source.component or "",
        involved_kind=involved.kind or "",
        involved_namespace=involved.namespace or "",
        involved_name=involved.name or "",
        involved_uid=involved.uid or "",
        count=series.count or wire.count or wire.deprecated_count or 1,
        first_ns=first_ns or event_ns or fields["created_ns"],
        last_ns=max(last_ns, observed_ns, event_ns) or fields["created_ns"],
    )


class WireLeaseSpec(Wire):
    """``spec`` of a Lease."""

    holder_identity: str | None = None
    renew_time: str | None = None
    lease_duration_seconds: Int | None = None


class WireLease(WireObject):
    """A Lease."""

    spec: WireLeaseSpec = msgspec.field(default_factory=WireLeaseSpec)


def build_lease(wire: WireLease) -> Lease:
    """Return a Lease."""
    return Lease(
        **object_fields(wire.metadata),
        holder=wire.spec.holder_identity or "",
        renewed_ns=timestamp(wire.spec.renew_time, "spec.renewTime"),
        duration_seconds=wire.spec.lease_duration_seconds or 0,
    )


_HTTPS: Final = 443
_SELECTING: Final = ("objectSelector", "matchConditions")
"""Fields that limit a webhook to some objects; cluster-scoped objects have no namespace."""


class WireWebhooks(WireObject):
    """A ValidatingWebhookConfiguration."""

    webhooks: list[dict[str, Any]] | None = None


def build_webhooks(wire: WireWebhooks) -> WebhookConfiguration:
    """Return a ValidatingWebhookConfiguration, without webhooks whose failures are ignored, or that select objects."""
    webhooks = tuple(
        Webhook(
            text(hook, "name"),
            "/".join(text(hook, "clientConfig", "service", part) for part in ("namespace", "name")),
            port if isinstance(port := field(hook, "clientConfig", "service", "port"), int) else _HTTPS,
            tuple(
                (texts(rule, "operations"), texts(rule, "apiGroups"), texts(rule, "resources"))
                for rule in hook.get("rules") or ()
            ),
        )
        for hook in wire.webhooks or ()
        if hook.get("failurePolicy", "Fail") == "Fail" and not any(hook.get(name) for name in _SELECTING)
    )
    return WebhookConfiguration(**object_fields(wire.metadata), webhooks=webhooks)


class WirePriorityClass(WireObject):
    """A PriorityClass."""

    value: Int | None = None


def build_namespace(wire: WireObject) -> Namespace:
    """Return a Namespace."""
    return Namespace(**object_fields(wire.metadata))


def build_priority_class(wire: WirePriorityClass) -> PriorityClass:
    """Return a PriorityClass."""
    return PriorityClass(**object_fields(wire.metadata), value=wire.value or 0)


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


class WireNode(WireObject):
    """A Node."""

    spec: WireNodeSpec | None = None
    status: WireNodeStatus | None = None


def _cordoned_ns(spec: WireNodeSpec) -> int:
    """Return when a node was cordoned, ``ABSENT_NS`` if unknown or not cordoned."""
    added = (taint.time_added for taint in spec.taints or () if taint.key == UNSCHEDULABLE_TAINT.key)
    return timestamp(next(added, None), "spec.taints.timeAdded") if spec.unschedulable else ABSENT_NS


def build_node(wire: WireNode) -> Node:
    """Return a Node."""
    spec, status = wire.spec or WireNodeSpec(), wire.status or WireNodeStatus()
    info = status.node_info or WireNodeInfo()
    return Node(
        **object_fields(wire.metadata),
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
