"""Possible domains of topology keys, and counts of running pods for topology rules.

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
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.kube.selectors import LabelSelector
from karptui.kube.taints import Taint, Toleration, untolerated
from karptui.provisioning.catalogue import Catalogue
from karptui.provisioning.reporter import Pause, no_pause, with_pauses
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.state_node import StateChange, StateNode
from karptui.provisioning.topology_spec import TopologySpec

PoolDomains = tuple[Requirements, tuple[Taint, ...], Catalogue]
"""A NodePool's requirements and labels, its taints, and all its instance types, available or not. NodePools without
types are ignored."""


class DomainUniverse:
    """Domains by topology key, with the taints of the NodePools that can reach them."""

    def __init__(self, pools: Sequence[PoolDomains]) -> None:
        self._pools = pools
        self._taints_by_domain: dict[str, dict[str, list[tuple[Taint, ...]]]] = {}
        self._domains: dict[tuple[str, tuple[Toleration, ...] | None], tuple[str, ...]] = {}

    def domains(self, key: str, tolerations: tuple[Toleration, ...] | None) -> tuple[str, ...]:
        """Return the sorted domains of a key.

        Args:
            tolerations: Exclude domains that only NodePools with other taints can reach; None to include all.
        """
        cached = self._domains.get((key, tolerations))
        if cached is None:
            by_domain = self._taints_by_domain.get(key)
            if by_domain is None:
                by_domain = self._taints_by_domain[key] = self._collect(key)
            cached = tuple(
                sorted(
                    domain
                    for domain, sets in by_domain.items()
                    if tolerations is None or any(not untolerated(taints, tolerations) for taints in sets)
                )
            )
            self._domains[key, tolerations] = cached
        return cached

    def _collect(self, key: str) -> dict[str, list[tuple[Taint, ...]]]:
        taints_by_domain: dict[str, list[tuple[Taint, ...]]] = {}
        for requirements, taints, catalogue in self._pools:
            for domain in pool_domains(key, requirements, catalogue):
                taints_by_domain.setdefault(domain, []).append(taints)
        return taints_by_domain


def pool_domains(key: str, requirements: Requirements, catalogue: Catalogue) -> Iterable[str]:
    """Return a NodePool's domains; for a NotIn that a type does not narrow, the excluded values, as in Karpenter."""
    pool_requirement = requirements.find(key)
    domains: set[str] = set()
    if pool_requirement is not None and pool_requirement.operator == IN:
        domains |= pool_requirement.values
    index = catalogue.keys.get(key)
    if index is None:
        return domains if pool_requirement is None else domains | pool_requirement.values
    for requirement in index.distinct:
        domains |= (requirement if pool_requirement is None else requirement.intersect(pool_requirement)).values
    if pool_requirement is not None and index.undefined:
        domains |= pool_requirement.values
    return domains


def _pods_left(state: StateNode | None, other: StateNode | None) -> list[Pod]:
    """Return the counted pods of a node that are missing, or on another Node, in its other state."""
    if state is None:
        return []
    same = {id(pod) for pod in other.pods} if other is not None and other.node is state.node else set()
    return [pod for pod in state.pods if id(pod) not in same and is_counted(pod)]


NodeLabels = tuple[RequirementSet, str | None]
"""A Node's labels as requirements, and its hostname label or None."""

_NODE_NAME: Final = attrgetter("node_name")


class RegisteredNodes:
    """Nodes that count for a rule, with or without pods."""

    __slots__ = ("by_domain", "domain_by_node")

    def __init__(self) -> None:
        self.by_domain: Counter[str] = Counter()
        """Number of nodes by domain."""
        self.domain_by_node: dict[str, str] = {}
        """Domain by provider id."""

    def add(self, provider_id: str, domain: str, change: int) -> None:
        """Add a node, or remove it if ``change`` is -1."""
        if change > 0:
            self.domain_by_node[provider_id] = domain
        else:
            del self.domain_by_node[provider_id]
        _count(self.by_domain, domain, change)

    def copy(self) -> RegisteredNodes:
        """Return a copy."""
        copied = RegisteredNodes()
        copied.by_domain.update(self.by_domain)
        copied.domain_by_node.update(self.domain_by_node)
        return copied


def _count(counts: Counter[str], domain: str | None, change: int) -> None:
    if domain is not None:
        counts[domain] += change
        if not counts[domain]:
            del counts[domain]


class BaseCount:
    """Counts of a rule's running pods before the run."""

    __slots__ = ("nodes", "pods")

    def __init__(self, nodes: RegisteredNodes) -> None:
        self.nodes = nodes
        self.pods: Counter[str] = Counter()
        """Pods by domain."""


def is_counted(pod: Pod) -> bool:
    """Return whether a pod counts for topology rules: bound and active."""
    return bool(pod.node_name) and pod.is_active


