"""What rules look at: one cluster at one instant."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.aws.cluster_types import observed_types
from karptui.aws.evidence import NO_EVIDENCE, Evidence
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.market import live_instance_types
from karptui.aws.nodeclass import Ec2NodeClass, readable
from karptui.disruption.analysis import NodeFindings
from karptui.disruption.churn.loops import Loop
from karptui.disruption.churn.report import Churn, churn_of
from karptui.disruption.fleet import Fleet
from karptui.disruption.owner import OwnerIndex
from karptui.karpenter.inventory import NO_HISTORY, ClusterHistory, Inventory
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, SPOT, WELL_KNOWN, ZONE
from karptui.karpenter.nodeclass import is_ec2
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.settings import Settings
from karptui.kube.group import group_by
from karptui.kube.pod import ENDED, Pod, PodTemplate
from karptui.kube.resources import MEMORY
from karptui.kube.timestamps import ABSENT_NS
from karptui.kube.usage import NO_LIVE_USAGE, LiveUsage
from karptui.kube.workload import PodDisruptionBudget
from karptui.provisioning.catalogue import Catalogue, bits, catalogue_of
from karptui.provisioning.explain import explain
from karptui.provisioning.instance_types import may_go_to, pool_types
from karptui.provisioning.pool_order import usable_pools
from karptui.provisioning.pool_types import PoolTypes
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.rejection import PlacementGate
from karptui.provisioning.solution import Solution, solve
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.template import template_requirements
from karptui.provisioning.type_index import single_value
from karptui.provisioning.volumes import VolumeLookupError
from karptui.whatif.edits import ObjectRef

NOTHING_FOUND: Final[Mapping[str, NodeFindings]] = MappingProxyType({})


class PodGroup(msgspec.Struct, frozen=True, eq=False):
    """Pods of one template that have not ended and are not being deleted."""

    template: PodTemplate
    pods: tuple[Pod, ...]
    owner: ObjectRef
    """The workload of the pods, or the pod itself if no controller recreates it."""

    @property
    def is_daemon(self) -> bool:
        """Whether they run on nodes because the nodes are there: DaemonSets' and static pods."""
        return self.template.is_daemonset_owned or self.template.is_node_owned


class ReportedType(msgspec.Struct, frozen=True):
    """An instance type with the resources that its nodes report."""

    facts: InstanceTypeFacts
    nodes: int
    memory_bytes: int
    """The least of its nodes."""


