"""Why a NodePool does not accept a pod, as data with Karpenter's message.

Rules: ``pkg/controllers/provisioning/scheduling/nodeclaim.go`` and ``scheduler.go``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import ClassVar, Final

import msgspec

from karptui.karpenter.requirements import KeyConflict, Requirement, Requirements, UndefinedKey
from karptui.kube import resources
from karptui.kube.quantity import NANO, Quantity
from karptui.kube.resources import CPU, ResourceList
from karptui.kube.selectors import LabelSelector
from karptui.kube.taints import Taint

_MANY_CORES_NANO: Final = 1_000_000 * NANO
_MAX_DOMAINS: Final = 25


class PlacementGate(StrEnum):
    """The checks for scheduling a pod to a node or claim."""

    DYNAMIC_RESOURCES = "dynamic resources"
    NODEPOOLS = "NodePools"
    LIMITS = "limits"
    TAINTS = "taints"
    REQUIREMENTS = "requirements"
    VOLUMES = "volumes"
    TOPOLOGY = "topology"
    INSTANCE_TYPES = "instance types"
    RESERVATIONS = "reservations"
    MIN_VALUES = "minValues"
    ROOM = "room"
    PORTS = "host ports"


class Rejection(msgspec.Struct, frozen=True):
    """A reason; ``str`` is Karpenter's message."""

    gate: ClassVar[PlacementGate]
    """The check that failed."""


class DynamicResourcesUnsupported(Rejection, frozen=True):
    """The pod uses Dynamic Resource Allocation, which Karpenter ignores."""

    gate: ClassVar[PlacementGate] = PlacementGate.DYNAMIC_RESOURCES

    def __str__(self) -> str:
        return "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"


class NoTemplates(Rejection, frozen=True):
    """No NodePool has a usable instance type."""

    gate: ClassVar[PlacementGate] = PlacementGate.NODEPOOLS

    def __str__(self) -> str:
        return "nodepool requirements filtered out all available instance types"


class LimitReached(Rejection, frozen=True):
    """The NodePool's limits allow no instance type, or no node."""

    nodepool: str
    is_node_count: bool
    besides: Rejection | None = None
    """The rejection without limits, if it is known and there is one."""

    gate: ClassVar[PlacementGate] = PlacementGate.LIMITS

    def __str__(self) -> str:
        if self.is_node_count:
            return f"node limits have been exhausted for nodepool (NodePool={self.nodepool})"
        return f"all available instance types exceed limits for nodepool (NodePool={self.nodepool})"


class TaintsNotTolerated(Rejection, frozen=True):
    """The pod does not tolerate some of the NodePool's taints."""

    taints: tuple[Taint, ...]

    gate: ClassVar[PlacementGate] = PlacementGate.TAINTS

    def __str__(self) -> str:
        return "; ".join(f"did not tolerate taint (taint={taint})" for taint in self.taints)


class RequirementsUnmet(Rejection, frozen=True):
    """The NodePool cannot meet some label requirements of the pod."""

    gate: ClassVar[PlacementGate] = PlacementGate.REQUIREMENTS

    reasons: tuple[UndefinedKey | KeyConflict, ...]

    def __str__(self) -> str:
        return "incompatible requirements, " + "; ".join(map(str, self.reasons))


class VolumeUnreachable(RequirementsUnmet, frozen=True):
    """The NodePool cannot meet the location of the pod's volumes."""

    gate: ClassVar[PlacementGate] = PlacementGate.VOLUMES

    def __str__(self) -> str:
        return "incompatible volume requirements, " + "; ".join(map(str, self.reasons))


class DomainUnreachable(RequirementsUnmet, frozen=True):
    """The NodePool cannot meet the domain chosen by topology rules."""

    gate: ClassVar[PlacementGate] = PlacementGate.TOPOLOGY

    def __str__(self) -> str:
        return "; ".join(map(str, self.reasons))