class RunningPods:
    """Running pods by namespace and label, with their Nodes, for counting."""

    def __init__(
        self,
        pods: Sequence[Pod],
        nodes: Iterable[Node],
        active: Sequence[StateNode],
        labels_of: Callable[[Node], NodeLabels],
        universe: DomainUniverse,
    ) -> None:
        self.pause: Pause = no_pause
        self._pods = pods
        self._nodes = {node.name: node for node in nodes}
        self._active = active
        self._labels_of = labels_of
        self._universe = universe
        self.counts: dict[TopologySpec, BaseCount] = {}
        """Counts by rule."""
        self.registered: dict[str, RegisteredNodes] = {}
        """Nodes by key, for the rules that count every node."""
        self._by_label: dict[tuple[str, str], dict[str, list[Pod]]] = {}
        """Counted pods by value, by namespace and label key."""

    @cached_property
    def _by_namespace(self) -> dict[str, list[Pod]]:
        """Counted pods."""
        by_namespace: dict[str, list[Pod]] = defaultdict(list)
        for pod in with_pauses(self._pods, self.pause):
            if is_counted(pod):
                by_namespace[pod.template.namespace].append(pod)
        return by_namespace

    def later(
        self, pods: Sequence[Pod], nodes: Iterable[Node], active: Sequence[StateNode], changes: Sequence[StateChange]
    ) -> RunningPods:
        """Return the counts at a later time, updated instead of recounted.

        Args:
            changes: All changed tracked nodes; every bound pod must belong to a tracked node.
        """
        later = RunningPods(pods, nodes, active, self._labels_of, self._universe)
        later.pause = self.pause
        removed = [pod for before, after in changes for pod in _pods_left(before, after)]
        added = [pod for before, after in changes for pod in _pods_left(after, before)]
        renewed: dict[int, RegisteredNodes] = {}
        for spec, base in self.counts.items():
            nodes_then = renewed.get(id(base.nodes))
            if nodes_then is None:
                nodes_then = renewed[id(base.nodes)] = self._moved(spec, base.nodes, changes)
            count = later.counts[spec] = BaseCount(nodes_then)
            count.pods.update(base.pods)
            for pod in removed:
                _count(count.pods, self.domain_of(spec, pod), -1)
            for pod in added:
                _count(count.pods, later.domain_of(spec, pod), 1)
        for key, registered in self.registered.items():
            later.registered[key] = renewed[id(registered)]
        return later

    def _moved(self, spec: TopologySpec, nodes: RegisteredNodes, changes: Sequence[StateChange]) -> RegisteredNodes:
        moved = nodes
        for before, after in changes:
            old, new = self._registered_in(spec, before), self._registered_in(spec, after)
            if old == new:
                continue
            if moved is nodes:
                moved = nodes.copy()
            for state, domain, change in ((before, old, -1), (after, new, 1)):
                if state is not None and domain is not None:
                    moved.add(state.provider_id, domain, change)
        return moved

    def universe_of(self, spec: TopologySpec) -> tuple[str, ...]:
        """Return the domains of a rule that NodePools can create."""
        return self._universe.domains(spec.key, spec.tolerations if spec.honors_taints else None)

    def count(self, spec: TopologySpec) -> BaseCount:
        """Return the counts of a rule's running pods, cached per rule."""
        base = self.counts.get(spec)
        if base is None:
            base = self.counts[spec] = BaseCount(self._register(spec))
            names: Counter[str] = Counter()
            for namespace in spec.namespaces:
                names.update(map(_NODE_NAME, self._selected(spec.selector, namespace)))
            for name, count in names.items():
                domain = self._domain(spec, name)
                if domain is not None:
                    base.pods[domain] += count
        return base

    def domain_of(self, spec: TopologySpec, pod: Pod) -> str | None:
        """Return a counted pod's domain for a rule, None if the rule does not count it."""
        if pod.namespace not in spec.namespaces:
            return None
        if spec.selector is not None and not spec.selector.matches(pod.labels):
            return None
        return self._domain(spec, pod.node_name)

    def _register(self, spec: TopologySpec) -> RegisteredNodes:
        rule = spec.node_filter
        if rule is not None and not rule.counts_all:
            return self._read_nodes(spec)
        registered = self.registered.get(spec.key)
        if registered is None:
            registered = self.registered[spec.key] = self._read_nodes(spec)
        return registered

    def _read_nodes(self, spec: TopologySpec) -> RegisteredNodes:
        registered = RegisteredNodes()
        for state in self._active:
            domain = self._registered_in(spec, state)
            if domain is not None:
                registered.add(state.provider_id, domain, 1)
        return registered

    def _registered_in(self, spec: TopologySpec, state: StateNode | None) -> str | None:
        if spec.key == HOSTNAME or state is None or state.node is None or state.is_marked_for_deletion:
            return None
        domain = state.labels.get(spec.key)
        return domain if domain is not None and self._is_counted(spec, state.node) else None

    def _selected(self, selector: LabelSelector | None, namespace: str) -> Iterable[Pod]:
        """Return the pods of a namespace that a selector matches; all pods without a selector."""
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
        pods_by_value = self._by_label.get((namespace, key))
        if pods_by_value is None:
            pods_by_value = self._by_label[namespace, key] = defaultdict(list)
            for pod in self._by_namespace.get(namespace, ()):
                value = pod.labels.get(key)
                if value is not None:
                    pods_by_value[value].append(pod)
        return pods_by_value

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
