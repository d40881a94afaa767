"""Instance types and offerings, as every provider hands them to Karpenter, and NodeOverlays that change them.

Sources: pkg/cloudprovider/types.go, pkg/apis/v1alpha1/nodeoverlay.go.
"""

from __future__ import annotations

import msgspec

from karptui.kube import resources
from karptui.kube.objects import Condition, KubeObject
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import NodeSelectorRequirement


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


class NodeOverlay(KubeObject, frozen=True, kw_only=True, gc=False):
    """A change to the price or the extended resources of matching instance types; memory and cpu cannot be changed."""

    requirements: tuple[NodeSelectorRequirement, ...] = ()
    price: str | None = None
    price_adjustment: str | None = None
    """``+1.5``, ``-0.1``, ``+10%``, ``-30%``."""
    capacity: ResourceList = resources.EMPTY
    weight: int = 0
    conditions: tuple[Condition, ...] = ()
