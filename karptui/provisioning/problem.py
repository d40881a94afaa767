"""A cluster made ready for runs: prepared once, solved for any number of variants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import msgspec

from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import HOSTNAME, KEY_ALIASES
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.settings import Settings
from karptui.kube.objects import condition_of
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.taints import PREFER_NO_SCHEDULE
from karptui.kube.timestamps import ABSENT_NS
from karptui.provisioning.amounts import Columns
from karptui.provisioning.buffers import buffer_pods
from karptui.provisioning.catalogue import Catalogue, Ladder, catalogue_of, roomy
from karptui.provisioning.daemonsets import DaemonPod, daemon_pods
from karptui.provisioning.destination import Destination, DestinationBuilder, DestinationKind, LabelReader
from karptui.provisioning.domains import DomainUniverse
from karptui.provisioning.eligible_pods import is_currently_reschedulable, is_provisionable
from karptui.provisioning.limits import remaining_limits
from karptui.provisioning.overlays import overlaid
from karptui.provisioning.pod_class import PodClasses
from karptui.provisioning.reporter import Reporter, silent
from karptui.provisioning.requirement_set import Interner
from karptui.provisioning.reservations import reservation_capacity
from karptui.provisioning.run import QueuedPod, Run
from karptui.provisioning.solution import Solution, make_solution
from karptui.provisioning.state_node import StateNode, track_nodes
from karptui.provisioning.template import Template, make_templates, pool_requirements, usable_pools
from karptui.provisioning.topology import InverseBase, Topology
from karptui.provisioning.topology_counts import NodeLabels, RunningPods
from karptui.provisioning.topology_spec import NamespaceIndex
from karptui.provisioning.validation import avoids_karpenter, selector_problems
from karptui.provisioning.volumes import Attachments, VolumeIndex, VolumeLookupError

InstanceTypes = Sequence[InstanceType] | Mapping[str, Sequence[InstanceType]]
"""One list for every NodePool, or a list by NodePool name; a NodePool without an entry has no types."""


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """What one run changes about the cluster."""

    excluded: frozenset[str] = frozenset()
    """Provider ids of nodes that are taken away."""
    moving: frozenset[str] = frozenset()
    """Uids of the pods that do not count where they run, because the run places them."""
    reserved_fallback: bool = False
    """Whether pods may go without a reservation that others hold; so in disruption, not in provisioning."""
    enforces_consolidate_after: bool = False
    """Whether nodes within consolidateAfter take only pods that are pending or leave a node that goes away."""


class IgnoredPod(msgspec.Struct, frozen=True):
    """A pending pod that Karpenter does not look at."""

    pod: Pod
    problems: tuple[str, ...]
    """In Karpenter's words."""
    is_silent: bool
    """Whether Karpenter says nothing, because the pod's own rules keep it off NodePools."""


