"""Why a pod would have nowhere to go, in a plain sentence: which pod, what is short, and by how much."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from karptui.disruption.no_place import miss_text
from karptui.kube.units import count_text
from karptui.views.sanitize import clean

if TYPE_CHECKING:
    from karptui.disruption.no_place import NoPlace, PoolMiss

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
    nearest = found.nearest
    if nearest is not None:
        alike = found.like(nearest)
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


def _miss_text(miss: PoolMiss, pools: int) -> str:
    """Return why NodePools that fail alike do not take a pod."""
    pool = f"NodePool {miss.pool_name}" if pools == 1 else f"any of {count_text(pools)} NodePools"
    return clean(miss_text(miss, pool))
