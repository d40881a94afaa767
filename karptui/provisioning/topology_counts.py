"""Domains that a topology key can have at all, and the pods that run already, as topology rules count them.

Rules: ``buildDomainGroups``, ``countDomains`` and ``updateInverseAffinities`` in ``topology.go``, and
``topologydomaingroup.go``, of ``pkg/controllers/provisioning/scheduling``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Final

from karptui.karpenter.labels import HOSTNAME
from karptui.karpenter.requirements import IN, Requirements
from karptui.kube.node import Node
from karptui.kube.pod import Pod
from karptui.kube.selectors import LabelSelector
from karptui.kube.taints import Taint, Toleration, untolerated
from karptui.provisioning.catalogue import Catalogue
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.state_node import StateChange, StateNode
from karptui.provisioning.topology_spec import TopologySpec

PoolDomains = tuple[Requirements, tuple[Taint, ...], Catalogue]
"""A NodePool's requirements and labels, its taints, and every instance type it draws on, available or not; pools
without types have no part in it."""


class DomainUniverse:
    """Domains by topology key, with the taints under which each can be reached."""

    def __init__(self, pools: Sequence[PoolDomains]) -> None:
        self._pools = pools
        self._taints_by_domain: dict[str, dict[str, list[tuple[Taint, ...]]]] = {}
        self._domains: dict[tuple[str, tuple[Toleration, ...] | None], tuple[str, ...]] = {}

    def domains(self, key: str, tolerations: tuple[Toleration, ...] | None) -> tuple[str, ...]:
        """Return the domains of a key, sorted.

        Args:
            key: Topology key.
            tolerations: Leave out domains that only pools with other taints reach; None leaves out nothing.
        """
        known = self._domains.get((key, tolerations))
        if known is None:
            by_domain = self._taints_by_domain.get(key)
            if by_domain is None:
                by_domain = self._taints_by_domain[key] = self._collect(key)
            known = tuple(
                sorted(
                    domain
                    for domain, sets in by_domain.items()
                    if tolerations is None or any(not untolerated(taints, tolerations) for taints in sets)
                )
            )
            self._domains[key, tolerations] = known
        return known

    def _collect(self, key: str) -> dict[str, list[tuple[Taint, ...]]]:
        found: dict[str, list[tuple[Taint, ...]]] = {}
        for requirements, taints, catalogue in self._pools:
            for domain in _pool_domains(key, requirements, catalogue):
                found.setdefault(domain, []).append(taints)
        return found


def _pool_domains(key: str, requirements: Requirements, catalogue: Catalogue) -> Iterable[str]:
    """Return a pool's domains; of a NotIn that a type does not narrow these are the excluded values."""
    own = requirements.find(key)
    domains: set[str] = set()
    if own is not None and own.operator == IN:
        domains |= own.values
    index = catalogue.keys.get(key)
    if index is None:
        return domains if own is None else domains | own.values
    for requirement in index.distinct:
        domains |= requirement.values if own is None else requirement.intersect(own).values
    if own is not None and index.undefined:
        domains |= own.values
    return domains


def _pods_left(one: StateNode | None, other: StateNode | None) -> list[Pod]:
    """Return the pods of a node that count, and that it does not have, or not on the same Node, at the other moment."""
    if one is None:
        return []
    same = {id(pod) for pod in other.pods} if other is not None and other.node is one.node else set()
    return [pod for pod in one.pods if id(pod) not in same and is_counted(pod)]


NodeLabels = tuple[RequirementSet, str | None]
"""A Node's labels as requirements, and its host name label or None."""

_NODE_NAME: Final = attrgetter("node_name")


