"""In words, why a new node of a NodePool does not take a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from karptui.kube.units import lacking_text

if TYPE_CHECKING:
    from karptui.disruption.no_place import PoolMiss, Shortage

NO_TYPES: Final = "no NodePool has an instance type that it could launch"
_WORDS: Final = {
    "dynamic resources": "it asks for dynamic resources, which Karpenter passes over",
    "NodePools": NO_TYPES,
    "limits": "no node more is within the limits of {pool}",
    "taints": "it does not tolerate {asked} of {pool}",
    "requirements": "no node of {pool} has what it asks of {asked}",
    "volumes": "its volumes are out of reach of {pool}: {asked}",
    "topology": "its spread or affinity rules leave no domain in {pool}",
    "instance types": "no instance type of {pool} has {asked}",
    "reservations": "it waits for reserved capacity of {pool} that others hold",
    "minValues": "a node of {pool} would fall below minValues",
}
"""By gate, what it says; ``asked`` is what is missing."""


def miss_text(miss: PoolMiss, pool: str) -> str:
    """Return why NodePools that fail alike do not take a pod, with names as they are in the cluster.

    Args:
        miss: Of one of them.
        pool: What they are called together, such as ``NodePool general`` or ``any of 3 NodePools``.
    """
    if miss.shortages:
        short = ", ".join(map(shortage_text, miss.shortages))
        return f"{miss.instance_type} of {pool} comes nearest and is short by {short}"
    asked = ", ".join(map(_plain, miss.asked)) or "labels, room and an offering together"
    return _WORDS.get(miss.gate, "no node of {pool} takes it").format(pool=pool, asked=asked)


def shortage_text(shortage: Shortage) -> str:
    """Return what is short and by how much, never understated: ``memory 6,846Mi``."""
    return f"{shortage.resource} {lacking_text(shortage.resource, shortage.need.nano - shortage.room.nano)}"


def _plain(requirement: str) -> str:
    """Return a requirement that one value meets as ``key=value``, others as they are."""
    key, _, values = requirement.partition(" In [")
    return f"{key}={values[:-1]}" if values.endswith("]") and " " not in values else requirement
