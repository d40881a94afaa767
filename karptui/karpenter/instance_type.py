"""Instance types and offerings, as every provider hands them to Karpenter, and NodeOverlays that change them.

Sources: pkg/cloudprovider/types.go, pkg/apis/v1alpha1/nodeoverlay.go.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from karptui.karpenter.labels import CAPACITY_TYPE, RESERVED
from karptui.karpenter.requirements import Requirement
from karptui.karpenter.rules import Rules
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
    is_price_stood_in: bool = False
    """Whether it is the on-demand price, for a spot price that nobody knows: Karpenter reckons with it."""
    error_code: str = ""
    """EC2's error code, if it is unavailable only because EC2 refused it recently."""

    def is_launchable(self, rules: Rules) -> bool:
        """Return whether a node can be launched into it: a reservation must have room, too.

        Until 1.14 a full reservation was not available in the first place.
        """
        is_held = rules.has_room_apart and self.reservation_capacity <= 0
        return self.is_available and not (is_held and self._may_be_reserved)

    @property
    def _may_be_reserved(self) -> bool:
        """Whether its capacity type is one of which some is reserved: any type, or any but spot, counts as well."""
        asked = [one for one in self.requirements if one.key == CAPACITY_TYPE]
        return bool(asked) and all(
            RESERVED in one.values
            if one.operator == "In"
            else Requirement.of(one.key, one.operator, one.values).allows(RESERVED)
            for one in asked
        )

    @property
    def is_reserved(self) -> bool:
        """Whether it is capacity that somebody has reserved."""
        return any(
            one.key == CAPACITY_TYPE and one.operator == "In" and RESERVED in one.values for one in self.requirements
        )


class InstanceType(msgspec.Struct, frozen=True, kw_only=True, gc=False, eq=False):
    """An instance type with everything the scheduler asks of it."""

    name: str
    requirements: tuple[NodeSelectorRequirement, ...]
    capacity: ResourceList
    overhead: Overhead = Overhead()
    offerings: tuple[Offering, ...] = ()
    seen_on: int = 0
    """Nodes that it is known from, where its provider's own list is not; 0 where the list is known."""
    is_named: bool = False
    """Whether no node shows it and only Karpenter's metrics name it, where its provider's own list is not known."""
    unknown_keys: frozenset[str] = frozenset()
    """Labels that are asked for and not known of a seen type."""
    volume_limits: Mapping[str, int] = {}
    """Volumes that a CSI driver may attach, by driver; a driver that is missing is not limited."""

    @property
    def is_guessed(self) -> bool:
        """Whether its provider's own list is not known: there may be others, and more to it."""
        return self.seen_on > 0 or self.is_named


class NodeOverlay(KubeObject, frozen=True, kw_only=True, gc=False):
    """A change to the price or the extended resources of matching instance types; memory and cpu cannot be changed."""

    requirements: tuple[NodeSelectorRequirement, ...] = ()
    price: str | None = None
    price_adjustment: str | None = None
    """``+1.5``, ``-0.1``, ``+10%``, ``-30%``."""
    capacity: ResourceList = resources.EMPTY
    weight: int = 0
    conditions: tuple[Condition, ...] = ()