class RegisteredNodes:
    """Nodes that count for a rule, with pods or without."""

    __slots__ = ("by_domain", "domain_by_node")

    def __init__(self) -> None:
        self.by_domain: Counter[str] = Counter()
        """How many there are by domain."""
        self.domain_by_node: dict[str, str] = {}
        """Domain by provider id."""

    def add(self, provider_id: str, domain: str, change: int) -> None:
        """Count a node, or with -1 count it no more."""
        if change > 0:
            self.domain_by_node[provider_id] = domain
        else:
            del self.domain_by_node[provider_id]
        _count(self.by_domain, domain, change)

    def copy(self) -> RegisteredNodes:
        """Return the same, to be changed."""
        found = RegisteredNodes()
        found.by_domain.update(self.by_domain)
        found.domain_by_node.update(self.domain_by_node)
        return found


def _count(counts: Counter[str], domain: str | None, change: int) -> None:
    if domain is not None:
        counts[domain] += change
        if not counts[domain]:
            del counts[domain]


class BaseCount:
    """Where a rule's pods run, before a run decides anything."""

    __slots__ = ("nodes", "pods")

    def __init__(self, nodes: RegisteredNodes) -> None:
        self.nodes = nodes
        self.pods: Counter[str] = Counter()
        """Pods by domain."""


def is_counted(pod: Pod) -> bool:
    """Return whether a pod counts for topology rules: bound, neither ended nor being deleted."""
    return bool(pod.node_name) and pod.is_active


