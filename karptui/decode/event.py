"""Events, of ``v1`` and ``events.k8s.io/v1`` alike."""

from __future__ import annotations

from karptui.decode.wire import Int, Wire, WireObject, as_arguments, object_fields, timestamp
from karptui.kube.event import Event


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
    """Return an Event.

    Raises:
        FieldError: when a timestamp cannot be read.
    """
    involved = wire.involved_object or wire.regarding or WireInvolved()
    source = wire.source or wire.deprecated_source or WireSource()
    series = wire.series or WireSeries()
    fields = object_fields(wire.metadata)
    event_ns = timestamp(wire.event_time, "eventTime")
    first_ns = timestamp(wire.first_timestamp or wire.deprecated_first_timestamp, "firstTimestamp")
    last_ns = timestamp(wire.last_timestamp or wire.deprecated_last_timestamp, "lastTimestamp")
    observed_ns = timestamp(series.last_observed_time, "series.lastObservedTime")
    return Event(
        **as_arguments(fields),
        reason=wire.reason or "",
        message=wire.message or wire.note or "",
        type=wire.type or "",
        source=wire.reporting_component or wire.reporting_controller or source.component or "",
        involved_kind=involved.kind or "",
        involved_namespace=involved.namespace or "",
        involved_name=involved.name or "",
        involved_uid=involved.uid or "",
        count=series.count or wire.count or wire.deprecated_count or 1,
        first_ns=first_ns or event_ns or fields.created_ns,
        last_ns=max(last_ns, observed_ns, event_ns) or fields.created_ns,
    )
