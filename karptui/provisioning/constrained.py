"""Which labels of nodes and pods the pods of a cluster ask about at all."""

from __future__ import annotations

from collections.abc import Iterable

from karptui.kube.pod import PodTemplate


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