class AdviceContext:
    """One cluster at one instant, with everything heavy worked out when it is first asked for."""

    def __init__(
        self,
        prepared: Prepared,
        fleet: Fleet,
        *,
        findings: Mapping[str, NodeFindings] = NOTHING_FOUND,
        evidence: Evidence = NO_EVIDENCE,
        hidden: frozenset[str] = frozenset(),
        history: ClusterHistory = NO_HISTORY,
        usage: LiveUsage = NO_LIVE_USAGE,
    ) -> None:
        """Prepare the cluster for the rules.

        Args:
            prepared: The cluster, prepared for the provisioning engine.
            fleet: The cluster as the disruption engine sees it.
            findings: Disruption analysis of each node, by the key of the analysis.
            evidence: Types, settings and prices.
            hidden: Kinds that may not be listed, have not arrived, or may be missing from a file.
            history: Observed deletions.
            usage: Real usage of nodes and pods, from metrics-server.

        """
        self.prepared = prepared
        self.fleet = fleet
        self.findings = findings
        self.evidence = evidence
        self.hidden = hidden
        self.history = history
        self.usage = usage
        self._prices: dict[str, float | None] = {}
        self._accepting: dict[tuple[object, ...], int] = {}

    @property
    def inventory(self) -> Inventory:
        """Every object."""
        return self.prepared.inventory

    @property
    def settings(self) -> Settings:
        """Settings of Karpenter's controller."""
        return self.prepared.settings

    @property
    def now_ns(self) -> int:
        """The instant, nanoseconds since the epoch."""
        return self.prepared.now_ns

    def is_assumed(self, setting: str) -> bool:
        """Return whether a setting is unknown and its default is assumed.

        Args:
            setting: The environment's name, e.g. ``FEATURE_GATES``.

        """
        return self.evidence.is_assumed(setting, self.settings)

    def doubt(self, setting: str) -> str:
        """Return a note that a setting is assumed, or an empty string."""
        return f" ({setting} is not known: its default is assumed)" if self.is_assumed(setting) else ""

    @cached_property
    def solution(self) -> Solution:
        """The provisioner's decision for the current cluster."""
        return solve(self.prepared)

    @cached_property
    def groups(self) -> tuple[PodGroup, ...]:
        """Active pods by template."""
        by_template: defaultdict[PodTemplate, list[Pod]] = defaultdict(list)
        for pod in self.inventory.pods:
            # Written out, as there may be a hundred thousand of them.
            if pod.deletion_ns == ABSENT_NS and pod.phase not in ENDED:
                by_template[pod.template].append(pod)
        return tuple(PodGroup(template, tuple(pods), self.owner_of(pods[0])) for template, pods in by_template.items())

    @cached_property
    def workload_groups(self) -> tuple[PodGroup, ...]:
        """The same without DaemonSets' and static pods."""
        return tuple(group for group in self.groups if not group.is_daemon)

    @cached_property
    def _owners(self) -> OwnerIndex:
        return OwnerIndex(self.inventory.workloads)

    def owner_of(self, pod: Pod) -> ObjectRef:
        """Return a pod's workload, or the pod itself if no controller recreates it."""
        owner = self._owners.of(pod)
        if owner is None:
            return ObjectRef("Pod", pod.name, pod.namespace)
        return ObjectRef(owner.kind, owner.name, owner.namespace)

    @cached_property
    def budgeted(self) -> tuple[tuple[tuple[PodDisruptionBudget, ...], PodGroup], ...]:
        """Pods that PodDisruptionBudgets select, in groups that the same ones select."""
        if not self.inventory.pdbs:
            return ()
        budgeted_groups: list[tuple[tuple[PodDisruptionBudget, ...], PodGroup]] = []
        for group in self.groups:
            for budgets, pods in self._by_budgets(group.pods):
                budgeted_groups.append((budgets, msgspec.structs.replace(group, pods=pods)))
        return tuple(budgeted_groups)

    def _by_budgets(self, pods: tuple[Pod, ...]) -> Iterator[tuple[tuple[PodDisruptionBudget, ...], tuple[Pod, ...]]]:
        limits = self.fleet.pods.limits
        by_budgets: dict[tuple[str, ...], tuple[tuple[PodDisruptionBudget, ...], list[Pod]]] = {}
        shared = [pod for pod in pods if not pod.own_labels]
        for pod in (*shared[:1], *(pod for pod in pods if pod.own_labels)):
            matching = limits.matching(pod)
            if matching:
                selected_pods = by_budgets.setdefault(tuple(budget.key for budget in matching), (matching, []))[1]
                selected_pods.extend((pod,) if pod.own_labels else shared)
        for matching, selected_pods in by_budgets.values():
            yield matching, tuple(selected_pods)

    @cached_property
    def pools(self) -> tuple[NodePool, ...]:
        """NodePools that this Karpenter serves and that are not being deleted, by name."""
        return tuple(pool for _, pool in sorted(self.fleet.pools.items()) if not pool.is_deleting)

    @cached_property
    def ready_pools(self) -> tuple[NodePool, ...]:
        """Ready, dynamic NodePools by weight, with or without types."""
        return tuple(usable_pools(self.inventory.nodepools))

    @cached_property
    def tried_pools(self) -> tuple[NodePool, ...]:
        """Ready NodePools with at least one usable instance type, in the order Karpenter tries them."""
        return tuple(template.pool for template in self.prepared.templates)

    def pool_types(self, names: Container[str]) -> Mapping[str, PoolTypes]:
        """Return the instance types of NodePools after each filter, by name."""
        types = pool_types(self.inventory, self.prepared.given_types, self.settings, names)
        return {types.pool.name: types for types in types}

    @cached_property
    def _requirements(self) -> dict[str, Requirements]:
        return {pool.name: template_requirements(pool) for pool in self.inventory.nodepools}

    def requirements_of(self, pool: NodePool) -> Requirements:
        """Return the requirements of a NodePool's new nodes."""
        return self._requirements[pool.name]

    def catalogue_of(self, pool: NodePool) -> Catalogue:
        """Return the indexed instance types that a NodePool draws on."""
        catalogue = self.prepared.catalogues.get(pool.name)
        return (
            catalogue
            if catalogue is not None
            else catalogue_of(tuple(self.prepared.types_by_pool[pool.name]), self.settings.rules)
        )

    @cached_property
    def _offered(self) -> dict[str, tuple[int, frozenset[tuple[str, str]]]]:
        return {pool.name: self._offerings(pool) for pool in self.inventory.nodepools}

    def _offerings(self, pool: NodePool) -> tuple[int, frozenset[tuple[str, str]]]:
        catalogue, requirements = self.catalogue_of(pool), self.requirements_of(pool)
        compatible = catalogue.compatible(requirements)
        types, places = 0, set()
        for kind in catalogue.offering_kinds:
            sold = catalogue.types_of_rows(kind.rows) & compatible
            if sold and requirements.compatible(kind.requirements, WELL_KNOWN):
                types |= sold
                places.add((single_value(kind.requirements, ZONE), single_value(kind.requirements, CAPACITY_TYPE)))
        return types, frozenset(places)

    def knows_types(self, pool: NodePool) -> bool:
        """Return whether the provider's types are known, not only the types of existing nodes."""
        return pool.name not in self.prepared.guessed_pools

    def offered_types(self, pool: NodePool) -> tuple[str, ...]:
        """Return the names of a NodePool's allowed and available types, ignoring limits."""
        catalogue = self.catalogue_of(pool)
        return tuple(catalogue.types[i].name for i in bits(self._offered[pool.name][0]))

    def capacity_types_of(self, pool: NodePool) -> frozenset[str]:
        """Return the capacity types with an available offering of a NodePool."""
        return frozenset(kind for _, kind in self._offered[pool.name][1] if kind)

    @cached_property
    def _nodes_by_pool(self) -> dict[str, list[StateNode]]:
        return group_by((node for node in self.fleet.nodes if node.claim is not None), lambda node: node.nodepool_name)

    def nodes_of(self, pool: NodePool) -> tuple[StateNode, ...]:
        """Return the nodes of a NodePool that Karpenter manages."""
        return tuple(self._nodes_by_pool.get(pool.name, ()))

    def spot_nodes_of(self, pool: NodePool) -> list[StateNode]:
        """Return the spot nodes among them."""
        return [node for node in self.nodes_of(pool) if node.labels.get(CAPACITY_TYPE) == SPOT]

    def price(self, node: StateNode) -> float | None:
        """Return the price of a node per hour, or None if unknown."""
        if node.name not in self._prices:
            self._prices[node.name] = self._price(node)
        return self._prices[node.name]

    def _price(self, node: StateNode) -> float | None:
        resolved = self.fleet.resolved(node.nodepool_name)
        if resolved is None:
            return None
        names = node.labels
        type_name, zone, kind = names.get(INSTANCE_TYPE, ""), names.get(ZONE, ""), names.get(CAPACITY_TYPE, "")
        return self.evidence.price_settings.paid(resolved[1].known_price(type_name, zone, kind))

    def cost(self, nodes: Iterable[StateNode]) -> float | None:
        """Return the total price of nodes per hour, or None if no price is known."""
        prices = [price for node in nodes if (price := self.price(node)) is not None]
        return sum(prices) if prices else None

    @cached_property
    def node_by_name(self) -> Mapping[str, StateNode]:
        """Tracked nodes by the name of their Node."""
        return {node.node.name: node for node in self.fleet.nodes if node.node is not None}

    def nodes_with(self, pods: Iterable[Pod]) -> tuple[StateNode, ...]:
        """Return the managed nodes of pods, each once."""
        nodes = {pod.node_name: self.node_by_name.get(pod.node_name) for pod in pods if pod.node_name}
        return tuple(node for node in nodes.values() if node is not None and node.claim is not None)

    def accepting(self, template: PodTemplate) -> int:
        """Return the tried NodePools that accept a template by taints and labels, as bits."""
        selector = tuple(sorted(template.node_selector.items()))
        key = (template.tolerations, selector, template.required_node_terms)
        mask = self._accepting.get(key)
        if mask is None:
            mask = 0
            pod = Pod(name="", template=template)
            for index, pool in enumerate(self.tried_pools):
                if may_go_to(pod, pool, self.requirements_of(pool)):
                    mask |= 1 << index
            self._accepting[key] = mask
        return mask

    def pools_for(self, template: PodTemplate) -> tuple[NodePool, ...]:
        """Return the tried NodePools that pods of a template may go to, in order."""
        return tuple(self.tried_pools[index] for index in bits(self.accepting(template)))

    def zones_for(self, template: PodTemplate) -> frozenset[str]:
        """Return the zones with an available offering of a NodePool that pods of a template may go to."""
        offered = (self._offered[pool.name][1] for pool in self.pools_for(template))
        return frozenset(zone for pairs in offered for zone, _ in pairs if zone)

    @cached_property
    def held_by_limits(self) -> Mapping[str, int]:
        """How many pods that wait only its limits keep from each NodePool, types and offerings included."""
        counter: Counter[str] = Counter()
        pools_by_kind: dict[object, tuple[str, ...]] = {}
        for pod in self.prepared.pending:
            if pod.key not in self.solution.errors:
                continue  # another NodePool or a node takes it
            kind: object = pod.uid if pod.volumes else pod.template
            if kind not in pools_by_kind:
                pools_by_kind[kind] = self._kept_by_limits(pod)
            counter.update(pools_by_kind[kind])
        return counter

    def _kept_by_limits(self, pod: Pod) -> tuple[str, ...]:
        """Return the NodePools that would take a pod if they were within their limits."""
        if not any(pool.limits for pool in self.pools_for(pod.template)):
            return ()
        pools = explain(self.solution, pod, asks_nodes=False).pools
        return tuple(p.nodepool for p in pools if p.failed is PlacementGate.LIMITS and p.besides_limits is None)

    @cached_property
    def pods_by_pools(self) -> Mapping[int, int]:
        """How many workload pods may go to exactly these NodePools, by bits of ``tried_pools``."""
        pods: dict[int, int] = {}
        for group in self.workload_groups:
            mask = self.accepting(group.template)
            pods[mask] = pods.get(mask, 0) + len(group.pods)
        return pods

    def pods_for_all(self, pools: Iterable[NodePool]) -> int:
        """Return the number of workload pods that all these NodePools accept."""
        places = {pool.name: index for index, pool in enumerate(self.tried_pools)}
        pool_mask = sum(1 << places[pool.name] for pool in pools)
        return sum(count for mask, count in self.pods_by_pools.items() if mask & pool_mask == pool_mask)

    @cached_property
    def _parsed(self) -> dict[str, Ec2NodeClass]:
        parsed = map(readable, filter(is_ec2, self.inventory.nodeclasses))
        return {nodeclass.name: nodeclass for nodeclass in parsed if nodeclass is not None}

    @property
    def ec2_nodeclasses(self) -> tuple[Ec2NodeClass, ...]:
        """EC2NodeClasses that can be read, by name."""
        return tuple(nodeclass for _, nodeclass in sorted(self._parsed.items()))

    def ec2_nodeclass_of(self, pool: NodePool) -> Ec2NodeClass | None:
        """Return a NodePool's EC2NodeClass, or None."""
        ref = pool.node_class_ref
        return self._parsed.get(ref.name) if is_ec2(ref) else None

    def pools_with(self, nodeclass: str) -> tuple[NodePool, ...]:
        """Return the served NodePools that use an EC2NodeClass."""
        return tuple(pool for pool in self.pools if pool.node_class_ref.name == nodeclass)

    @cached_property
    def reported_types(self) -> tuple[ReportedType, ...]:
        """Instance types that EC2 knows of nodes that EC2NodeClasses made, with the memory these report, by name."""
        nodes = [
            node.node
            for pool in self.pools
            if self.ec2_nodeclass_of(pool) is not None
            for node in self.nodes_of(pool)
            if node.node is not None
        ]
        if not nodes:
            return ()
        facts = live_instance_types(self.evidence.facts)
        return tuple(
            ReportedType(facts[name], observed_type.node_count, observed_type.capacity[MEMORY].smallest.units)
            for name, observed_type in observed_types(nodes).items()
            if name in facts and MEMORY in observed_type.capacity
        )

    @cached_property
    def churn(self) -> Churn:
        """NodeClaims and pods that were added and removed; wrong if NodeClaims are hidden."""
        return churn_of(self.inventory, self.now_ns, self.history)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Churn loops; empty if NodeClaims are hidden."""
        return () if "NodeClaim" in self.hidden else self.churn.loops

    def zones_of_volumes(self, pod: Pod) -> frozenset[str]:
        """Return the zones shared by all volumes of a pod; empty if unknown."""
        try:
            alternatives = self.prepared.volumes.alternatives(pod)
        except VolumeLookupError:
            return frozenset()
        zones: set[str] = set()
        for alternative in alternatives:
            zone = alternative.find(ZONE)
            if zone is None or zone.complement:
                return frozenset()
            zones |= zone.values
        return frozenset(zones)
