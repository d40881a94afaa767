"""Topology rules of pods: spread constraints, affinity and anti-affinity; and the labels they refer to.

Rules: ``topologygroup.go``, ``topologynodefilter.go``, ``defaultconstraints.go`` and ``newForTopologies``,
``newForAffinities`` of ``topology.go`` in ``pkg/controllers/provisioning/scheduling``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.requirements import Requirement
from karptui.kube.group import group_by
from karptui.kube.pod import Pod, PodAffinityTerm, PodTemplate, TopologySpreadConstraint
from karptui.kube.selectors import LabelSelector, LabelSelectorRequirement
from karptui.kube.taints import Taint, Toleration, untolerated
from karptui.kube.workload import Workload
from karptui.provisioning.requirement_set import Interner, RequirementSet

UNLIMITED_SKEW: Final = 2**31 - 1
HONOR: Final = "Honor"
IGNORE: Final = "Ignore"

Asked = tuple[RequirementSet, Requirement | None]
"""Requirements on a node's labels, and separately on its hostname."""


class TopologyKind(StrEnum):
    """Kind of a topology rule."""

    SPREAD = "topology spread"
    AFFINITY = "pod affinity"
    ANTI_AFFINITY = "pod anti-affinity"


def host_allowed(rule: Requirement | None, hostname: str | None) -> bool:
    """Return whether a requirement allows a hostname; None is a node without the hostname label."""
    if rule is None:
        return True
    return rule.is_negative if hostname is None else rule.allows(hostname)


class NodeFilter:
    """Nodes that a spread constraint counts."""

    def __init__(
        self,
        alternatives: tuple[Asked, ...],
        *,
        honors_affinity: bool,
        honors_taints: bool,
        tolerations: tuple[Toleration, ...],
    ) -> None:
        self.alternatives = alternatives
        self.honors_affinity = honors_affinity
        self.honors_taints = honors_taints
        self.tolerations = tolerations
        everywhere = any(not len(labels.value) and host is None for labels, host in alternatives)
        self.counts_all = not honors_taints and (not honors_affinity or not alternatives or everywhere)
        """Whether it counts all nodes."""

    def counts(self, taints: tuple[Taint, ...], labels: RequirementSet, hostname: str | None) -> bool:
        """Return whether a node counts; labels must be defined, even well-known ones."""
        if self.honors_affinity and self.alternatives and not self._is_wanted(labels, hostname):
            return False
        return not (self.honors_taints and untolerated(taints, self.tolerations))

    def _is_wanted(self, labels: RequirementSet, hostname: str | None) -> bool:
        return any(
            host_allowed(host, hostname) and labels.value.compatible(required.value)
            for required, host in self.alternatives
        )


class TopologySpec:
    """A rule of a pod class; rules with the same ``identity`` share counts, and the first one's filter applies."""

    __slots__ = (
        "honors_taints",
        "identity",
        "key",
        "kind",
        "max_skew",
        "min_domains",
        "namespaces",
        "node_filter",
        "selector",
        "tolerations",
    )

    def __init__(
        self,
        kind: TopologyKind,
        key: str,
        namespaces: frozenset[str],
        selector: LabelSelector | None,
        tolerations: tuple[Toleration, ...],
    ) -> None:
        self.kind = kind
        self.key = key
        self.namespaces = namespaces
        self.selector = selector
        self.tolerations = tolerations
        self.max_skew = UNLIMITED_SKEW
        self.min_domains: int | None = None
        self.node_filter: NodeFilter | None = None
        self.honors_taints = True
        """Whether only domains of NodePools with tolerated taints count."""
        self.identity: tuple[object, ...] = ()

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether the rule selects a pod."""
        return namespace in self.namespaces and self.selector is not None and self.selector.matches(labels)

    def seal(self) -> TopologySpec:
        """Compute the identity once all fields are set."""
        rule = self.node_filter
        self.identity = (
            self.key,
            self.kind,
            self.namespaces,
            self.max_skew,
            () if rule is None else _filter_identity(rule),
            _selector_identity(self.selector),
        )
        return self


_NONE: Final[frozenset[object]] = frozenset()


def _odd_ones(items: Iterable[object]) -> frozenset[object]:
    """Return the items that occur an odd number of times: in Karpenter's hash equal elements cancel each other."""
    odd: set[object] = set()
    for item in items:
        odd ^= {item}
    return frozenset(odd) if odd else _NONE


