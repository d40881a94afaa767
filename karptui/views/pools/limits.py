"""What NodePool limits leave for a new node, in words."""

from __future__ import annotations

from collections.abc import Sequence

from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY, NODES
from karptui.kube.units import count_text, memory_text
from karptui.provisioning.type_verdict import Filter
from karptui.session.pool_limits import LimitUse, allowed_types
from karptui.session.types import PoolEntry
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean


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
