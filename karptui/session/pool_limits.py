"""What NodePool limits leave for a new node, resource by resource.

Rules: ``filterByRemainingResources`` in ``pkg/controllers/provisioning/scheduling/scheduler.go``: a type is out when
its whole capacity does not fit into what is left, whatever the pod asks.
"""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.kube import resources
from karptui.kube.quantity import NANO
from karptui.kube.resources import CPU, MEMORY, NODES
from karptui.provisioning.type_verdict import Filter, TypeVerdict
from karptui.session.types import PoolEntry

NEARLY_PERCENT: Final = 90
"""From so much on a limit is pointed out."""
_FIRST: Final = (CPU, MEMORY, NODES)


class LimitUse(msgspec.Struct, frozen=True, kw_only=True):
    """One limited resource of a NodePool."""

    resource: str
    used: int
    """Capacity of its nodes, in nano-units."""
    limit: int
    left: int
    """Below zero where the limit is exceeded."""
    smallest: int | None = None
    """The least that any allowed type needs of it; None without any allowed type."""
    smallest_type: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether no allowed type fits into what is left."""
        return self.left < 0 or (self.smallest is not None and self.smallest > self.left)

    @property
    def is_nearly_used(self) -> bool:
        """Whether hardly anything is left."""
        return 100 * self.used >= NEARLY_PERCENT * self.limit


def allowed_types(entry: PoolEntry) -> tuple[TypeVerdict, ...]:
    """Return the types that a new node could have were there no limits, whichever pods wait."""
    allowed = (None, Filter.LIMITS, Filter.POD) if entry.pods else (None, Filter.LIMITS)
    return tuple(one for one in entry.found.verdicts if one.removed_by in allowed)


def limit_uses(entry: PoolEntry) -> tuple[LimitUse, ...]:
    """Return every limited resource: cpu, memory, nodes, then the others by name."""
    limits, allowed = entry.found.pool.limits or {}, allowed_types(entry)
    order = [name for name in _FIRST if name in limits] + sorted(name for name in limits if name not in _FIRST)
    return tuple(_use(entry, name, limits[name].nano, allowed) for name in order)


def _use(entry: PoolEntry, name: str, limit: int, allowed: tuple[TypeVerdict, ...]) -> LimitUse:
    found = entry.found
    smallest, type_name = None, ""
    if allowed and name == NODES:
        smallest = NANO
    elif allowed:
        smallest, type_name = min(
            (resources.nano(one.instance_type.capacity, name), one.instance_type.name) for one in allowed
        )
    return LimitUse(
        resource=name,
        used=found.used.get(name, 0),
        limit=limit,
        left=found.remaining.get(name, limit),
        smallest=smallest,
        smallest_type=type_name,
    )