def _filter_identity(rule: NodeFilter) -> tuple[object, ...]:
    """Return the part of a filter that Karpenter's hash includes: only the keys of its alternatives."""
    keys = (
        frozenset(requirement.key for requirement in labels.value) | ({host.key} if host is not None else frozenset())
        for labels, host in rule.alternatives
    )
    tolerations = _odd_ones(rule.tolerations) if rule.tolerations else _NONE
    return (_odd_ones(keys), rule.honors_affinity, rule.honors_taints, tolerations)


def _selector_identity(selector: LabelSelector | None) -> tuple[object, ...] | None:
    if selector is None:
        return None
    expressions = frozenset(
        (expression.key, expression.operator, _odd_ones(expression.values)) for expression in selector.match_expressions
    )
    return (selector.match_labels, expressions)


def spread_spec(
    constraint: TopologySpreadConstraint,
    *,
    namespace: str,
    labels: Mapping[str, str],
    node_selector: Asked,
    required: tuple[Asked, ...] | None,
    tolerations: tuple[Toleration, ...],
) -> TopologySpec:
    """Return the rule of a spread constraint.

    Args:
        labels: Labels of the pod, for ``matchLabelKeys``.
        required: Alternatives of the pod's required node affinity, each including the node selector; None without one.
    """
    spec = TopologySpec(
        TopologyKind.SPREAD,
        constraint.topology_key,
        frozenset({namespace}),
        _with_label_keys(constraint.label_selector, constraint.match_label_keys, labels),
        tolerations,
    )
    spec.max_skew = constraint.max_skew
    spec.min_domains = constraint.min_domains
    taints_policy = constraint.node_taints_policy if constraint.node_taints_policy is not None else IGNORE
    affinity_policy = constraint.node_affinity_policy if constraint.node_affinity_policy is not None else HONOR
    spec.honors_taints = taints_policy != IGNORE
    spec.node_filter = NodeFilter(
        (node_selector,) if required is None else required,
        honors_affinity=affinity_policy == HONOR,
        honors_taints=taints_policy == HONOR,
        tolerations=tolerations,
    )
    return spec.seal()


def _with_label_keys(
    selector: LabelSelector | None, keys: tuple[str, ...], labels: Mapping[str, str]
) -> LabelSelector | None:
    extra = tuple(LabelSelectorRequirement(key, "In", (labels[key],)) for key in keys if key in labels)
    if selector is None or not extra:
        return selector
    return LabelSelector(selector.match_labels, (*selector.match_expressions, *extra))


def affinity_spec(
    kind: TopologyKind,
    term: PodAffinityTerm,
    *,
    namespaces: frozenset[str],
    tolerations: tuple[Toleration, ...],
) -> TopologySpec:
    """Return the rule of a pod affinity or anti-affinity term over these namespaces."""
    return TopologySpec(kind, term.topology_key, namespaces, term.label_selector, tolerations).seal()


class NamespaceIndex:
    """Finds the namespaces of affinity terms."""

    def __init__(self, interner: Interner, labels_by_name: Mapping[str, Mapping[str, str]]) -> None:
        self.interner = interner
        self._labels_by_name = labels_by_name
        self._selected: dict[LabelSelector, frozenset[str]] = {}

    def of_term(self, term: PodAffinityTerm, pod_namespace: str) -> frozenset[str] | None:
        """Return the namespaces of a term of a pod; None if its namespace selector is invalid."""
        if term.namespace_selector is None:
            return frozenset(term.namespaces) if term.namespaces else frozenset({pod_namespace})
        selector = term.namespace_selector
        if not selector.is_valid:
            return None
        selected = self._selected.get(selector)
        if selected is None:
            selected = frozenset(name for name, labels in self._labels_by_name.items() if selector.matches(labels))
            self._selected[selector] = selected
        return selected | frozenset(term.namespaces)


def is_constrained(template: PodTemplate) -> bool:
    """Return whether pods of a template have requirements on node labels or other pods."""
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


