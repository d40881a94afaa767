"""Events."""

from __future__ import annotations

from typing import Final

from karptui.kube.objects import Event
from tests.builders.instants import MINUTE_NS, NOW_NS

_NO_CAPACITY: Final = (
    "InsufficientInstanceCapacity: We currently do not have sufficient {instance_type} capacity in the Availability "
    "Zone you requested ({zone}). Our system will be working on provisioning additional capacity."
)


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
    first_ns: int | None = None,
) -> Event:
    """Return an event about ``Kind/namespace/name`` or ``Kind/name``; it happened once unless ``first_ns`` is given."""
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
        first_ns=last_ns if first_ns is None else first_ns,
        last_ns=last_ns,
        created_ns=last_ns,
    )


def a_launch_failure(
    instance_type: str, zone: str, *, claim: str = "general-abcde", last_ns: int = NOW_NS, code: str = ""
) -> Event:
    """Return Karpenter's event about a failed launch: insufficient capacity, or the EC2 error ``code``."""
    error = f"{code}: {code}" if code else _NO_CAPACITY.format(instance_type=instance_type, zone=zone)
    text = f"creating instance, insufficient capacity, with fleet error(s), {error}"
    return an_event(
        name=claim,
        about=f"NodeClaim/{claim}",
        reason="InsufficientCapacityError",
        message=f"NodeClaim {claim} event: {text}",
        last_ns=last_ns,
    )
