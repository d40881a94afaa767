"""Instance types and offerings as cloud providers report them to Karpenter, and the NodeOverlays that change them.

Also the error codes of EC2 that Karpenter treats as insufficient capacity.

Sources: pkg/cloudprovider/types.go, pkg/apis/v1alpha1/nodeoverlay.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from karptui.karpenter.labels import CAPACITY_TYPE, RESERVED
from karptui.karpenter.requirements import Requirement
from karptui.karpenter.rules import Rules
from karptui.kube import resources
from karptui.kube.objects import Condition, KubeObject
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import NodeSelectorRequirement


class Overhead(msgspec.Struct, frozen=True, gc=False):
    """Resources reserved for the system."""

    kube_reserved: ResourceList = resources.EMPTY
    system_reserved: ResourceList = resources.EMPTY
    eviction_threshold: ResourceList = resources.EMPTY


class Offering(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A zone and capacity type in which an instance type can be launched, possibly in a reservation."""

    requirements: tuple[NodeSelectorRequirement, ...]
    price_per_hour: float
    is_available: bool = True
    reservation_capacity: int = 0
    """Instances left in the reservation; 0 for other capacity types."""
    capacity_override: ResourceList | None = None
    overhead_override: Overhead | None = None
    is_price_overlaid: bool = False
    is_price_assumed: bool = False
    """Whether the on-demand price replaces an unknown spot price, as in Karpenter."""
    error_code: str = ""
    """EC2's error code if the offering is unavailable only because a recent launch was refused."""

    def is_launchable(self, rules: Rules) -> bool:
        """Return whether a node can be launched: a reservation must also have free capacity.

        Before 1.15 a full reservation was not available at all.
        """
        is_held = rules.has_room_apart and self.reservation_capacity <= 0
        return self.is_available and not (is_held and self._may_be_reserved)

    @property
    def _may_be_reserved(self) -> bool:
        """Whether its capacity types include reserved, also by Exists or NotIn."""
        requirements = [requirement for requirement in self.requirements if requirement.key == CAPACITY_TYPE]
        return bool(requirements) and all(
            RESERVED in requirement.values
            if requirement.operator == "In"
            else Requirement.of(requirement.key, requirement.operator, requirement.values).allows(RESERVED)
            for requirement in requirements
        )

    @property
    def is_reserved(self) -> bool:
        """Whether it belongs to a capacity reservation."""
        return any(
            requirement.key == CAPACITY_TYPE and requirement.operator == "In" and RESERVED in requirement.values
            for requirement in self.requirements
        )


class InstanceType(msgspec.Struct, frozen=True, kw_only=True, gc=False, eq=False):
    """An instance type with all the data that scheduling needs."""

    name: str
    requirements: tuple[NodeSelectorRequirement, ...]
    capacity: ResourceList
    overhead: Overhead = Overhead()
    offerings: tuple[Offering, ...] = ()
    seen_on: int = 0
    """Number of nodes the type was inferred from, if the provider's catalogue is unknown; 0 if it is known."""
    is_named: bool = False
    """Whether the type is only known from Karpenter's metrics, and the provider's catalogue is unknown."""
    unknown_keys: frozenset[str] = frozenset()
    """Requested labels whose values are unknown for an inferred type."""
    volume_limits: Mapping[str, int] = {}
    """Attachable volumes by CSI driver; a missing driver has no limit."""

    @property
    def is_guessed(self) -> bool:
        """Whether the provider's catalogue is unknown, so the data may be incomplete."""
        return self.seen_on > 0 or self.is_named


class NodeOverlay(KubeObject, frozen=True, kw_only=True, gc=False):
    """A change to the price or extended resources of matching instance types; never to cpu or memory."""

    requirements: tuple[NodeSelectorRequirement, ...] = ()
    price: str | None = None
    price_adjustment: str | None = None
    """``+1.5``, ``-0.1``, ``+10%``, ``-30%``."""
    capacity: ResourceList = resources.EMPTY
    weight: int = 0
    conditions: tuple[Condition, ...] = ()


NO_FREE_ADDRESSES: Final = "InsufficientFreeAddressesInSubnet"
NO_SPOT_ROLE: Final = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
RESERVATION_FULL: Final = "ReservationCapacityExceeded"
PLACEMENT_GROUP_FULL: Final = "SpreadPlacementGroupLimit"
"""Not EC2's code, which is that of insufficient capacity."""
UNFULFILLABLE: Final = "UnfulfillableCapacity"
"""Also used if the error code is unknown."""

_WORDS: Final = {
    NO_FREE_ADDRESSES: "no free IP addresses in the subnets",
    NO_SPOT_ROLE: "no permission to create EC2's service-linked role for spot",
    RESERVATION_FULL: "reservation full",
    PLACEMENT_GROUP_FULL: "the spread placement group has seven instances in the zone, the most that EC2 allows",
    "MaxFleetCountExceeded": "quota of EC2 fleets reached",
    "MaxSpotInstanceCountExceeded": "spot quota reached",
    "Unsupported": "not supported by EC2",
    "VcpuLimitExceeded": "vCPU quota reached",
}


def error_words(code: str) -> str:
    """Return the text for an error code; other codes mean insufficient capacity."""
    return _WORDS.get(code, "insufficient capacity in EC2")
