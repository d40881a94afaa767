"""Why a pod has no node, by the engine and the pod's own state."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from karptui.aws.prices import LIST_PRICES, PriceSettings
from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import HOSTNAME, ZONE
from karptui.karpenter.pod_predicates import UNSCHEDULABLE
from karptui.karpenter.requirements import IN, Requirements
from karptui.kube.pod import SCHEDULING_GATED, Pod
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import NodeSelectorRequirement, NodeSelectorTerm
from karptui.kube.taints import forbidding
from karptui.kube.timestamps import MINUTE_NS
from karptui.kube.volumes import IMMEDIATE, SELECTED_NODE, STATIC, PersistentVolumeClaim
from karptui.provisioning.kube_scheduler import is_kube_scheduled
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.rejection import PodError
from karptui.provisioning.solution import NewClaim, Solution
from karptui.provisioning.volumes import VolumeIndex, VolumeLookupError
from karptui.provisioning.waiting_pods import IgnoredPod
from karptui.state.cluster import ClusterState


class Cause(StrEnum):
    """Why a pod is pending."""

    UNPLACED = "no place"
    """Karpenter cannot schedule it."""
    UNKNOWN = "not known"
    """Depends on instance types that are unknown here."""
    RESERVED = "waits for reserved capacity"
    """Karpenter waits in silence for a reservation that another claim of the run holds."""
    FULL = "reservations full"
    """Only reservations that are full suit it: Karpenter waits in silence, and tries no lighter NodePool."""
    IGNORED = "refused"
    """Karpenter finds its selectors faulty and does not look at it."""
    SILENT = "ignored in silence"
    """Its own rules keep it off every NodePool; Karpenter says nothing."""
    NO_POOL = "no NodePool"
    """There is no usable NodePool; Karpenter says nothing."""
    POOLS_UNREAD = "NodePools not read"
    """There may be NodePools: they were not read."""
    NODES_UNREAD = "nodes not read"
    """It may fit on nodes: they, or NodeClaims, were not read."""
    NODE = "existing node"
    """It has room on a node that is there."""
    CLAIM = "new node"
    """A new node would take it."""
    GATED = "gated"
    """Scheduling gates hold it."""
    UNTRIED = "not tried yet"
    """The scheduler has not refused it, and until then Karpenter does not look at it."""
    BINDING = "volumes binding"
    """The scheduler has selected its node, and waits until its volumes are created and bound."""
    OTHER_SCHEDULER = "other scheduler"
    """The same, with a scheduler other than the default one."""
    PREEMPTING = "preempting"
    """The scheduler makes room for it on a node."""
    DAEMON = "DaemonSet"
    """A DaemonSet made it for one node: Karpenter makes no nodes for it."""
    STATIC = "static"
    """A node owns it."""
    LOST_NODE = "node gone"
    """It is bound to a node that is not there."""
    LEAVING = "terminating"
    """It is being deleted."""


FAULTY: Final = frozenset({Cause.UNPLACED, Cause.FULL, Cause.IGNORED, Cause.SILENT, Cause.NO_POOL, Cause.LOST_NODE})
"""Causes that the user must fix."""
SILENT: Final = frozenset({Cause.RESERVED, Cause.FULL, Cause.SILENT, Cause.NO_POOL})
"""Causes without an event of Karpenter."""
ENGINE: Final = frozenset({Cause.UNPLACED, Cause.UNKNOWN, Cause.RESERVED, Cause.FULL, Cause.NODE, Cause.CLAIM})
"""Causes that a run of the engine decides."""
UNMADE_NS: Final = 5 * MINUTE_NS
"""Drivers create a volume within a minute."""


class PodDestination(msgspec.Struct, frozen=True):
    """Where the engine puts a pod."""

    node: str = ""
    """A node that exists; empty for a new one."""
    nodepool: str = ""
    instance_type: str = ""
    """The cheapest of a new node."""
    other_types: int = 0
    """Other types that the new node may have."""
    price_per_hour: float | None = None
    """Dollars, of the cheapest offering of a new node; None if unknown."""
    requests: ResourceList = {}
    """Of all pods of a new node, DaemonSets included."""


class Diagnosis(msgspec.Struct, frozen=True):
    """One pod."""

    cause: Cause
    destination: PodDestination | None = None
    error: PodError | None = None
    problems: tuple[str, ...] = ()
    """What Karpenter finds faulty, in its words."""


class Diagnoses:
    """Explains pending pods after a run."""

    def __init__(self, prepared: Prepared, solution: Solution, prices: PriceSettings = LIST_PRICES) -> None:
        self._has_pools = bool(prepared.pools)
        unread = prepared.inventory.unread
        self._lacks_nodes = not unread.isdisjoint((Kind.NODE, Kind.NODECLAIM))
        self._without_pools = Cause.POOLS_UNREAD if Kind.NODEPOOL in unread else Cause.NO_POOL
        self._ignored: dict[str, IgnoredPod] = {pod.pod.uid: pod for pod in prepared.ignored}
        self._errors = solution.errors
        self._binding = {
            claim.key
            for claim in prepared.inventory.claims
            if claim.annotations.get(SELECTED_NODE) and not claim.volume_name
        }
        self._destinations: dict[str, PodDestination] = {}
        for filled in solution.nodes:
            destination = PodDestination(node=filled.state.name, nodepool=filled.state.nodepool_name)
            self._destinations.update((pod.uid, destination) for pod in filled.pods)
        self._guessed = [pool for pool in prepared.pools if pool.name in prepared.guessed_pools]
        self._unknown: set[str] = set()
        """Pods that go to a type without a known value for a label that they or the NodePool require."""
        for claim in solution.claims:
            destination = _destination_of_claim(claim, prices)
            self._destinations.update((pod.uid, destination) for pod in claim.pods)
            if all(instance_type.unknown_keys & claim.requirements.keys() for instance_type in claim.instance_types):
                self._unknown.update(pod.uid for pod in claim.pods)

    def of(self, pod: Pod) -> Diagnosis:
        """Return the reason that a pod has no running node."""
        if (outside := self._outside(pod)) is not None:
            return Diagnosis(outside)
        if (ignored := self._ignored.get(pod.uid)) is not None:
            return Diagnosis(Cause.SILENT if ignored.is_silent else Cause.IGNORED, problems=ignored.problems)
        if not self._has_pools:
            return Diagnosis(self._without_pools)
        if self._lacks_nodes:
            return Diagnosis(Cause.NODES_UNREAD)
        if (error := self._errors.get(pod.key)) is not None:
            return Diagnosis(self._unplaced(pod, error), error=error)
        if pod.uid in self._unknown:
            return Diagnosis(Cause.UNKNOWN)
        destination = self._destinations.get(pod.uid)
        if destination is None:
            return Diagnosis(Cause.UNTRIED)
        return Diagnosis(Cause.NODE if destination.node else Cause.CLAIM, destination)

    def _unplaced(self, pod: Pod, error: PodError) -> Cause:
        if error.is_reserved:
            return Cause.FULL if error.full_pool else Cause.RESERVED
        guessed = {pool.name for pool in self._guessed if not forbidding(pool.taints, pod.template.tolerations)}
        return Cause.UNKNOWN if error.hangs_on(guessed) else Cause.UNPLACED

    def _outside(self, pod: Pod) -> Cause | None:
        """Return the cause why Karpenter does not schedule a pod, None if it does.

        Rule: ``IsProvisionable`` in Karpenter's ``pkg/utils/pod/scheduling.go``.
        """
        template = pod.template
        if pod.node_name:
            return Cause.LOST_NODE
        if template.is_node_owned:
            return Cause.STATIC
        if pod.scheduled_reason == SCHEDULING_GATED:
            return Cause.GATED
        if template.is_daemonset_owned:
            return Cause.DAEMON
        if pod.nominated_node_name:
            return Cause.PREEMPTING
        if pod.scheduled_reason != UNSCHEDULABLE:
            if pod.is_terminating:
                return Cause.LEAVING
            if not is_kube_scheduled(pod):
                return Cause.OTHER_SCHEDULER
            claims = (f"{pod.namespace}/{volume.claim_of(pod.name)}" for volume in pod.volumes)
            # A reason is that of a failure after the selection.
            is_binding = not pod.scheduled_reason and not self._binding.isdisjoint(claims)
            return Cause.BINDING if is_binding else Cause.UNTRIED
        return None


def _destination_of_claim(claim: NewClaim, settings: PriceSettings = LIST_PRICES) -> PodDestination:
    """Return a NodeClaim that would be created as a destination, by its cheapest type, in dollars that are paid."""
    catalogue = claim.catalogue
    prices = catalogue.prices(claim.requirements)
    types = {instance_type.name: price for instance_type, price in zip(catalogue.types, prices, strict=True)}
    names = claim.instance_type_names
    first = min(names, key=lambda name: (types[name], name), default="")
    return PodDestination(
        nodepool=claim.nodepool_name,
        instance_type=first,
        other_types=max(len(names) - 1, 0),
        price_per_hour=settings.paid(claim.cheapest_price_per_hour),
        requests=claim.requests,
    )


def zones_of_volumes(pod: Pod, state: ClusterState) -> list[tuple[str, frozenset[str]]]:
    """Return the zones that each of a pod's volumes may be in, by what says so; nothing if one is unknown.

    A bound claim says it, or the ``allowedTopologies`` of the StorageClass of an unbound one.
    """
    inventory = Inventory(
        claims=tuple(state.of(Kind.PVC).values()),
        volumes=tuple(state.of(Kind.PV).values()),
        storage_classes=tuple(state.of(Kind.STORAGE_CLASS).values()),
        unread=state.unread,
    )
    try:
        reach = VolumeIndex(inventory).reach(pod)
    except VolumeLookupError:
        return []
    zones_by_key = [(key, zones) for key, alternatives in reach if (zones := _zones(alternatives)) is not None]
    return [(f"{_storage_class(key, state)}PVC {key}", zones) for key, zones in zones_by_key]


def _storage_class(key: str, state: ClusterState) -> str:
    claim = state.of(Kind.PVC).get(key)
    return "" if claim is None or claim.volume_name else f"StorageClass {claim.storage_class_name} of "


def storage_classes(pod: Pod, state: ClusterState) -> tuple[str, ...]:
    """Return the StorageClasses of a pod's volumes that are not made yet."""
    claims = (state.of(Kind.PVC).get(f"{pod.namespace}/{volume.claim_of(pod.name)}") for volume in pod.volumes)
    return tuple(claim.storage_class_name or "" for claim in claims if claim is not None and not claim.volume_name)