class Prepared:
    """A cluster with its settings, indexed; nothing in it changes from run to run but memory of what was computed."""

    def __init__(self, inventory: Inventory, instance_types: InstanceTypes, settings: Settings, now_ns: int) -> None:
        self.inventory = inventory
        self.settings = settings
        self.now_ns = now_ns
        self.given_types = instance_types
        """Instance types as they were given, before NodeOverlays."""
        self.interner = Interner()
        self.volumes = VolumeIndex(inventory)
        self.pools: tuple[NodePool, ...] = tuple(usable_pools(inventory.nodepools))
        """NodePools in the order in which they are tried."""
        self.buffer_pods: tuple[Pod, ...] = buffer_pods(inventory, now_ns) if settings.gate("CapacityBuffer") else ()
        self.states = track_nodes(inventory)
        """Every node that Karpenter tracks."""
        self.active_states = [state for state in self.states if not state.is_marked_for_deletion]
        self.types_by_pool = _types_by_pool(inventory, instance_types, settings)
        """Instance types of every NodePool, with NodeOverlays applied: also of those that take no part."""
        self.catalogues = _catalogues(self.pools, self.types_by_pool)
        """The same, indexed, of the NodePools that take part."""
        self._template_set = {pod.template for pod in inventory.pods} | {pod.template for pod in self.buffer_pods}
        self._constrained = [template for template in self._template_set if _is_constrained(template)]
        self.daemons = daemon_pods(inventory, ignore_dra=settings.ignore_dra_requests)
        self.columns = Columns(
            [
                *(template.requests for template in self._template_set),
                *(daemon.requests for daemon in self.daemons),
            ]
        )
        self.templates, self.left_out = make_templates(
            self.pools, self.catalogues, self.interner, is_strict=settings.min_values_policy != "BestEffort"
        )
        """NodePools with their types, and by name those without a usable type (True: because of minValues)."""
        for template in self.templates:
            template.set_daemons(self.daemons, self.columns)
        self.classes = self._make_classes()
        self.reservation_capacity = reservation_capacity(
            {id(catalogue): catalogue for catalogue in self.catalogues.values()}.values()
        )
        self._labels = LabelReader(self.interner, self._label_keys())
        self.pending, self.ignored = self._pending()
        """Pods that wait for a node, and those of them that Karpenter passes over."""
        self.leaving = self._leaving()
        """Pods of nodes that go away, which need another place."""

    def _make_classes(self) -> PodClasses:
        labels = {namespace.name: namespace.labels for namespace in self.inventory.namespaces}
        return PodClasses(
            interner=self.interner,
            columns=self.columns,
            namespaces=NamespaceIndex(self.interner, labels),
            selector_keys=frozenset(key for template in self._constrained for key in _selector_keys(template)),
            preference_policy=self.settings.preference_policy,
            tolerate_preferences=any(
                taint.effect == PREFER_NO_SCHEDULE for pool in self.pools for taint in pool.taints
            ),
        )

    def _label_keys(self) -> frozenset[str]:
        keys = {key for template in self._constrained for key in _asked_keys(template)}
        keys.update(requirement.key for daemon in self.daemons for requirement in daemon.strict)
        for volume in self.inventory.volumes:
            keys.update(one.key for term in volume.required_node_terms for one in term.match_expressions)
        for storage_class in self.inventory.storage_classes:
            keys.update(key for term in storage_class.allowed_topologies for key, _ in term.match_label_expressions)
        return frozenset(KEY_ALIASES.get(key, key) for key in keys)

    def _pending(self) -> tuple[list[Pod], list[IgnoredPod]]:
        pending: list[Pod] = []
        ignored: list[IgnoredPod] = []
        problems: dict[PodTemplate, tuple[list[str], bool]] = {}
        for pod in sorted(filter(is_provisionable, self.inventory.pods), key=lambda pod: (pod.namespace, pod.name)):
            template = pod.template
            known = problems.get(template)
            if known is None:
                known = problems[template] = (selector_problems(pod), avoids_karpenter(_wishes_of(template)))
            found, is_silent = known
            if pod.volumes:
                problem = self.volumes.problem(pod)
                found = [*found, problem] if problem else found
            if found or is_silent:
                ignored.append(IgnoredPod(pod, tuple(found), is_silent))
            else:
                pending.append(pod)
        pending.extend(self.buffer_pods)
        return pending, ignored

    def _leaving(self) -> list[Pod]:
        budgets = self.inventory.pdbs
        return [
            pod
            for state in sorted(self.states, key=lambda state: state.name)
            if state.is_marked_for_deletion
            for pod in sorted((*state.pods, *state.ending), key=lambda pod: (pod.namespace, pod.name))
            if is_currently_reschedulable(pod, budgets, self.now_ns)
        ]

    @cached_property
    def destinations(self) -> list[Destination]:
        """Nodes that pods may go to, in the order in which they are tried."""
        builder = DestinationBuilder(
            columns=self.columns,
            labels=self._labels,
            interner=self.interner,
            volumes=self.volumes,
            daemons=self.daemons,
            csi_limits={node.name: node.driver_limits for node in self.inventory.csi_nodes},
        )
        return builder.build(self.active_states)

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
    def destination_kinds(self) -> dict[DestinationKind, int]:
        """Destinations of each kind, as bits."""
        kinds: dict[DestinationKind, int] = {}
        for destination in self.destinations:
            kinds[destination.kind] = kinds.get(destination.kind, 0) | 1 << destination.index
        return kinds

    @cached_property
    def _destination_ladders(self) -> list[Ladder]:
        columns: list[dict[int, int]] = [{} for _ in self.columns.names]
        for destination in self.destinations:
            if not destination.is_full:
                bit = 1 << destination.index
                for column, amount in zip(columns, destination.room, strict=True):
                    column[amount] = column.get(amount, 0) | bit
        return [Ladder(column) for column in columns]

    def roomy_destinations(self, need: Sequence[int]) -> int:
        """Return the destinations that have room for a row of amounts before the run places anything, as bits."""
        return roomy(self._destination_ladders, need)

    def destinations_of(self, provider_ids: frozenset[str]) -> int:
        """Return the destinations with these provider ids, as bits."""
        nodes = 0
        for provider_id in provider_ids:
            index = self._destination_index.get(provider_id)
            if index is not None:
                nodes |= 1 << index
        return nodes

    @cached_property
    def _destination_index(self) -> dict[str, int]:
        return {destination.state.provider_id: destination.index for destination in self.destinations}

    @cached_property
    def leaving_node_names(self) -> frozenset[str]:
        """Names of the nodes that go away."""
        return frozenset(state.name for state in self.states if state.is_marked_for_deletion)

    @cached_property
    def _running(self) -> RunningPods:
        labels: dict[str, NodeLabels] = {
            node.name: (self._labels.read(node.labels), node.labels.get(HOSTNAME)) for node in self.inventory.nodes
        }
        pools = [
            (pool_requirements(pool), pool.taints, self.catalogues[pool.name])
            for pool in self.pools
            if len(self.catalogues[pool.name])
        ]
        return RunningPods(self.inventory.pods, self.inventory.nodes, self.active_states, labels, DomainUniverse(pools))

    @cached_property
    def _inverse_bases(self) -> list[InverseBase]:
        """Required anti-affinity of the pods that run."""
        bases: dict[tuple[object, ...], InverseBase] = {}
        for state in self.states:
            if state.node is None:
                continue
            for pod in state.pods:
                if pod.template.pod_anti_affinity:
                    for spec in self.classes.anti_affinity_specs(pod.template):
                        base = bases.setdefault(spec.identity, InverseBase(spec))
                        base.holders.append((pod.uid, state.node.labels.get(spec.key), spec))
        return list(bases.values())

    def begin_topology(self, variant: Variant) -> Topology:
        """Return the topology rules at the beginning of a run."""
        return Topology(self._running, self._inverse_bases, moving=variant.moving, gone_nodes=variant.excluded)

    def remaining_limits(self, template: Template, variant: Variant) -> dict[str, int]:
        """Return what a NodePool's limits leave at the beginning of a run, in nano-units."""
        states = [
            state for state in self._states_by_pool.get(template.name, ()) if state.provider_id not in variant.excluded
        ]
        return remaining_limits(template.pool, states)

    @cached_property
    def _states_by_pool(self) -> dict[str, list[StateNode]]:
        by_pool: dict[str, list[StateNode]] = {}
        for state in self.active_states:
            by_pool.setdefault(state.nodepool_name, []).append(state)
        return by_pool

    def solve(
        self,
        pods: Iterable[Pod] = (),
        *,
        excluded: Iterable[str] = (),
        reserved_fallback: bool = False,
        enforce_consolidate_after: bool = False,
        reporter: Reporter = silent,
    ) -> Solution:
        """Find places for the pending pods, for these pods, and for those of nodes that go away.

        Args:
            pods: Pods to place besides the pending ones, such as those of nodes that are taken away.
            excluded: Provider ids of the nodes that are taken away.
            reserved_fallback: As in disruption: a pod may go without a reservation that another claim holds.
            enforce_consolidate_after: As in consolidation: nodes within consolidateAfter take only pods that are
                pending or leave a node that goes away.
            reporter: Told of progress; may raise `Cancelled`.

        Raises:
            Cancelled: when the reporter does.
        """
        queued = [self._queued(pod) for pod in (*self.pending, *pods, *self.leaving)]
        variant = Variant(
            excluded=frozenset(excluded),
            moving=frozenset(one.pod.uid for one in queued if one.is_counted),
            reserved_fallback=reserved_fallback,
            enforces_consolidate_after=enforce_consolidate_after,
        )
        run = Run(self, variant)
        if queued and self.pools:
            run.solve(queued, reporter)
        return make_solution(run)

    def _queued(self, pod: Pod) -> QueuedPod:
        is_counted = True
        if pod.volumes:
            try:
                self.volumes.alternatives(pod)
            except VolumeLookupError:
                is_counted = False
        is_exempt = pod.phase == "Pending" or pod.node_name in self.leaving_node_names
        return QueuedPod(pod, self.classes.of(pod, self._volumes_of), is_exempt=is_exempt, is_counted=is_counted)

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


