"""Events."""

from __future__ import annotations

from karptui.kube.event import Event
from tests.builders.instants import MINUTE_NS, NOW_NS


def an_event(
    *,
    name: str = "web-1.1",
    about: str = "Pod/default/web-1",
    reason: str = "FailedScheduling",
    message: str = "Failed to schedule pod",
    type_: str = "Warning",
    source: str = "karpenter",
    count: int = 1,
    last_ns: int = NOW_NS - MINUTE_NS,
) -> Event:
    """Return an event about ``Kind/namespace/name`` or ``Kind/name``."""
    kind, _, rest = about.partition("/")
    namespace, _, involved = rest.rpartition("/")
    return Event(
        name=name,
        namespace=namespace or "default",
        reason=reason,
        message=message,
        type=type_,
        source=source,
        involved_kind=kind,
        involved_namespace=namespace,
        involved_name=involved,
        count=count,
        first_ns=last_ns,
        last_ns=last_ns,
        created_ns=last_ns,
    )
