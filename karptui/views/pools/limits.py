"""What NodePool limits leave for a new node, resource by resource.

Rules: ``filterByRemainingResources`` in ``pkg/controllers/provisioning/scheduling/scheduler.go``: a type is out when
its whole capacity does not fit into what is left, whatever the pod asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from karptui.kube import resources
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY, NODES
from karptui.kube.units import count_text, memory_text
from karptui.provisioning.type_verdict import Filter, TypeVerdict
from karptui.session.types import PoolEntry
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean

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


def amount_text(resource: str, nano: int) -> str:
    """Return an amount of a limited resource in words: ``12 cores``, ``318Gi``, ``2 nodes``, ``4 nvidia.com/gpu``."""
    if resource in (MEMORY, EPHEMERAL_STORAGE):
        return memory_text(nano // NANO)
    number = number_text(resource, nano)
    noun = {CPU: "core", NODES: "node"}.get(resource)
    return f"{number} {clean(resource)}" if noun is None else f"{number} {noun}{'s' * (number != '1')}"


def number_text(resource: str, nano: int) -> str:
    """Return the same without the noun."""
    if resource in (MEMORY, EPHEMERAL_STORAGE):
        return memory_text(nano // NANO)
    if resource == CPU and nano % NANO:
        return f"{nano / NANO_PER_MILLI / 1000:,.1f}"
    return count_text(nano // NANO)


def limit_sentence(use: LimitUse) -> tuple[str, Tone]:
    """Return what is left in words: ``12 cores left and the smallest allowed type needs 2``."""
    limit = amount_text(use.resource, use.limit)
    if use.left < 0:
        return f"{amount_text(use.resource, -use.left)} over the limit of {limit}: no new node", Tone.FAULT
    left = f"{amount_text(use.resource, use.left)} left"
    named = f" ({clean(use.smallest_type)})" if use.smallest_type else ""
    if use.smallest is None:
        return f"{left} of {limit}", Tone.MUTED
    if use.resource == NODES:
        return (f"{left} of {limit}: no new node", Tone.FAULT) if use.is_closed else (f"{left} of {limit}", _tone(use))
    if not use.smallest:
        return f"{left} of {limit}; some allowed types need none", _tone(use)
    needs = number_text(use.resource, use.smallest)
    if use.is_closed:
        return f"no new node: smallest allowed type needs {needs}, {left}{named}", Tone.FAULT
    return f"{left} and the smallest allowed type needs {needs}{named}", _tone(use)


def _tone(use: LimitUse) -> Tone:
    return Tone.WARNING if use.is_nearly_used else Tone.NORMAL


def limit_line(entry: PoolEntry, uses: Sequence[LimitUse]) -> Pieces:
    """Return all limits of a NodePool in one line; nothing without limits."""
    pieces: list[tuple[str, Tone]] = []
    for use in sorted(uses, key=lambda one: not one.is_closed):
        pieces += [(" · ", Tone.MUTED), limit_sentence(use)]
    if not pieces:
        return ()
    out = sum(1 for one in entry.found.verdicts if one.removed_by is Filter.LIMITS)
    allowed = len(allowed_types(entry))
    if 0 < out < allowed:
        verb = "is" if out == 1 else "are"
        too_large = f" · {count_text(out)} of {count_text(allowed)} types {verb} too large for what is left"
        pieces.append((too_large, Tone.WARNING))
    return (("limits: ", Tone.MUTED), *pieces[1:])
