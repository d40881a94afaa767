"""Instance types and offerings, as every provider hands them to Karpenter. Source: pkg/cloudprovider/types.go."""

from __future__ import annotations

import msgspec

from karptui.kube import resources
from karptui.kube.node_selector import NodeSelectorRequirement
from karptui.kube.resources import ResourceList


class Overhead(msgspec.Struct, frozen=True, gc=False):
    """What the node keeps for itself."""

    kube_reserved: ResourceList = resources.EMPTY
    system_reserved: ResourceList = resources.EMPTY
    eviction_threshold: ResourceList = resources.EMPTY


class Offering(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One way to buy an instance type: a zone and a capacity type, and where it applies a reservation."""

    requirements: tuple[NodeSelectorRequirement, ...]
    price_per_hour: float
    is_available: bool = True
    reservation_capacity: int = 0
    """Instances left in the reservation; 0 for other capacity types."""
    capacity_override: ResourceList | None = None
    overhead_override: Overhead | None = None
    is_price_overlaid: bool = False


class InstanceType(msgspec.Struct, frozen=True, kw_only=True, gc=False, eq=False):
    """An instance type with everything the scheduler asks of it."""

    name: str
    requirements: tuple[NodeSelectorRequirement, ...]
    capacity: ResourceList
    overhead: Overhead = Overhead()
    offerings: tuple[Offering, ...] = ()