def asked_keys(template: PodTemplate) -> Iterable[str]:
    """Yield the node label keys in a template's requirements, including topology keys."""
    yield from template.node_selector
    preferences = (weighted.preference for weighted in template.preferred_node_terms)
    for term in (*(template.required_node_terms or ()), *preferences):
        for expression in term.match_expressions:
            yield expression.key
    for constraint in template.topology_spread:
        yield constraint.topology_key
    for term_ in (
        *template.pod_affinity,
        *template.pod_anti_affinity,
        *(weighted.term for weighted in template.preferred_pod_affinity),
        *(weighted.term for weighted in template.preferred_pod_anti_affinity),
    ):
        yield term_.topology_key


def selector_keys(template: PodTemplate) -> Iterable[str]:
    """Yield the pod label keys in a template's rules."""
    selectors = [constraint.label_selector for constraint in template.topology_spread]
    selectors += [
        term.label_selector
        for term in (
            *template.pod_affinity,
            *template.pod_anti_affinity,
            *(weighted.term for weighted in template.preferred_pod_affinity),
            *(weighted.term for weighted in template.preferred_pod_anti_affinity),
        )
    ]
    for selector in selectors:
        if selector is not None:
            yield from (key for key, _ in selector.match_labels)
            yield from (expression.key for expression in selector.match_expressions)
    for constraint in template.topology_spread:
        yield from constraint.match_label_keys


_JOINED = {("v1", "ReplicationController"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet")}
"""Controllers whose selector is used for the constraints."""


class DefaultSpread:
    """The controller's default topology spread constraints for pods without any, since 1.15.

    The API does not show them, yet disruption honours them like a pod's own constraints.
    """

    def __init__(self, constraints: tuple[TopologySpreadConstraint, ...], inventory: Inventory) -> None:
        self._constraints = constraints
        selecting = (service for service in inventory.services if service.selector is not None)
        self._services = group_by(selecting, lambda service: service.namespace)
        self._owners: dict[tuple[str, str, str, str], Workload] = {
            (workload.api_version, workload.kind, workload.namespace, workload.name): workload
            for workload in inventory.workloads
            if (workload.api_version, workload.kind) in _JOINED
        }

    @property
    def topology_keys(self) -> frozenset[str]:
        """Node label keys that the constraints spread over."""
        return frozenset(constraint.topology_key for constraint in self._constraints)

    def selector_keys(self) -> Iterable[str]:
        """Yield the pod label keys that the constraints may select by."""
        for services in self._services.values():
            yield from (key for service in services for key, _ in service.selector or ())
        for owner in self._owners.values():
            if owner.selector is not None:
                yield from (key for key, _ in owner.selector.match_labels)
                yield from (expression.key for expression in owner.selector.match_expressions)

    def of(self, pod: Pod) -> tuple[TopologySpreadConstraint, ...]:
        """Return a pod's constraints: its own, or the default ones if a Service or controller selects it."""
        template = pod.template
        if template.topology_spread or not self._constraints:
            return template.topology_spread
        selector = self._selector(pod)
        if selector is None:
            return ()
        return tuple(msgspec.structs.replace(constraint, label_selector=selector) for constraint in self._constraints)

    def _selector(self, pod: Pod) -> LabelSelector | None:
        """Return the combined selector of the pod's Services and controller, or None."""
        labels: dict[str, str] = {}
        for service in self._services.get(pod.namespace, ()):
            selector = dict(service.selector or ())
            if all(pod.labels.get(key) == value for key, value in selector.items()):
                labels |= selector
        expressions: list[LabelSelectorRequirement] = []
        for owner in self._controllers(pod):
            if owner.selector is None:
                continue
            if owner.kind == "ReplicationController":
                labels |= dict(owner.selector.match_labels)
            else:
                expressions += [
                    LabelSelectorRequirement(key, "In", (value,)) for key, value in owner.selector.match_labels
                ]
                expressions += owner.selector.match_expressions
        if not labels and not expressions:
            return None
        return LabelSelector(tuple(sorted(labels.items())), tuple(expressions))

    def _controllers(self, pod: Pod) -> Iterable[Workload]:
        for reference in pod.template.owners:
            if reference.controller:
                workload = self._owners.get((reference.api_version, reference.kind, pod.namespace, reference.name))
                if workload is not None:
                    yield workload
