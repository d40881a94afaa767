"""The instance types of every NodePool, from one list for all or a list for each, with NodeOverlays applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.provisioning.catalogue import Catalogue, catalogue_of
from karptui.provisioning.overlays import overlaid

InstanceTypes = Sequence[InstanceType] | Mapping[str, Sequence[InstanceType]]
"""One list for every NodePool, or a list by NodePool name; a NodePool without an entry has no types."""


def types_by_pool(
    inventory: Inventory, instance_types: InstanceTypes, settings: Settings
) -> Mapping[str, Sequence[InstanceType]]:
    """Return the types of every NodePool by its name.

    Args:
        inventory: NodePools, and NodeOverlays where their gate is on.
        instance_types: As given, before NodeOverlays.
        settings: Karpenter's own.
    """
    by_pool = {
        pool.name: instance_types.get(pool.name, ()) if isinstance(instance_types, Mapping) else instance_types
        for pool in inventory.nodepools
    }
    return overlaid(inventory, by_pool) if settings.gate("NodeOverlay") else by_pool


def catalogues_of(pools: Iterable[NodePool], types: Mapping[str, Sequence[InstanceType]]) -> dict[str, Catalogue]:
    """Return the types of these NodePools, indexed; NodePools with the same list share an index."""
    by_list: dict[int, Catalogue] = {}
    found: dict[str, Catalogue] = {}
    for pool in pools:
        own = types[pool.name]
        catalogue = by_list.get(id(own))
        if catalogue is None:
            catalogue = by_list[id(own)] = catalogue_of(tuple(own))
        found[pool.name] = catalogue
    return found