def prepare(inventory: Inventory, instance_types: InstanceTypes, settings: Settings, now_ns: int) -> Prepared:
    """Index a cluster for runs.

    Args:
        inventory: Every object of the cluster.
        instance_types: One list for all NodePools, or a list by NodePool name, before NodeOverlays.
        settings: Karpenter's own.
        now_ns: The instant of the decision, nanoseconds since the epoch.
    """
    return Prepared(inventory, instance_types, settings, now_ns)


def _types_by_pool(
    inventory: Inventory, instance_types: InstanceTypes, settings: Settings
) -> Mapping[str, Sequence[InstanceType]]:
    by_pool = {
        pool.name: instance_types.get(pool.name, ()) if isinstance(instance_types, Mapping) else instance_types
        for pool in inventory.nodepools
    }
    return overlaid(inventory, by_pool) if settings.gate("NodeOverlay") else by_pool


def _catalogues(pools: Iterable[NodePool], types_by_pool: Mapping[str, Sequence[InstanceType]]) -> dict[str, Catalogue]:
    by_list: dict[int, Catalogue] = {}
    found: dict[str, Catalogue] = {}
    for pool in pools:
        types = types_by_pool[pool.name]
        catalogue = by_list.get(id(types))
        if catalogue is None:
            catalogue = by_list[id(types)] = catalogue_of(tuple(types))
        found[pool.name] = catalogue
    return found


