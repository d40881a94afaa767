"""A cluster to ask questions about, before or after edits; results are cached."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import msgspec
from msgspec.structs import replace

from karptui.aws.prices import NodePrices
from karptui.disruption.budgets import PoolUse, count_use
from karptui.disruption.drift import DRIFTED
from karptui.disruption.fleet import Fleet
from karptui.disruption.launch_price import ReckonedPrices
from karptui.disruption.methods import observed_fleet
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.pod_predicates import UNSCHEDULABLE, is_reschedulable
from karptui.karpenter.settings import Settings
from karptui.kube.pod import Pod
from karptui.kube.recent import Recent
from karptui.kube.timestamps import ABSENT_NS
from karptui.provisioning.instance_types import InstanceTypes
from karptui.provisioning.prepared import Prepared, prepare
from karptui.provisioning.reporter import Pause, no_pause
from karptui.whatif.difference_lines import ClaimTypes
from karptui.whatif.edits import AnyEdit, ObjectRef, TakeOut
from karptui.whatif.launch_premises import launch_premises
from karptui.whatif.outcome import ReplayOutcome
from karptui.whatif.scenario import Replay


class TypesResult(msgspec.Struct, frozen=True, eq=False):
    """The instance types of a cluster."""

    types: InstanceTypes
    """One list for all NodePools, or a list by NodePool name, before NodeOverlays."""
    notes: tuple[str, ...] = ()
    """Messages about assumptions made for them."""
    is_fixed: bool = False
    """Whether they came with a snapshot: then they do not follow from NodeClasses and settings."""
    refused_until_ns: int = 0
    """When Karpenter offers the last of the refused offerings again; 0 if that is not known."""

    def of_pool(self, name: str) -> Sequence[InstanceType]:
        """Return the types of a NodePool; empty if unknown."""
        return self.types.get(name, ()) if isinstance(self.types, Mapping) else self.types


TypesFor = Callable[[Inventory, Settings], TypesResult]
"""Works out the instance types of a cluster from its NodeClasses, nodes and settings."""


class Situation:
    """A cluster with its settings and instance types at an instant.

    Args:
        prices: Displayed prices of nodes; None for the prices that Karpenter decides by.
    """

    def __init__(
        self,
        inventory: Inventory,
        settings: Settings,
        types: TypesResult,
        now_ns: int,
        *,
        prices: NodePrices | None = None,
        pause: Pause = no_pause,
    ) -> None:
        self.pause = pause
        self.inventory = inventory
        self.settings = settings
        self.types = types
        self.now_ns = now_ns
        self.prices = prices
        self.outcomes: dict[Replay, ReplayOutcome] = {}
        """Replays that were made, by mode."""

    @property
    def has_prices(self) -> bool:
        """Whether prices are displayed."""
        return self.prices is None or not self.prices.settings.is_disabled

    def derive(self, inventory: Inventory) -> Situation:
        """Return the same with other objects; instance types stay, so nodes may go but NodeClasses may not change."""
        return Situation(inventory, self.settings, self.types, self.now_ns, prices=self.prices, pause=self.pause)

    def documents(self) -> dict[ObjectRef, dict[str, Any]]:
        """Return the NodePools and NodeClasses whose original objects are known."""
        pools = {
            ObjectRef("NodePool", pool.name): {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", **pool.raw}
            for pool in self.inventory.nodepools
            if pool.raw
        }
        return pools | {
            ObjectRef(each.kind, each.name): {
                "apiVersion": f"{each.group}/{each.version}",
                "kind": each.kind,
                **each.raw,
            }
            for each in self.inventory.nodeclasses
            if each.raw
        }

    @cached_property
    def premises(self) -> tuple[str, ...]:
        """Assumptions about launches and instance types, as messages."""
        return (*launch_premises(self.inventory, self.now_ns), *self.types.notes)

    @cached_property
    def prepared(self) -> Prepared:
        """The cluster, made ready for runs of the engine."""
        return prepare(self.inventory, self.types.types, self.settings, self.now_ns, self.pause, knows_commands=True)

    @cached_property
    def fleet(self) -> Fleet:
        """The same as disruption sees it."""
        return observed_fleet(self.prepared)

    @cached_property
    def claim_types(self) -> ClaimTypes:
        """The types of new claims in price order."""
        return ClaimTypes()

    @cached_property
    def drifted(self) -> int:
        """How many NodeClaims Karpenter has marked as drifted."""
        return sum(1 for claim in self.inventory.nodeclaims if claim.is_true(DRIFTED))

    @cached_property
    def budget_use(self) -> Mapping[str, PoolUse]:
        """Number of nodes that budgets count, and of those being disrupted, by NodePool."""
        return count_use(self.prepared.states)

    @cached_property
    def books(self) -> Mapping[str, ReckonedPrices]:
        """Prices by NodePool; NodePools that draw on one list share one."""
        prices: dict[int, ReckonedPrices] = {}
        types = self.prepared.types_by_pool
        return {name: prices.setdefault(id(ins), ReckonedPrices(ins)) for name, ins in types.items()}


class WhatIfBase(Situation):
    """The unedited cluster.

    Args:
        types_for: Returns instance types; called again only after edits that may change them.
        karpenter_version: The cluster's Karpenter version, such as ``1.14.1``; empty if unknown.
        prices: Displayed prices of nodes; None for the prices that Karpenter decides by.
    """

    def __init__(
        self,
        inventory: Inventory,
        types_for: TypesFor,
        settings: Settings,
        now_ns: int,
        *,
        karpenter_version: str = "",
        prices: NodePrices | None = None,
        types: TypesResult | None = None,
        pause: Pause = no_pause,
    ) -> None:
        pause()
        types = types or types_for(inventory, settings)
        super().__init__(inventory, settings, types, now_ns, prices=prices, pause=pause)
        self.karpenter_version = karpenter_version
        self.types_for = types_for
        """Works out instance types of any inventory and settings."""
        self._known_types: Recent[tuple[object, ...], TypesResult] = Recent(most=8, patience=1_000)
        self._indexes: dict[str, dict[Any, Any]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments without cached results."""
        constructor = partial(WhatIfBase, karpenter_version=self.karpenter_version, prices=self.prices)
        return constructor, (self.inventory, self.types_for, self.settings, self.now_ns)

    def index(self, field: str, key_of: Callable[[Any], Any]) -> Mapping[Any, Any]:
        """Return the objects of a field of the inventory by key, made once.

        Args:
            key_of: Tells an object's key; the same for every call with one field.
        """
        document = self._indexes.get(field)
        if document is None:
            document = self._indexes[field] = {key_of(item): item for item in getattr(self.inventory, field)}
        return document

    def types_of(self, inventory: Inventory, settings: Settings) -> TypesResult:
        """Return the instance types of an edited cluster, kept for a few NodeClasses and settings."""
        key = (
            tuple((n.key, _text(n.spec), _text(n.status)) for n in inventory.nodeclasses),
            tuple((pool.name, pool.node_class_ref) for pool in inventory.nodepools),
            settings_of_types(settings),
        )
        return self._known_types.get(key, lambda: self.types_for(inventory, settings))


