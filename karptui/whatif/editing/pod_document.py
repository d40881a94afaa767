"""Pod templates as documents, so that any of their fields can be set by its path and read again.

A template keeps what its containers ask together, so the document has one container that stands for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from karptui.kube.pod import PodAffinityTerm, PodTemplate, PodVolume, TopologySpreadConstraint
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import LabelSelector, NodeSelectorRequirement, NodeSelectorTerm
from karptui.kube.taints import Taint


def template_document(template: PodTemplate, volumes: Iterable[PodVolume] = ()) -> dict[str, Any]:
    """Return ``metadata`` and ``spec`` of a template's pods, in the API's own shape."""
    spec: dict[str, Any] = {
        "containers": [_container(template)],
        "terminationGracePeriodSeconds": template.termination_grace_seconds,
        "nodeSelector": dict(template.node_selector),
        "tolerations": [
            _without_empty(
                key=one.key, operator=one.operator, value=one.value, effect=one.effect, tolerationSeconds=one.seconds
            )
            for one in template.tolerations
        ],
        "affinity": _affinity(template),
        "topologySpreadConstraints": [_spread(one) for one in template.topology_spread],
        "volumes": [_volume(one) for one in volumes],
        "priority": template.priority,
        "priorityClassName": template.priority_class_name,
        "schedulerName": template.scheduler_name,
        "runtimeClassName": template.runtime_class_name,
        "hostNetwork": template.is_host_network,
        "resourceClaims": [{"name": "claim"}] if template.has_resource_claims else [],
    }
    return {
        "metadata": {"labels": dict(template.labels), "annotations": dict(template.annotations)},
        "spec": {key: value for key, value in spec.items() if value or value == 0},
    }


def taint_document(taint: Taint) -> dict[str, Any]:
    """Return a taint in the API's own shape."""
    return _without_empty(key=taint.key, value=taint.value, effect=taint.effect)


def amounts_document(amounts: ResourceList) -> dict[str, str]:
    """Return a resource list in the API's own shape."""
    return {name: str(amount) for name, amount in amounts.items()}


def selector_document(selector: LabelSelector) -> dict[str, Any]:
    """Return a label selector in the API's own shape."""
    return {
        "matchLabels": dict(selector.match_labels),
        "matchExpressions": [
            {"key": one.key, "operator": one.operator, "values": list(one.values)} for one in selector.match_expressions
        ],
    }


def requirement_documents(requirements: Iterable[NodeSelectorRequirement]) -> list[dict[str, Any]]:
    """Return node selector requirements in the API's own shape."""
    return [
        _without_empty(key=one.key, operator=one.operator, values=list(one.values), minValues=one.min_values)
        for one in requirements
    ]


def _container(template: PodTemplate) -> dict[str, Any]:
    resources: dict[str, Any] = {
        "requests": amounts_document(template.requests),
        "limits": amounts_document(template.limits),
    }
    ports = [
        _without_empty(hostPort=one.port, containerPort=one.port, protocol=one.protocol, hostIP=one.host_ip)
        for one in template.host_ports
    ]
    image = template.images[0] if template.images else ""
    return _without_empty(name="containers", image=image, resources=resources, ports=ports)


def _affinity(template: PodTemplate) -> dict[str, Any]:
    node: dict[str, Any] = {}
    if template.required_node_terms is not None:
        terms = [_term(one) for one in template.required_node_terms]
        node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if template.preferred_node_terms:
        node["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": one.weight, "preference": _term(one.preference)} for one in template.preferred_node_terms
        ]
    return _without_empty(
        nodeAffinity=node,
        podAffinity=_pod_affinity(template.pod_affinity, template.preferred_pod_affinity),
        podAntiAffinity=_pod_affinity(template.pod_anti_affinity, template.preferred_pod_anti_affinity),
    )


def _term(term: NodeSelectorTerm) -> dict[str, Any]:
    return _without_empty(
        matchExpressions=requirement_documents(term.match_expressions),
        matchFields=requirement_documents(term.match_fields),
    )


def _pod_affinity(required: Iterable[PodAffinityTerm], preferred: Iterable[Any]) -> dict[str, Any]:
    return _without_empty(
        requiredDuringSchedulingIgnoredDuringExecution=[_pod_term(one) for one in required],
        preferredDuringSchedulingIgnoredDuringExecution=[
            {"weight": one.weight, "podAffinityTerm": _pod_term(one.term)} for one in preferred
        ],
    )


def _pod_term(term: PodAffinityTerm) -> dict[str, Any]:
    made = _without_empty(
        topologyKey=term.topology_key,
        namespaces=list(term.namespaces),
        matchLabelKeys=list(term.match_label_keys),
        mismatchLabelKeys=list(term.mismatch_label_keys),
    )
    return made | _selectors(labelSelector=term.label_selector, namespaceSelector=term.namespace_selector)


def _spread(constraint: TopologySpreadConstraint) -> dict[str, Any]:
    made = _without_empty(
        maxSkew=constraint.max_skew,
        topologyKey=constraint.topology_key,
        whenUnsatisfiable=constraint.when_unsatisfiable,
        minDomains=constraint.min_domains,
        nodeAffinityPolicy=constraint.node_affinity_policy,
        nodeTaintsPolicy=constraint.node_taints_policy,
        matchLabelKeys=list(constraint.match_label_keys),
    )
    return made | _selectors(labelSelector=constraint.label_selector)


def _selectors(**selectors: LabelSelector | None) -> dict[str, Any]:
    # The empty selector means everything and an absent one nothing, so it must not be dropped.
    return {name: selector_document(one) for name, one in selectors.items() if one is not None}


def _volume(volume: PodVolume) -> dict[str, Any]:
    if not volume.is_ephemeral:
        return {"name": volume.name, "persistentVolumeClaim": {"claimName": volume.claim_name}}
    storage = {} if volume.storage_class_name is None else {"storageClassName": volume.storage_class_name}
    return {"name": volume.name, "ephemeral": {"volumeClaimTemplate": {"spec": storage}}}


def _without_empty(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value or value == 0}