def gone_node(pod: Pod, state: ClusterState) -> tuple[str, str] | None:
    """Return the claim of a volume that only a node can reach that does not exist, and that node; None for others.

    Karpenter ignores the hostname that a local volume requires, so it finds room for such a pod.
    """
    for pod_volume in pod.volumes:
        claim = state.of(Kind.PVC).get(f"{pod.namespace}/{pod_volume.claim_of(pod.name)}")
        volume = state.of(Kind.PV).get(claim.volume_name) if claim is not None else None
        gone = _gone_hosts(volume.required_node_terms, state) if volume is not None else ""
        if claim is not None and gone:
            return claim.name, gone
    return None


def awaited_driver(claim: PersistentVolumeClaim, state: ClusterState, now_ns: int) -> str:
    """Return the driver that has not created the volume of a claim for a while, though it should; empty without one.

    It should at once if the StorageClass says so, else as soon as kube-scheduler has selected a node.
    """
    storage_class = state.of(Kind.STORAGE_CLASS).get(claim.storage_class_name or "")
    is_made = claim.phase != "Pending" or claim.volume_name or claim.is_deleting
    if storage_class is None or storage_class.provisioner == STATIC or is_made:
        return ""
    since_ns = claim.created_ns
    if storage_class.volume_binding_mode != IMMEDIATE:
        node = state.nodes.get(claim.annotations.get(SELECTED_NODE, ""))
        if node is None:
            return ""
        since_ns = max(since_ns, node.created_ns)
    return "" if now_ns - since_ns < UNMADE_NS else storage_class.provisioner


