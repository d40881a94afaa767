"""A cluster indexed for scheduling: prepared once, then used for any number of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from functools import cached_property
from typing import Final

import msgspec

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import HOSTNAME, KEY_ALIASES
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.pod_predicates import PodPredicates
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.settings import Settings
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.kube.taints import PREFER_NO_SCHEDULE
from karptui.provisioning.amounts import Columns
from karptui.provisioning.claim import reservation_capacity
from karptui.provisioning.daemonsets import daemon_pods, newest_daemons
from karptui.provisioning.destination import Destination, DestinationBuilder, DestinationIndex, LabelReader
from karptui.provisioning.instance_types import InstanceTypes, catalogues_of, guessed_pools, types_by_pool
from karptui.provisioning.limits import LimitsLeft
from karptui.provisioning.pod_class import PodClass, PodClasses, Stage
from karptui.provisioning.pool_order import usable_pools
from karptui.provisioning.rejection import PodError
from karptui.provisioning.reporter import Pause, no_pause, with_pauses
from karptui.provisioning.requirement_set import Interner
from karptui.provisioning.state_node import StateNode, is_under_consolidate_after, state_changes, track_nodes
from karptui.provisioning.template import Template, make_templates, pool_requirements
from karptui.provisioning.topology import Holder, InverseBase, Topology
from karptui.provisioning.topology_counts import DomainUniverse, NodeLabels, RunningPods
from karptui.provisioning.topology_spec import DefaultSpread, NamespaceIndex, asked_keys, is_constrained, selector_keys
from karptui.provisioning.volumes import Attachments, VolumeIndex, VolumeLimits, VolumeLookupError
from karptui.provisioning.waiting_pods import (
    LeavingPods,
    QueuedPod,
    buffer_pods,
    leaving_by_node,
    leaving_pods,
    pending_pods,
)


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to the cluster for a run."""

    excluded: frozenset[str] = frozenset()
    """Provider ids of removed nodes."""
    moving: Mapping[str, Pod] = {}
    """Pods by uid that the run reschedules: their current nodes do not count."""
    reserved_fallback: bool = False
    """Whether pods may be scheduled without a reservation held by others: True in disruption, not in provisioning."""
    credited: str = ""
    """Reservation whose instance is freed by a node that is terminated first; empty for none."""
    enforces_consolidate_after: bool = False
    """Whether nodes within consolidateAfter only accept pods that are pending or leave a node being deleted."""
    is_scheduler: bool = False
    """Whether topology spread only counts domains with a node, as kube-scheduler does."""


class Findings:
    """Results shared between runs; except for ``removals``, they depend on no node."""

    __slots__ = ("_facts", "_removals", "claimless", "judged", "least_prices")

    def __init__(self) -> None:
        self._facts: tuple[object, ...] | None = None
        self._removals: dict[tuple[object, ...], object] = {}
        self.judged: dict[tuple[Stage, int, int], object] = {}
        """Results for new claims by stage, template and types, if they depend on nothing else."""
        self.claimless: dict[Stage, PodError] = {}
        """Errors of pods that fit on no new claim of any type, by first stage."""
        self.least_prices: dict[Stage, float] = {}
        """Lower bound of the price of a new claim for a pod, by first stage; below any price if unknown."""

    def removals(self, facts: tuple[object, ...] | None) -> dict[tuple[object, ...], object]:
        """Return the cache of simulated removals, by provider ids and pods, for a cluster with these facts."""
        if facts is None or facts != self._facts:
            self._facts, self._removals = facts, {}
        return self._removals


_OF_THE_MOMENT: Final = frozenset(
    {
        "active_states",
        "destinations",
        "waiting_destinations",
        "destination_index",
        "leaving",
        "leaving_node_names",
        "_running",
        "_inverse_bases",
        "_limits_left",
        "initialized_destinations",
        "scheduling_facts",
    }
)
"""Cached properties that are valid for a single point in time."""


def _tracks_all(states: Iterable[StateNode], inventory: Inventory) -> bool:
    """Return whether every Node is tracked, so that the states have all bound pods."""
    return sum([state.node is not None for state in states]) == len(inventory.nodes)