def settings_of_types(settings: Settings) -> tuple[object, ...]:
    """Return the settings that affect instance types."""
    share, enis, gates = settings.vm_memory_overhead_percent, settings.reserved_enis, settings.aws_gates
    return share, enis, settings.gate("ReservedCapacity"), tuple(sorted(gates.items())), settings.rules


def _text(value: object) -> bytes:
    return msgspec.json.encode(value, enc_hook=dict)


class EditedCluster(Situation):
    """The cluster as edits make it; made by `karptui.whatif.edits.apply.apply`."""

    def __init__(
        self,
        base: WhatIfBase,
        edits: tuple[AnyEdit, ...],
        inventory: Inventory,
        settings: Settings,
        types: TypesResult,
        *,
        outages: tuple[TakeOut, ...] = (),
        removed: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(inventory, settings, types, base.now_ns, prices=base.prices, pause=base.pause)
        self.base = base
        self.edits = edits
        self.outages = outages
        """Offerings that are out; ``types`` has them marked already."""
        self.removed = removed
        """Names of the nodes that are taken away; ``inventory`` still has them, the replay leaves them out."""
        self.notes = notes
        """Messages about assumptions made for the edits."""

    @cached_property
    def claim_types(self) -> ClaimTypes:
        """The types of new claims in price order, shared with the base."""
        return self.base.claim_types

    @cached_property
    def drifted(self) -> int:
        """How many NodeClaims Karpenter has marked as drifted."""
        return self.base.drifted if self._has_same_fleet else super().drifted

    @cached_property
    def budget_use(self) -> Mapping[str, PoolUse]:
        """Number of nodes that budgets count, and of those being disrupted, by NodePool."""
        return self.base.budget_use if self._has_same_fleet else super().budget_use

    @property
    def _has_same_fleet(self) -> bool:
        inventory, base_inventory = self.inventory, self.base.inventory
        return inventory.nodes is base_inventory.nodes and inventory.nodeclaims is base_inventory.nodeclaims


def as_pending(pod: Pod) -> Pod:
    """Return a pod as its workload recreates it after its node is deleted."""
    return replace(
        pod,
        node_name="",
        nominated_node_name="",
        phase="Pending",
        deletion_ns=ABSENT_NS,
        start_ns=ABSENT_NS,
        ready=None,
        scheduled_reason=UNSCHEDULABLE,
        scheduled_message="",
        scheduled_ns=ABSENT_NS,
        waiting_reason="",
    )


def without_nodes(inventory: Inventory, names: Collection[str], *, keeps_lost: bool = False) -> Inventory:
    """Return a cluster without some nodes (by name, or NodeClaim name without node) and their NodeClaims.

    Pods that are recreated become pending, and other pods are removed. Pods of DaemonSets and static pods stay listed
    on their node, because Karpenter reads the requests of a DaemonSet from a live pod.

    Args:
        keeps_lost: Whether pods that nothing recreates become pending, too.
    """
    nodes = {node.name for node in inventory.nodes if node.name in names}
    provider_ids = {node.provider_id for node in inventory.nodes if node.name in nodes and node.provider_id}
    return replace(
        inventory,
        nodes=tuple(node for node in inventory.nodes if node.name not in nodes),
        nodeclaims=tuple(
            claim
            for claim in inventory.nodeclaims
            if claim.name not in names and claim.node_name not in nodes and claim.provider_id not in provider_ids
        ),
        pods=tuple(
            _freed(pod, nodes)
            for pod in inventory.pods
            if keeps_lost or pod.node_name not in nodes or not pod.template.is_lost_if_evicted
        ),
    )


def from_scratch(inventory: Inventory) -> Inventory:
    """Return a cluster without the nodes that Karpenter launched for pods.

    Unmanaged nodes and nodes of static NodePools stay, with their pods.
    """
    static = {pool.name for pool in inventory.nodepools if pool.is_static}
    kept = tuple(claim for claim in inventory.nodeclaims if claim.labels.get(NODEPOOL) in static)
    going = {claim.provider_id for claim in inventory.nodeclaims if claim.labels.get(NODEPOOL) not in static}
    names = {
        node.name
        for node in inventory.nodes
        if (node.labels.get(NODEPOOL) and node.labels[NODEPOOL] not in static) or node.provider_id in going - {""}
    }
    return replace(without_nodes(inventory, names, keeps_lost=True), nodeclaims=kept)


def _freed(pod: Pod, nodes: Collection[str]) -> Pod:
    return as_pending(pod) if pod.node_name in nodes and is_reschedulable(pod) else pod