def is_of_another_claim(claim: PersistentVolumeClaim, state: ClusterState) -> bool:
    """Return whether the volume that a claim names belongs to another one, such as a deleted claim of its name."""
    volume = state.of(Kind.PV).get(claim.volume_name)
    owner = volume.claim_uid if volume is not None else ""
    return claim.phase == "Pending" and owner not in ("", claim.uid)


def gone_host(pod: Pod, state: ClusterState) -> str:
    """Return the nodes that a pod selects by hostname if none of them exists; empty for other pods."""
    template = pod.template
    selected = NodeSelectorTerm(
        tuple(NodeSelectorRequirement(key, IN, (value,)) for key, value in template.node_selector.items())
    )
    return _gone_hosts((selected,), state) or _gone_hosts(template.required_node_terms or (), state)


def _gone_hosts(terms: Sequence[NodeSelectorTerm], state: ClusterState) -> str:
    """Return the hostnames that alternative terms require, if each requires some and no node has one of them."""
    hostnames = [[e for e in term.match_expressions if e.key == HOSTNAME and e.operator == IN] for term in terms]
    names = {name for each in hostnames for requirement in each for name in requirement.values}
    if not names or not all(hostnames) or not state.nodes:
        return ""
    there = {node.labels.get(HOSTNAME, node.name) for node in state.nodes.values()}
    return ", ".join(sorted(names)) if names.isdisjoint(there) else ""


def _zones(alternatives: tuple[Requirements, ...]) -> frozenset[str] | None:
    """Return the zones of a volume's alternatives; None if one of them is not bound to zones."""
    requirements = [alternative.find(ZONE) for alternative in alternatives]
    if any(requirement is None or requirement.operator != IN for requirement in requirements):
        return None
    return frozenset(value for requirement in requirements if requirement is not None for value in requirement.values)
