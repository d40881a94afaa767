"""Topology rules as pods state them: spread constraints, affinity and anti-affinity terms; labels they ask about.

Rules: ``topologygroup.go``, ``topologynodefilter.go`` and ``newForTopologies``, ``newForAffinities`` of
``topology.go`` in ``pkg/controllers/provisioning/scheduling``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from karptui.karpenter.requirements import Requirement
from karptui.kube.pod import PodAffinityTerm, PodTemplate, TopologySpreadConstraint
from karptui.kube.selectors import LabelSelector, LabelSelectorRequirement
from karptui.kube.taints import Taint, Toleration, untolerated
from karptui.provisioning.requirement_set import Interner, RequirementSet

UNLIMITED_SKEW: Final = 2**31 - 1
HONOR: Final = "Honor"
IGNORE: Final = "Ignore"

Asked = tuple[RequirementSet, Requirement | None]
"""Requirements on a node's labels, those on its host name apart."""


class TopologyKind(StrEnum):
    """What a rule weighs."""

    SPREAD = "topology spread"
    AFFINITY = "pod affinity"
    ANTI_AFFINITY = "pod anti-affinity"


def host_allowed(rule: Requirement | None, hostname: str | None) -> bool:
    """Return whether a requirement on the host name allows a node of this name; None is a node without the label."""
    if rule is None:
        return True
    return rule.is_negative if hostname is None else rule.allows(hostname)


class NodeFilter:
    """Which nodes a spread constraint counts."""

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
        """Whether it counts every node, so that nothing needs to be looked at."""

    def counts(self, taints: tuple[Taint, ...], labels: RequirementSet, hostname: str | None) -> bool:
        """Return whether a node with these taints and labels counts; labels must be defined, even well-known ones."""
        if self.honors_affinity and self.alternatives and not self._is_wanted(labels, hostname):
            return False
        return not (self.honors_taints and untolerated(taints, self.tolerations))

    def _is_wanted(self, labels: RequirementSet, hostname: str | None) -> bool:
        return any(
            host_allowed(host, hostname) and labels.value.compatible(wanted.value) for wanted, host in self.alternatives
        )


class TopologySpec:
    """One rule of one pod class; rules with the same ``identity`` share counts, and the first decides on its filter."""

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
        """Whether its domains are only those of NodePools whose taints the pod tolerates."""
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
    """Return what occurs an odd number of times: Karpenter's hash lets equal elements cancel each other."""
    odd: set[object] = set()
    for item in items:
        odd ^= {item}
    return frozenset(odd) if odd else _NONE


def _filter_identity(rule: NodeFilter) -> tuple[object, ...]:
    """Return what Karpenter's hash sees of a filter: of its alternatives only which keys they name."""
    keys = (
        frozenset(own.key for own in labels.value) | ({host.key} if host is not None else frozenset())
        for labels, host in rule.alternatives
    )
    tolerations = _odd_ones(rule.tolerations) if rule.tolerations else _NONE
    return (_odd_ones(keys), rule.honors_affinity, rule.honors_taints, tolerations)


def _selector_identity(selector: LabelSelector | None) -> tuple[object, ...] | None:
    if selector is None:
        return None
    expressions = frozenset((one.key, one.operator, _odd_ones(one.values)) for one in selector.match_expressions)
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
        constraint: The constraint.
        namespace: The pod's.
        labels: The pod's, for ``matchLabelKeys``.
        node_selector: The pod's node selector.
        required: Alternatives of the pod's required node affinity with the node selector in each; None without one.
        tolerations: The pod's.
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
    """Which namespaces an affinity term is about."""

    def __init__(self, interner: Interner, labels_by_name: Mapping[str, Mapping[str, str]]) -> None:
        self.interner = interner
        self._labels_by_name = labels_by_name
        self._selected: dict[LabelSelector, frozenset[str]] = {}

    def of_term(self, term: PodAffinityTerm, own: str) -> frozenset[str] | None:
        """Return the namespaces of a term of a pod in namespace ``own``; None if its selector cannot be read."""
        if term.namespace_selector is None:
            return frozenset(term.namespaces) if term.namespaces else frozenset({own})
        selector = term.namespace_selector
        if not selector.is_valid:
            return None
        selected = self._selected.get(selector)
        if selected is None:
            selected = frozenset(name for name, labels in self._labels_by_name.items() if selector.matches(labels))
            self._selected[selector] = selected
        return selected | frozenset(term.namespaces)


def is_constrained(template: PodTemplate) -> bool:
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


def asked_keys(template: PodTemplate) -> Iterable[str]:
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


def selector_keys(template: PodTemplate) -> Iterable[str]:
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