class RunningPods:
    """Bound pods by namespace and label, for counting; and the Nodes they run on."""

    def __init__(
        self,
        pods: Iterable[Pod],
        nodes: Iterable[Node],
        active: Sequence[StateNode],
        labels_of: Callable[[Node], NodeLabels],
        universe: DomainUniverse,
    ) -> None:
        self._pods = pods
        self._nodes = {node.name: node for node in nodes}
        self._active = active
        self._labels_of = labels_of
        self._universe = universe
        self.counts: dict[TopologySpec, BaseCount] = {}
        """What was counted, by rule."""
        self.registered: dict[str, RegisteredNodes] = {}
        """By key, for the rules that count every node."""
        self._by_label: dict[tuple[str, str], dict[str, list[Pod]]] = {}
        """By namespace and label key: pods that count, by value."""

    @cached_property
    def _by_namespace(self) -> dict[str, list[Pod]]:
        """Pods that count."""
        found: dict[str, list[Pod]] = defaultdict(list)
        for pod in self._pods:
            if is_counted(pod):
                found[pod.template.namespace].append(pod)
        return found

    def later(
        self, pods: Iterable[Pod], nodes: Iterable[Node], active: Sequence[StateNode], changes: Sequence[StateChange]
    ) -> RunningPods:
        """Return the same at a later moment, with what was counted carried over.

        Args:
            pods: Every pod then.
            nodes: Every Node then.
            active: Tracked nodes that are not going away then.
            changes: Every tracked node that has changed; all pods that are bound must belong to one.
        """
        found = RunningPods(pods, nodes, active, self._labels_of, self._universe)
        gone = [pod for before, after in changes for pod in _pods_left(before, after)]
        come = [pod for before, after in changes for pod in _pods_left(after, before)]
        renewed: dict[int, RegisteredNodes] = {}
        for spec, base in self.counts.items():
            nodes_then = renewed.get(id(base.nodes))
            if nodes_then is None:
                nodes_then = renewed[id(base.nodes)] = self._moved(spec, base.nodes, changes)
            made = found.counts[spec] = BaseCount(nodes_then)
            made.pods.update(base.pods)
            for pod in gone:
                _count(made.pods, self.domain_of(spec, pod), -1)
            for pod in come:
                _count(made.pods, found.domain_of(spec, pod), 1)
        for key, registered in self.registered.items():
            found.registered[key] = renewed[id(registered)]
        return found

    def _moved(self, spec: TopologySpec, nodes: RegisteredNodes, changes: Sequence[StateChange]) -> RegisteredNodes:
        found = nodes
        for before, after in changes:
            was, now = self._registered_in(spec, before), self._registered_in(spec, after)
            if was == now:
                continue
            if found is nodes:
                found = nodes.copy()
            for state, domain, change in ((before, was, -1), (after, now, 1)):
                if state is not None and domain is not None:
                    found.add(state.provider_id, domain, change)
        return found

    def universe_of(self, spec: TopologySpec) -> tuple[str, ...]:
        """Return the domains that NodePools offer for a rule."""
        return self._universe.domains(spec.key, spec.tolerations if spec.honors_taints else None)

    def count(self, spec: TopologySpec) -> BaseCount:
        """Return where a rule's pods run, computed once per rule."""
        found = self.counts.get(spec)
        if found is None:
            found = self.counts[spec] = BaseCount(self._register(spec))
            names: Counter[str] = Counter()
            for namespace in spec.namespaces:
                names.update(map(_NODE_NAME, self._selected(spec.selector, namespace)))
            for name, count in names.items():
                domain = self._domain(spec, name)
                if domain is not None:
                    found.pods[domain] += count
        return found

    def domain_of(self, spec: TopologySpec, pod: Pod) -> str | None:
        """Return the domain in which a rule counts a pod that counts, None if it does not."""
        if pod.namespace not in spec.namespaces:
            return None
        if spec.selector is not None and not spec.selector.matches(pod.labels):
            return None
        return self._domain(spec, pod.node_name)

    def _register(self, spec: TopologySpec) -> RegisteredNodes:
        rule = spec.node_filter
        if rule is not None and not rule.counts_all:
            return self._read_nodes(spec)
        found = self.registered.get(spec.key)
        if found is None:
            found = self.registered[spec.key] = self._read_nodes(spec)
        return found

    def _read_nodes(self, spec: TopologySpec) -> RegisteredNodes:
        found = RegisteredNodes()
        for state in self._active:
            domain = self._registered_in(spec, state)
            if domain is not None:
                found.add(state.provider_id, domain, 1)
        return found

    def _registered_in(self, spec: TopologySpec, state: StateNode | None) -> str | None:
        """Return the domain in which a node counts for a rule; None where it does not, or goes away."""
        if spec.key == HOSTNAME or state is None or state.node is None or state.is_marked_for_deletion:
            return None
        domain = state.labels.get(spec.key)
        return domain if domain is not None and self._is_counted(spec, state.node) else None

    def _selected(self, selector: LabelSelector | None, namespace: str) -> Iterable[Pod]:
        """Return the pods of a namespace that a selector lists; without a selector that is every one."""
        if selector is None:
            return self._by_namespace.get(namespace, ())
        if not selector.match_labels:
            return (pod for pod in self._by_namespace.get(namespace, ()) if selector.matches(pod.labels))
        key, value = selector.match_labels[0]
        pods = self._with_label(namespace, key).get(value, ())
        if len(selector.match_labels) == 1 and not selector.match_expressions:
            return pods
        return (pod for pod in pods if selector.matches(pod.labels))

    def _with_label(self, namespace: str, key: str) -> Mapping[str, Sequence[Pod]]:
        found = self._by_label.get((namespace, key))
        if found is None:
            found = self._by_label[namespace, key] = defaultdict(list)
            for pod in self._by_namespace.get(namespace, ()):
                value = pod.labels.get(key)
                if value is not None:
                    found[value].append(pod)
        return found

    def _domain(self, spec: TopologySpec, node_name: str) -> str | None:
        node = self._nodes.get(node_name)
        if node is None:
            return None
        domain = node.labels.get(spec.key)
        if domain is None and spec.key == HOSTNAME:
            domain = node.name
        return domain if domain is not None and self._is_counted(spec, node) else None

    def _is_counted(self, spec: TopologySpec, node: Node) -> bool:
        rule = spec.node_filter
        if rule is None or rule.counts_all:
            return True
        labels, hostname = self._labels_of(node)
        return rule.counts(node.taints, labels, hostname)
