"""Objects as documents: the fields that can be set, and the API server's defaults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.objects import Node, cordoned
from karptui.kube.pod import Pod, PodAffinityTerm, PodTemplate, PodVolume, TopologySpreadConstraint
from karptui.kube.resources import amounts_document
from karptui.kube.selectors import LabelSelector, NodeSelectorRequirement, NodeSelectorTerm
from karptui.kube.taints import Taint, Toleration
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.workload import DaemonSet, PodDisruptionBudget, Workload
from karptui.whatif.edits import EditError
from karptui.whatif.field_path import Path, path_text, value_at
from karptui.whatif.schema.schema import shipped_schemas


def with_field(document: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return a document with a field set, or removed if the value is None; the rest is shared.

    Missing parent objects are created. An index equal to a list's length appends.

    Raises:
        EditError: with the path, if a parent is neither object nor list.
    """
    if not path:
        raise EditError("the path of a field is empty")
    field = _with(document, path, 0, value)
    assert isinstance(field, dict)
    return field


def _with(node: Any, path: Path, depth: int, value: Any) -> Any:
    part = path[depth]
    is_last = depth == len(path) - 1
    if isinstance(part, int):
        return _with_item(node, path, depth, value, part, is_last=is_last)
    if node is None:
        node = {}
    if not isinstance(node, Mapping):
        raise EditError(
            f"{path_text(path[:depth]) or 'the document'} is not an object, {path_text(path)} cannot be set"
        )
    document = dict(node)
    if is_last and value is None:
        document.pop(part, None)
    elif value is None and part not in document:
        pass
    else:
        document[part] = value if is_last else _with(document.get(part), path, depth + 1, value)
    return document


def _with_item(node: Any, path: Path, depth: int, value: Any, index: int, *, is_last: bool) -> Any:
    if node is None:
        node = []
    if isinstance(node, str) or not isinstance(node, Sequence):
        raise EditError(f"{path_text(path[:depth])} is not a list, {path_text(path)} cannot be set")
    results = list(node)
    if not 0 <= index <= len(results) or (value is None and index == len(results)):
        raise EditError(f"{path_text(path[:depth])} has {len(results)} items, there is no [{index}]")
    if is_last and value is None:
        del results[index]
    elif index == len(results):
        results.append(value if is_last else _with(None, path, depth + 1, value))
    else:
        results[index] = value if is_last else _with(results[index], path, depth + 1, value)
    return results


_MISSING: Final = object()


def as_stored(document: Mapping[str, Any], present: Mapping[str, Any] | None, crds: str) -> dict[str, Any]:
    """Return an object as the API server stores it.

    Objects of a handwritten snapshot have no defaults. So that only the edit makes a difference, a default is set
    only if
    the existing object has the field.

    Args:
        document: The object, with its kind.
        crds: Release of Karpenter with the defaults (``Rules.crds``).

    Raises:
        EditError: if a value that must be an object is not.
    """
    item = dict(document)
    for path, value in _defaults(str(document["kind"]), crds):
        if value_at(item, path, _MISSING) is not _MISSING:
            continue
        if present is None or value_at(present, path, _MISSING) is not _MISSING:
            item = with_field(item, path, value)
    return item


@cache
def _defaults(kind: str, crds: str) -> tuple[tuple[Path, Any], ...]:
    """Return the fields of a kind's spec with defaults, outer ones first, without fields of list items."""
    schemas = (s.schema for s in shipped_schemas(crds).kinds.values() if s.kind == kind and not s.built_in)
    spec = next(schemas, {}).get("properties", {}).get("spec", {})
    return tuple(_defaults_below(spec, ("spec",)))


