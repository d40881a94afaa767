"""Leases: the shape the API gives them, and how they are read."""

from __future__ import annotations

import msgspec

from karptui.decode.wire import Int, Wire, WireObject, as_arguments, object_fields, timestamp
from karptui.kube.lease import Lease


class WireLeaseSpec(Wire):
    """``spec`` of a Lease."""

    holder_identity: str | None = None
    renew_time: str | None = None
    lease_duration_seconds: Int | None = None


class WireLease(WireObject):
    """A Lease."""

    spec: WireLeaseSpec = msgspec.field(default_factory=WireLeaseSpec)


def build_lease(wire: WireLease) -> Lease:
    """Return a Lease.

    Raises:
        FieldError: when a timestamp cannot be read.
    """
    return Lease(
        **as_arguments(object_fields(wire.metadata)),
        holder=wire.spec.holder_identity or "",
        renewed_ns=timestamp(wire.spec.renew_time, "spec.renewTime"),
        duration_seconds=wire.spec.lease_duration_seconds or 0,
    )
