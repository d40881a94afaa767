"""Why a pod would have nowhere to go, in a plain sentence: which pod, what is short, and by how much."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from karptui.views.sanitize import clean
from karptui.views.units import count_text, cpu_text, memory_text

if TYPE_CHECKING:
    from karptui.disruption.no_place import NoPlace, PoolMiss, Shortage

_IN_BYTES: Final = (MEMORY, EPHEMERAL_STORAGE)
_GATES: Final = {
    "dynamic resources": "the pod asks for dynamic resources, which Karpenter passes over",
    "NodePools": "no NodePool has a type that it could launch",
    "limits": "no node more is within the limits of {pool}",
    "taints": "it does not tolerate {asked} of {pool}",
    "requirements": "no node of {pool} has what it asks of {asked}",
    "volumes": "its volumes are out of reach of {pool} ({asked})",
    "topology": "its spread or affinity rules leave no domain in {pool}",
    "instance types": "no instance type of {pool} has {asked}",
    "reservations": "the reserved capacity of {pool} is taken",
    "minValues": "a node of {pool} would fall below minValues",
}
"""By gate, what it says; ``asked`` is what is missing."""
_SHORT: Final = {
    "room": "room",
    "taints": "taints",
    "requirements": "labels",
    "volumes": "volumes",
    "topology": "spread or affinity",
    "host ports": "host ports",
    "instance types": "room or labels",
}
"""By gate, the word that counts are given in."""


def no_place_text(found: NoPlace) -> str:
    """Return ``web/big-0 has no other place: m5.xlarge of general is short by cpu 1200m``."""
    others = ""
    if found.others:
        others = f" (nor {'has' if found.others == 1 else 'have'} {count_text(found.others)} more)"
    return f"{clean(found.pod_key)} has no other place{others}: {cause_text(found)}"


def cause_text(found: NoPlace) -> str:
    """Return the same without the pod: what the NodePool that comes nearest says, and how the others fail."""
    if found.uninitialized_node:
        return f"only {clean(found.uninitialized_node)} would take it, which is not initialised yet"
    parts = []
    if found.pools:
        nearest = min(found.pools, key=lambda pool: pool.distance)
        alike = [pool for pool in found.pools if _cause(pool) == _cause(nearest)]
        parts.append(_miss_text(nearest, len(alike)))
        counts = Counter(_SHORT.get(pool.gate, pool.gate) for pool in found.pools if pool not in alike)
        if counts:
            parts.append(f"other NodePools: {_counts_text(counts)}")
    else:
        parts.append("no NodePool can launch a node for it")
    if found.nodes:
        counts = Counter({_SHORT.get(gate, gate): count for gate, count in found.nodes})
        parts.append(f"{count_text(sum(counts.values()))} nodes tried: {_counts_text(counts)}")
    return "; ".join(parts)


def _counts_text(counts: Counter[str]) -> str:
    return " · ".join(f"{count_text(count)} {word}" for word, count in counts.most_common())


def _cause(miss: PoolMiss) -> tuple[object, ...]:
    return miss.gate, miss.instance_type, miss.shortages, miss.asked


def _miss_text(miss: PoolMiss, pools: int) -> str:
    """Return why NodePools that fail alike do not take a pod."""
    pool = f"NodePool {clean(miss.pool_name)}" if pools == 1 else f"any of {count_text(pools)} NodePools"
    if miss.shortages:
        short = ", ".join(map(shortage_text, miss.shortages))
        return f"{clean(miss.instance_type)} of {pool} comes nearest and is short by {short}"
    asked = clean(", ".join(map(_plain, miss.asked))) or "labels, room and an offering together"
    return _GATES.get(miss.gate, "no node of {pool} takes it").format(pool=pool, asked=asked)


def _plain(requirement: str) -> str:
    """Return a requirement that one value meets as ``key=value``, others as they are."""
    key, _, values = requirement.partition(" In [")
    return f"{key}={values[:-1]}" if values.endswith("]") and " " not in values else requirement


def shortage_text(shortage: Shortage) -> str:
    """Return ``memory 6,846Mi`` for what is missing."""
    name, missing = shortage.resource, shortage.need - shortage.room
    if name == CPU:
        return f"cpu {cpu_text(missing.millis)}"
    if name in _IN_BYTES:
        return f"{name} {memory_text(missing.units)}"
    return f"{clean(name)} {missing}"