def _defaults_below(schema: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    for name, part in schema.get("properties", {}).items():
        inner = (*path, name)
        if "default" in part:
            value, fields = part["default"], part.get("properties", {})
            if isinstance(value, dict):
                # Fields with their own default are set separately.
                value = {key: default for key, default in value.items() if "default" not in fields.get(key, {})}
            yield inner, value
        yield from _defaults_below(part, inner)


def template_document(template: PodTemplate, volumes: Iterable[PodVolume] = ()) -> dict[str, Any]:
    """Return ``metadata`` and ``spec`` of a template's pods, in the API's own shape."""
    spec: dict[str, Any] = {
        "containers": [_container(template)],
        "terminationGracePeriodSeconds": template.termination_grace_seconds,
        "nodeSelector": dict(template.node_selector),
        "tolerations": [*map(toleration_document, template.tolerations)],
        "affinity": _affinity(template),
        "topologySpreadConstraints": [_spread(constraint) for constraint in template.topology_spread],
        "volumes": [_volume(volume) for volume in volumes],
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


def toleration_document(toleration: Toleration) -> dict[str, Any]:
    """Return a toleration in the API's own shape."""
    return _without_empty(
        key=toleration.key,
        operator=toleration.operator,
        value=toleration.value,
        effect=toleration.effect,
        tolerationSeconds=toleration.seconds,
    )


def selector_document(selector: LabelSelector) -> dict[str, Any]:
    """Return a label selector in the API's own shape."""
    return {
        "matchLabels": dict(selector.match_labels),
        "matchExpressions": [
            {"key": e.key, "operator": e.operator, "values": list(e.values)} for e in selector.match_expressions
        ],
    }


def requirement_documents(requirements: Iterable[NodeSelectorRequirement]) -> list[dict[str, Any]]:
    """Return requirements in the API's own shape."""
    return [
        _without_empty(key=r.key, operator=r.operator, values=list(r.values), minValues=r.min_values)
        for r in requirements
    ]


def _container(template: PodTemplate) -> dict[str, Any]:
    resources: dict[str, Any] = {
        "requests": amounts_document(template.requests),
        "limits": amounts_document(template.limits),
    }
    ports = [
        _without_empty(hostPort=port.port, containerPort=port.port, protocol=port.protocol, hostIP=port.host_ip)
        for port in template.host_ports
    ]
    image = template.images[0] if template.images else ""
    return _without_empty(name="containers", image=image, resources=resources, ports=ports)


def _affinity(template: PodTemplate) -> dict[str, Any]:
    node: dict[str, Any] = {}
    if template.required_node_terms is not None:
        terms = [_term(term) for term in template.required_node_terms]
        node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if template.preferred_node_terms:
        node["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": term.weight, "preference": _term(term.preference)} for term in template.preferred_node_terms
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
        requiredDuringSchedulingIgnoredDuringExecution=[_pod_term(term) for term in required],
        preferredDuringSchedulingIgnoredDuringExecution=[
            {"weight": preference.weight, "podAffinityTerm": _pod_term(preference.term)} for preference in preferred
        ],
    )


def _pod_term(term: PodAffinityTerm) -> dict[str, Any]:
    document = _without_empty(
        topologyKey=term.topology_key,
        namespaces=list(term.namespaces),
        matchLabelKeys=list(term.match_label_keys),
        mismatchLabelKeys=list(term.mismatch_label_keys),
    )
    return document | _selectors(labelSelector=term.label_selector, namespaceSelector=term.namespace_selector)


def _spread(constraint: TopologySpreadConstraint) -> dict[str, Any]:
    document = _without_empty(
        maxSkew=constraint.max_skew,
        topologyKey=constraint.topology_key,
        whenUnsatisfiable=constraint.when_unsatisfiable,
        minDomains=constraint.min_domains,
        nodeAffinityPolicy=constraint.node_affinity_policy,
        nodeTaintsPolicy=constraint.node_taints_policy,
        matchLabelKeys=list(constraint.match_label_keys),
    )
    return document | _selectors(labelSelector=constraint.label_selector)


def _selectors(**selectors: LabelSelector | None) -> dict[str, Any]:
    # The empty selector means everything and an absent one nothing, so it must not be dropped.
    return {name: selector_document(selector) for name, selector in selectors.items() if selector is not None}


def _volume(volume: PodVolume) -> dict[str, Any]:
    if not volume.is_ephemeral:
        return {"name": volume.name, "persistentVolumeClaim": {"claimName": volume.claim_name}}
    storage = {} if volume.storage_class_name is None else {"storageClassName": volume.storage_class_name}
    return {"name": volume.name, "ephemeral": {"volumeClaimTemplate": {"spec": storage}}}


def _without_empty(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value or value == 0}


_META: Final = ("labels", "annotations")
_TAKEN_OVER: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.NODE: (*_META, "taints", "is_unschedulable", "capacity", "allocatable"),
    Kind.NODECLAIM: (*_META, "taints", "startup_taints", "expire_after_ns", "termination_grace_period_ns"),
    Kind.PDB: (*_META, "selector", "min_available", "max_unavailable", "unhealthy_pod_eviction_policy"),
}