class TopologyUnmet(Rejection, frozen=True):
    """A topology rule allows no domain. The counts are those at the end of the run."""

    kind: str
    key: str
    counts: Mapping[str, int]
    pod_domains: Requirement
    node_domains: Requirement
    selector: LabelSelector | None = None
    """Pods that the rule counts."""
    namespaces: frozenset[str] = frozenset()
    max_skew: int = 0
    min_domains: int | None = None

    gate: ClassVar[PlacementGate] = PlacementGate.TOPOLOGY

    @property
    def next_domains(self) -> tuple[str, ...]:
        """Domains of a spread that may get the next pod, by the counts alone, and that the pod allows."""
        least = min(self.counts.values(), default=0)
        fewest = (name for name in sorted(self.counts) if self.counts[name] - least < self.max_skew)
        return tuple(name for name in fewest if self.pod_domains.allows(name))

    def __str__(self) -> str:
        names = sorted(self.counts)
        counts = ", ".join(f"{name}: {self.counts[name]}" for name in names[:_MAX_DOMAINS])
        if len(names) > _MAX_DOMAINS:
            counts += f" and {len(names) - _MAX_DOMAINS} other(s)"
        return (
            f"unsatisfiable topology constraint for {self.kind}, key={self.key} (counts = {counts},"
            f" podDomains = {self.pod_domains}, nodeDomains = {self.node_domains}"
        )


class WaitsForReservation(Rejection, frozen=True):
    """The pod waits for reserved capacity: lighter NodePools are not tried, and no event is published."""

    gate: ClassVar[PlacementGate] = PlacementGate.RESERVATIONS


class NotReservable(WaitsForReservation, frozen=True):
    """Compatible reserved capacity is used by other claims of this run."""

    def __str__(self) -> str:
        return "one or more instance types with compatible reserved offerings are available, but could not be reserved"


class ReservationsFull(WaitsForReservation, frozen=True):
    """Only full reservations are compatible with the pod."""

    def __str__(self) -> str:
        return "all compatible reserved offerings are full and no on-demand or spot fallback is available"


class ReservationPassedUp(Rejection, frozen=True):
    """Only full reservations are compatible; disruption then tries lighter NodePools."""

    gate: ClassVar[PlacementGate] = PlacementGate.RESERVATIONS

    def __str__(self) -> str:
        return "the only compatible reserved offering is full; falling through to other NodePools"


class VolumesExceeded(Rejection, frozen=True):
    """The pod's volumes exceed the attachment limits of every instance type."""

    driver: str = ""
    """A driver whose limit is exceeded on every type; empty if it differs between types."""
    count: int = 0
    limit: int = 0

    gate: ClassVar[PlacementGate] = PlacementGate.VOLUMES

    def __str__(self) -> str:
        text = "would exceed volume limit for all instance type options"
        if not self.driver:
            return text
        return f"{text} (provisioner={self.driver}, volume-count={self.count}, volume-limit={self.limit})"


class TypesExhausted(Rejection, frozen=True, kw_only=True):
    """No instance type meets labels, room and offering."""

    requirements: Requirements
    pod_requests: ResourceList
    overheads: tuple[ResourceList, ...]
    """Requests of DaemonSet pods for each group of types, without groups that conflict with the pod's host ports."""
    considered: int
    """Types within the limits."""
    with_labels: int
    """Considered types with matching labels."""
    with_offering: int
    """Considered types with a matching offering."""
    with_labels_and_offering: int
    """Considered types with matching labels and offering."""
    with_room: int
    """Considered types with a matching offering and room for the pod and DaemonSet pods."""
    clashing_ports: bool = False
    """Whether DaemonSet pods use the pod's host ports on some types."""
    unmet_min_values: tuple[tuple[str, int], ...] = ()
    """Labels with fewer values than ``minValues`` among the remaining types, with the number of values."""

    gate: ClassVar[PlacementGate] = PlacementGate.INSTANCE_TYPES

    @property
    def reason(self) -> str:
        """Karpenter's message about missing labels, room or offering."""
        if self.unmet_min_values:
            keys = " ".join(sorted(key for key, _ in self.unmet_min_values))
            return f"minValues requirement is not met for label(s) (label(s)=[{keys}])"
        if not self.with_labels and not self.with_room:
            also = "" if self.with_offering else " or had a required offering"
            return f"no instance type met the scheduling requirements or had enough resources{also}"
        if not self.with_offering:
            return "no instance type had enough resources or had a required offering"
        if not self.with_labels:
            return "no instance type met all requirements"
        if not self.with_room:
            return "no instance type has enough resources"
        return "no instance type which had enough resources and the required offering met the scheduling requirements"

    def __str__(self) -> str:
        reason = self.reason
        text = f"{reason}, requirements={self.requirements}, resources={self._resources()}"
        many_cores = resources.nano(self.pod_requests, CPU) >= _MANY_CORES_NANO
        if reason == "no instance type has enough resources" and many_cores:
            text += " (CPU request >= 1 Million, m vs M typo?)"
        return text

    def _resources(self) -> str:
        overheads = [overhead for overhead in self.overheads if overhead]
        if not overheads:
            return as_json(self.pod_requests)
        least, most = (
            as_json(resources.add(_minimum(overheads), self.pod_requests)),
            as_json(resources.add(resources.maximum(overheads), self.pod_requests)),
        )
        return least if least == most else f"min={least}, max={most}"