def is_under_consolidate_after(state: StateNode, pool: NodePool | None, now_ns: int) -> bool:
    """Return whether a node is too young, or had a pod come or go too recently, to be consolidated.

    Rule: ``IsUnderConsolidateAfter`` in ``pkg/utils/disruption/disruption.go``.
    """
    claim = state.claim
    if pool is None or claim is None or not pool.consolidate_after_ns:
        return False
    initialized = condition_of(claim.conditions, "Initialized")
    if initialized is None or initialized.status != "True":
        return False
    since_ns = claim.last_pod_event_ns
    if since_ns == ABSENT_NS:
        since_ns = initialized.last_transition_ns
    return now_ns - since_ns < pool.consolidate_after_ns


def _wishes_of(template: PodTemplate) -> Requirements:
    """Return a pod's requirements with its heaviest preference, as the check for a NodePool label sees them."""
    wishes = Requirements.from_labels(template.node_selector)
    if template.preferred_node_terms:
        heaviest = max(template.preferred_node_terms, key=lambda term: term.weight)
        wishes = wishes.merge(Requirements.from_selectors(heaviest.preference.match_expressions))
    if template.required_node_terms:
        wishes = wishes.merge(Requirements.from_selectors(template.required_node_terms[0].match_expressions))
    return wishes


def _is_constrained(template: PodTemplate) -> bool:
    """Return whether pods of a template ask anything of a node's labels or of other pods."""
    return bool(
        template.node_selector
        or template.topology_spread
        or template.required_node_terms
        or template.preferred_node_terms
        or template.pod_affinity
        or template.pod_anti_affinity
        or template.preferred_pod_affinity
        or template.preferred_pod_anti_affinity
    )


def _asked_keys(template: PodTemplate) -> Iterable[str]:
    """Yield the label keys that pods of a template ask of nodes, topology keys included."""
    yield from template.node_selector
    for term in (*(template.required_node_terms or ()), *(one.preference for one in template.preferred_node_terms)):
        for expression in term.match_expressions:
            yield expression.key
    for constraint in template.topology_spread:
        yield constraint.topology_key
    for term_ in (
        *template.pod_affinity,
        *template.pod_anti_affinity,
        *(one.term for one in template.preferred_pod_affinity),
        *(one.term for one in template.preferred_pod_anti_affinity),
    ):
        yield term_.topology_key


def _selector_keys(template: PodTemplate) -> Iterable[str]:
    """Yield the pod labels that rules of a template look at."""
    selectors = [constraint.label_selector for constraint in template.topology_spread]
    selectors += [
        term.label_selector
        for term in (
            *template.pod_affinity,
            *template.pod_anti_affinity,
            *(one.term for one in template.preferred_pod_affinity),
            *(one.term for one in template.preferred_pod_anti_affinity),
        )
    ]
    for selector in selectors:
        if selector is not None:
            yield from (key for key, _ in selector.match_labels)
            yield from (expression.key for expression in selector.match_expressions)
    for constraint in template.topology_spread:
        yield from constraint.match_label_keys