def record_document(kind: Kind, item: Any) -> dict[str, Any] | None:
    """Return an object as a document of the fields that can be set; None if the kind has none."""
    match item:
        case Pod():
            document = template_document(item.template, item.volumes)
            document["metadata"]["labels"] |= item.own_labels
        case Node():
            document = _node(item)
        case NodeClaim():
            document = _nodeclaim(item)
        case PodDisruptionBudget():
            document = _pdb(item)
        case DaemonSet():
            document = {"spec": {"template": template_document(item.template, item.volumes)}}
        case Workload():
            template = None if item.template is None else template_document(item.template, item.volumes)
            document = {"spec": {"replicas": item.replicas, "template": template}}
        case _:
            return None
    meta = document.setdefault("metadata", {})
    meta["name"] = item.name
    if item.namespace:
        meta["namespace"] = item.namespace
    if not isinstance(item, Pod):
        meta["labels"], meta["annotations"] = dict(item.labels), dict(item.annotations)
    return {"kind": str(getattr(item, "kind", kind)), **document}


def taken_over(kind: Kind, item: Any, changed: Any) -> Any:
    """Return an object with the changed fields of a document; the same object if none changed."""
    fields = {
        name: getattr(changed, name) for name in _TAKEN_OVER[kind] if getattr(changed, name) != getattr(item, name)
    }
    if not fields:
        return item
    edited_item = replace(item, **fields)
    return cordoned(edited_item) if kind is Kind.NODE and "is_unschedulable" in fields else edited_item


def _node(node: Node) -> dict[str, Any]:
    return {
        "spec": {"taints": [taint_document(taint) for taint in node.taints], "unschedulable": node.is_unschedulable},
        "status": {"capacity": amounts_document(node.capacity), "allocatable": amounts_document(node.allocatable)},
    }


def _nodeclaim(claim: NodeClaim) -> dict[str, Any]:
    return {
        "spec": {
            "taints": [taint_document(taint) for taint in claim.taints],
            "startupTaints": [taint_document(taint) for taint in claim.startup_taints],
            "requirements": requirement_documents(claim.requirements),
            "expireAfter": _duration(claim.expire_after_ns),
            "terminationGracePeriod": _duration(claim.termination_grace_period_ns),
        }
    }


def _pdb(pdb: PodDisruptionBudget) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "minAvailable": pdb.min_available,
        "maxUnavailable": pdb.max_unavailable,
        "unhealthyPodEvictionPolicy": pdb.unhealthy_pod_eviction_policy or None,
        "selector": None if pdb.selector is None else selector_document(pdb.selector),
    }
    return {"spec": {name: value for name, value in spec.items() if value is not None}}


def _duration(nanoseconds: int | None) -> str | None:
    return None if nanoseconds is None else f"{nanoseconds / NS_PER_SECOND:.9f}".rstrip("0").rstrip(".") + "s"