class MinValuesLost(Rejection, frozen=True):
    """The cheapest 600 types of the claim have fewer values than ``minValues``."""

    nodepool: str
    keys: tuple[str, ...]

    gate: ClassVar[PlacementGate] = PlacementGate.MIN_VALUES

    def __str__(self) -> str:
        keys = " ".join(sorted(self.keys))
        return (
            "pod didn’t schedule because NodePool couldn’t meet minValues requirements, validating minValues, minValues"
            f" requirement is not met for label(s) (label(s)=[{keys}]) (NodePool={self.nodepool})"
        )


def holds_for_all_types(rejection: Rejection | None) -> bool:
    """Return whether a rejection does not depend on instance types: taints, labels, number of nodes, known domains."""
    match rejection:
        case TaintsNotTolerated() | VolumeUnreachable():
            return True
        case LimitReached():
            return rejection.is_node_count or holds_for_all_types(rejection.besides)
        case TopologyUnmet():
            # Other types may add domains, and these do not change which of the NodePool's own ones are allowed.
            domains = rejection.node_domains
            is_known = not domains.complement and domains.values <= rejection.counts.keys()
            return is_known and (rejection.min_domains or 0) <= len(rejection.counts)
        case RequirementsUnmet():
            # A label with a domain may be set by the provider.
            return any(isinstance(reason, KeyConflict) or "/" not in reason.key for reason in rejection.reasons)
        case _:
            return False


class PodError(msgspec.Struct, frozen=True):
    """Why a pod is unschedulable: a reason per NodePool, in the order Karpenter tries them."""

    rejections: tuple[tuple[str, Rejection], ...]
    """NodePool (empty for general reasons) and reason."""

    @property
    def is_reserved(self) -> bool:
        """Whether the pod only waits for reserved capacity, which Karpenter does not report."""
        return any(isinstance(rejection, WaitsForReservation) for _, rejection in self.rejections)

    @property
    def full_pool(self) -> str:
        """NodePool whose full reservations the pod waits for; otherwise empty."""
        return next((pool for pool, rejection in self.rejections if isinstance(rejection, ReservationsFull)), "")

    def hangs_on(self, guessed: AbstractSet[str]) -> bool:
        """Return whether the result depends on unknown types of some of these NodePools."""
        return bool(guessed - {pool for pool, rejection in self.rejections if holds_for_all_types(rejection)})

    def __str__(self) -> str:
        return "; ".join(str(rejection) for _, rejection in self.rejections)


def as_json(amounts: ResourceList) -> str:
    """Return resources as in Karpenter's messages: JSON with sorted keys and canonical quantities."""
    return json.dumps({name: str(amounts[name]) for name in sorted(amounts)}, separators=(",", ":"))


def _minimum(lists: Sequence[ResourceList]) -> dict[str, Quantity]:
    least = dict(lists[0])
    for amounts in lists[1:]:
        least = {
            name: amounts[name] if amounts[name].nano < amount.nano else amount
            for name, amount in least.items()
            if name in amounts
        }
    return least


def least_overhead(lists: Sequence[ResourceList]) -> dict[str, Quantity]:
    """Return the minimum DaemonSet overhead of a claim's groups of types.

    As in Karpenter, an empty list is not a minimum of zero but is skipped.
    """
    least: dict[str, Quantity] = {}
    for amounts in lists:
        least = _minimum([least, amounts]) if least else dict(amounts)
    return least
