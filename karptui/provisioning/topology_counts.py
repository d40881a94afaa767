"""Pods that run already, as topology rules count them.

Rules: ``countDomains`` and ``updateInverseAffinities`` in ``pkg/controllers/provisioning/scheduling/topology.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from karptui.karpenter.labels import HOSTNAME
from karptui.kube.node import Node
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.selectors import LabelSelector
from karptui.provisioning.domains import DomainUniverse
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.topology_spec import TopologySpec

NodeLabels = tuple[RequirementSet, str | None]
"""A Node's labels as requirements, and its host name label or None."""


class BaseCount:
    """Where a rule's pods run, before a run decides anything."""

    __slots__ = ("domain_by_uid", "pods", "registered", "registered_by_node")

    def __init__(self) -> None:
        self.domain_by_uid: dict[str, str] = {}
        self.pods: Counter[str] = Counter()
        """Pods by domain."""
        self.registered: Counter[str] = Counter()
        """Nodes by domain, of those that the rule counts."""
        self.registered_by_node: dict[str, str] = {}
        """Domain by the node's provider id."""


class RunningPods:
    """Bound pods by namespace and template, for counting; and the Nodes they run on."""

    def __init__(
        self,
        pods: Iterable[Pod],
        nodes: Iterable[Node],
        active: Sequence[StateNode],
        labels_of: Mapping[str, NodeLabels],
        universe: DomainUniverse,
    ) -> None:
        self._pods = pods
        self._nodes = {node.name: node for node in nodes}
        self._active = active
        self._labels_of = labels_of
        self._universe = universe
        self._by_namespace: dict[str, dict[PodTemplate, list[Pod]]] | None = None
        self._counts: dict[TopologySpec, BaseCount] = {}

    @property
    def by_namespace(self) -> dict[str, dict[PodTemplate, list[Pod]]]:
        """Pods that count: bound, neither ended nor being deleted."""
        if self._by_namespace is None:
            found: dict[str, dict[PodTemplate, list[Pod]]] = {}
            for pod in self._pods:
                if pod.node_name and pod.is_active:
                    found.setdefault(pod.template.namespace, {}).setdefault(pod.template, []).append(pod)
            self._by_namespace = found
        return self._by_namespace

    def universe_of(self, spec: TopologySpec) -> tuple[str, ...]:
        """Return the domains that NodePools offer for a rule."""
        return self._universe.domains(spec.key, spec.tolerations if spec.honors_taints else None)

    def count(self, spec: TopologySpec) -> BaseCount:
        """Return where a rule's pods run, computed once per rule."""
        found = self._counts.get(spec)
        if found is None:
            found = self._counts[spec] = self._count(spec)
        return found

    def _count(self, spec: TopologySpec) -> BaseCount:
        base = BaseCount()
        if spec.key != HOSTNAME:
            for state_node in self._active:
                domain = state_node.labels.get(spec.key)
                if state_node.node is not None and domain is not None and self._is_counted(spec, state_node.node):
                    base.registered[domain] += 1
                    base.registered_by_node[state_node.provider_id] = domain
        domains: dict[str, str | None] = {}
        for pod in self._selected(spec):
            name = pod.node_name
            if name not in domains:
                domains[name] = self._domain(spec, name)
            domain = domains[name]
            if domain is not None:
                base.domain_by_uid[pod.uid] = domain
                base.pods[domain] += 1
        return base

    def _selected(self, spec: TopologySpec) -> Iterable[Pod]:
        """Yield the pods that a rule's selector lists; without a selector that is every pod of its namespaces."""
        selector: LabelSelector | None = spec.selector
        for namespace in sorted(spec.namespaces):
            for template, pods in self.by_namespace.get(namespace, {}).items():
                if selector is None:
                    yield from pods
                elif any(pod.own_labels for pod in pods):
                    yield from (pod for pod in pods if selector.matches(pod.labels))
                elif selector.matches(template.labels):
                    yield from pods

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
        labels, hostname = self._labels_of[node.name]
        return rule.counts(node.taints, labels, hostname)