class Prepared:
    """A cluster with its settings, indexed; only its caches change from run to run."""

    def __init__(
        self,
        inventory: Inventory,
        instance_types: InstanceTypes,
        settings: Settings,
        now_ns: int,
        pause: Pause = no_pause,
        *,
        knows_commands: bool = False,
    ) -> None:
        self.pause, self._knows_commands = pause, knows_commands
        self.inventory = inventory
        self.settings = settings
        self.now_ns = now_ns
        self.given_types = instance_types
        """Instance types before NodeOverlays."""
        self.interner = Interner()
        self.volumes = VolumeIndex(inventory)
        self.pools: tuple[NodePool, ...] = tuple(usable_pools(inventory.nodepools))
        """NodePools in the order Karpenter tries them."""
        self.buffer_pods: tuple[Pod, ...] = buffer_pods(inventory, now_ns) if settings.gate("CapacityBuffer") else ()
        pause()
        self.states = track_nodes(inventory, settings.rules, pause)
        """All nodes that Karpenter tracks."""
        pause()
        self.types_by_pool = types_by_pool(inventory, instance_types, settings)
        """Instance types of every NodePool including skipped ones, with NodeOverlays applied."""
        self.catalogues = catalogues_of(self.pools, self.types_by_pool, settings.rules)
        """Indexed types of the active NodePools."""
        self.guessed_pools = guessed_pools(self.pools, self.types_by_pool)
        """NodePools whose provider's catalogue is unknown, with the number of types inferred from nodes."""
        pause()
        self._template_set = {pod.template for pod in inventory.pods} | {pod.template for pod in self.buffer_pods}
        self._constrained = [template for template in self._template_set if is_constrained(template)]
        pause()
        rules = settings.rules
        spread = settings.default_spread if rules.has_default_spread else ()
        self.default_spread = DefaultSpread(spread, inventory) if spread else None
        """The controller's default topology spread constraints, or None."""
        newest = newest_daemons(inventory, pause)
        self.daemons = daemon_pods(inventory, ignore_dra=settings.ignore_dra_requests, newest=newest)
        self._daemon_uids = frozenset(pod.uid for pod in newest.values())
        self._known_destinations: Mapping[StateNode, Destination] = {}
        self._leaving_before: Mapping[StateNode, LeavingPods] = {}
        self._index_before: DestinationIndex | None = None
        self._running_before: tuple[RunningPods, list[StateNode]] | None = None
        self._holders: dict[StateNode, tuple[Holder, ...]] = {}
        self._holders_before: Mapping[StateNode, tuple[Holder, ...]] = {}
        pause()
        self.columns = Columns(
            [
                *(template.requests for template in self._template_set),
                *(daemon.requests for daemon in self.daemons),
            ]
        )
        self.templates, self.left_out = make_templates(
            self.pools, self.catalogues, self.interner, is_strict=settings.min_values_policy != "BestEffort"
        )
        """Active NodePools with their types, and names of those without a usable type (True: because of minValues)."""
        for template in self.templates:
            template.set_daemons(self.daemons, self.columns)
        self.classes = self._make_classes()
        self.findings = Findings()
        pause()
        self.reservation_capacity = reservation_capacity(
            {id(catalogue): catalogue for catalogue in self.catalogues.values()}.values()
        )
        self._labels = LabelReader(self.interner, self._label_keys())
        self._predicates = PodPredicates(inventory.pdbs, now_ns)
        self._seek(inventory.pods)

    def _seek(self, pods: Iterable[Pod]) -> None:
        """Determine the pods to schedule; pods without a node suffice as input."""
        pending, self.ignored = pending_pods(pods, self.volumes)
        self.pause()
        self.pending = [*pending, *self.buffer_pods]
        """Pending pods including pods of CapacityBuffers; Karpenter skips pods in `ignored`."""
        self._predicates = self._predicates.later(self.inventory.pdbs, self.now_ns)

    def later(
        self,
        inventory: Inventory,
        states: list[StateNode],
        now_ns: int,
        *,
        pods: Mapping[str, Pod],
        unbound: Iterable[Pod],
    ) -> Prepared:
        """Return the cluster at a later time, reusing everything that has not changed.

        Only pods, PersistentVolumeClaims, nodes, NodeClaims and PodDisruptionBudgets may differ, and no pod may have a
        new template.

        Args:
            states: Its tracked nodes; unchanged ones are the same objects.
            pods: Its pods by uid.
        """
        if not pods.keys() >= self._daemon_uids:
            then = daemon_pods(inventory, ignore_dra=self.settings.ignore_dra_requests)
            if [daemon.likeness for daemon in then] != [daemon.likeness for daemon in self.daemons]:
                return Prepared(
                    inventory,
                    self.given_types,
                    self.settings,
                    now_ns,
                    self.pause,
                    knows_commands=self._knows_commands,
                )
        later = copy(self)
        later.advance(inventory, states, now_ns, pods=pods, unbound=unbound)
        return later

    def advance(
        self,
        inventory: Inventory,
        states: list[StateNode],
        now_ns: int,
        *,
        pods: Mapping[str, Pod],
        unbound: Iterable[Pod],
    ) -> None:
        """Update to a later time in place; see `later`, which returns a copy."""
        if "destinations" in vars(self):
            self._known_destinations = {destination.state: destination for destination in self.destinations}
        if "destination_index" in vars(self):
            self._index_before = self.destination_index
        if "_running" in vars(self):
            self._running_before = (self._running, self.states) if _tracks_all(self.states, self.inventory) else None
        if self._holders:
            self._holders, self._holders_before = {}, self._holders
        for name in _OF_THE_MOMENT & vars(self).keys():
            delattr(self, name)
        if inventory.claims is not self.inventory.claims:
            self.volumes = VolumeIndex(inventory)
            vars(self).pop("_builder", None)
        self.inventory = inventory
        self.now_ns = now_ns
        self.states = states
        if not pods.keys() >= self._daemon_uids:
            self._daemon_uids = frozenset(pod.uid for pod in newest_daemons(inventory).values())
        if self.buffer_pods:
            self.buffer_pods = buffer_pods(inventory, now_ns)
        self._seek(unbound)

    def _make_classes(self) -> PodClasses:
        labels = {namespace.name: namespace.labels for namespace in self.inventory.namespaces}
        return PodClasses(
            interner=self.interner,
            columns=self.columns,
            namespaces=NamespaceIndex(self.interner, labels),
            selector_keys=frozenset(
                (
                    *(key for template in self._constrained for key in selector_keys(template)),
                    *(self.default_spread.selector_keys() if self.default_spread is not None else ()),
                )
            ),
            default_spread=self.default_spread,
            preference_policy=self.settings.preference_policy,
            tolerate_preferences=any(
                taint.effect == PREFER_NO_SCHEDULE for pool in self.pools for taint in pool.taints
            ),
        )

    def _label_keys(self) -> frozenset[str]:
        keys = {key for template in self._constrained for key in asked_keys(template)}
        if self.default_spread is not None:
            keys |= self.default_spread.topology_keys
        keys.update(requirement.key for daemon in self.daemons for requirement in daemon.strict)
        for volume in self.inventory.volumes:
            keys.update(expression.key for term in volume.required_node_terms for expression in term.match_expressions)
        for storage_class in self.inventory.storage_classes:
            keys.update(key for term in storage_class.allowed_topologies for key, _ in term.match_label_expressions)
        return frozenset(KEY_ALIASES.get(key, key) for key in keys)

    @cached_property
    def active_states(self) -> list[StateNode]:
        """Tracked nodes that are not being deleted."""
        return [state for state in self.states if not self._leaves(state)]

    @cached_property
    def initialized_destinations(self) -> int:
        """Initialized destinations, as bits."""
        count = sum(1 for destination in self.destinations if destination.state.is_initialized)
        return (1 << count) - 1

    @cached_property
    def scheduling_facts(self) -> tuple[object, ...] | None:
        """What runs depend on and may differ at a later time; None if that is not known of every Node."""
        if not _tracks_all(self.states, self.inventory):
            return None
        leaving = [(pod.uid, pod.phase) for pod in self.leaving]
        nodes = [state.scheduling_facts for state in self.states]
        return self.volumes, self.waiting_destinations, self.leaving_node_names, self.pending, leaving, nodes

    @cached_property
    def destinations(self) -> list[Destination]:
        """Nodes for pods, in the order Karpenter tries them."""
        return self._builder.build(self.active_states, self._known_destinations, self.pause)

    @cached_property
    def _builder(self) -> DestinationBuilder:
        return DestinationBuilder(
            columns=self.columns,
            labels=self._labels,
            interner=self.interner,
            volumes=self.volumes,
            daemons=self.daemons,
            volume_limits=VolumeLimits(
                self.inventory,
                {pool.name: self.types_by_pool.get(pool.name, ()) for pool in self.pools},
                self.settings.rules,
            ),
        )

    @cached_property
    def waiting_destinations(self) -> int:
        """Destinations that are within their NodePool's consolidateAfter, as bits."""
        pools = {pool.name: pool for pool in self.pools}
        nodes = 0
        for destination in self.destinations:
            pool = pools.get(destination.state.nodepool_name)
            if is_under_consolidate_after(destination.state, pool, self.now_ns):
                nodes |= 1 << destination.index
        return nodes

    @cached_property
    def destination_index(self) -> DestinationIndex:
        """Index of the destinations."""
        self.pause()
        before = self._index_before
        later = before.later(self.destinations) if before is not None else None
        return later or DestinationIndex(self.destinations, self.columns)

    @cached_property
    def leaving(self) -> list[Pod]:
        """Pods of nodes being deleted, which must be rescheduled."""
        deleted = filter(self._leaves, self.states)
        self._leaving_before = leaving_by_node(deleted, self._predicates, self._leaving_before)
        return leaving_pods(self._leaving_before, self._predicates)

    @cached_property
    def leaving_node_names(self) -> frozenset[str]:
        """Names of the nodes being deleted."""
        return frozenset(state.name for state in self.states if self._leaves(state))

    def _leaves(self, state: StateNode) -> bool:
        return state.is_marked_for_deletion or (self._knows_commands and state.is_held_by_command)

    @cached_property
    def _running(self) -> RunningPods:
        if self._running_before is not None and _tracks_all(self.states, self.inventory):
            counts, states = self._running_before
            changes = state_changes(states, self.states)
            return counts.later(self.inventory.pods, self.inventory.nodes, self.active_states, changes)
        reader = self._labels

        def labels_of(node: Node) -> NodeLabels:
            return reader.read(node.labels), node.labels.get(HOSTNAME)

        pools = [
            (pool_requirements(pool), pool.taints, self.catalogues[pool.name])
            for pool in self.pools
            if len(self.catalogues[pool.name])
        ]
        running = RunningPods(
            self.inventory.pods, self.inventory.nodes, self.active_states, labels_of, DomainUniverse(pools)
        )
        running.pause = self.pause
        return running

    @cached_property
    def _inverse_bases(self) -> list[InverseBase]:
        """Required anti-affinity of running pods."""
        bases: dict[tuple[object, ...], InverseBase] = {}
        for state in with_pauses(self.states, self.pause, 500):
            holders = self._holders_before.get(state)
            if holders is None:
                holders = self._holders_on(state)
            self._holders[state] = holders
            for holder in holders:
                bases.setdefault(holder[2].identity, InverseBase(holder[2])).holders.append(holder)
        return list(bases.values())

    def _holders_on(self, state: StateNode) -> tuple[Holder, ...]:
        node = state.node
        if node is None:
            return ()
        return tuple(
            (pod.uid, node.labels.get(spec.key), spec)
            for pod in state.pods
            if pod.template.pod_anti_affinity
            for spec in self.classes.anti_affinity_specs(pod.template)
        )

    def keeping_away(self, owner: PodClass, key: str) -> tuple[Pod, ...]:
        """Return running pods whose required anti-affinity over a label keeps pods of a class away.

        A rule that the class has itself does not count.
        """
        inverse_identities = {spec.identity for spec in owner.inverse_specs}
        others = (
            base
            for base in self._inverse_bases
            if base.spec.key == key and base.spec.identity not in inverse_identities
        )
        rules = (base for base in others if base.spec.selects(owner.namespace, owner.labels))
        uids = {uid for base in rules for uid, _, _ in base.holders}
        return tuple(pod for state in self.states for pod in state.pods if pod.uid in uids)

    def begin_topology(self, variant: Variant) -> Topology:
        """Return the topology rules at the start of a run."""
        self.pause()
        return Topology(
            self._running,
            self._inverse_bases,
            moving=variant.moving,
            gone_nodes=variant.excluded,
            is_scheduler=variant.is_scheduler,
        )

    def remaining_limits(self, template: Template, variant: Variant) -> dict[str, int]:
        """Return a NodePool's remaining limits at the start of a run, in nano-units."""
        self.pause()
        return self._limits_left.of(template.pool, variant.excluded)

    @cached_property
    def _limits_left(self) -> LimitsLeft:
        return LimitsLeft(self.active_states, self.pause)

    def queued(self, pod: Pod) -> QueuedPod:
        """Return a pod as a queue entry."""
        is_counted = not (pod.volumes and self.volumes.is_missing(pod))
        is_exempt = pod.phase == "Pending" or pod.node_name in self.leaving_node_names
        return QueuedPod(pod, self.first_stage(pod), is_exempt=is_exempt, is_counted=is_counted)

    def is_bindable(self, queued: QueuedPod) -> bool:
        """Return whether kube-scheduler can bind a pod: not if volumes are missing or it uses devices."""
        pod = queued.pod
        return not queued.owner.has_dra and not (pod.volumes and self.volumes.problem(pod, is_scheduler=True))

    def first_stage(self, pod: Pod) -> Stage:
        """Return a pod's stage with all preferences; the same object for equivalent pods."""
        return self.classes.first_stage(pod, self._volumes_of)

    def _volumes_of(self, pod: Pod) -> tuple[tuple[Requirements, ...], Attachments | None]:
        attachments: Attachments | None
        try:
            alternatives = self.volumes.alternatives(pod)
        except VolumeLookupError:
            alternatives = ()
        try:
            attachments = self.volumes.attachments(pod)
        except VolumeLookupError:
            attachments = None
        return alternatives, attachments


def prepare(
    inventory: Inventory,
    instance_types: InstanceTypes,
    settings: Settings,
    now_ns: int,
    pause: Pause = no_pause,
    *,
    knows_commands: bool = False,
) -> Prepared:
    """Index a cluster for runs.

    Args:
        instance_types: One list for all NodePools, or a list by NodePool name, before NodeOverlays.
        pause: Called from time to time, also during later indexing.
        knows_commands: Whether nodes that seem to be held by a command count as being deleted, as in a running
            Karpenter.
    """
    return Prepared(inventory, instance_types, settings, now_ns, pause, knows_commands=knows_commands)
