"""Objects that are kept as records, as documents: what of them can be set, and what is taken over when it was.

NodePools and NodeClasses are kept as they were given and need none of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.node import Node
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod
from karptui.kube.taints import NO_SCHEDULE, Taint
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.workload import DaemonSet, Workload
from karptui.whatif.editing.pod_document import (
    amounts_document,
    requirement_documents,
    selector_document,
    taint_document,
    template_document,
)

UNSCHEDULABLE_TAINT: Final = Taint("node.kubernetes.io/unschedulable", NO_SCHEDULE)
"""What a cordoned node carries; Kubernetes adds it with ``spec.unschedulable``."""
_META: Final = ("labels", "annotations")
_TAKEN_OVER: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.NODE: (*_META, "taints", "is_unschedulable", "capacity", "allocatable"),
    Kind.NODECLAIM: (*_META, "taints", "startup_taints", "expire_after_ns", "termination_grace_period_ns"),
    Kind.PDB: (*_META, "selector", "min_available", "max_unavailable", "unhealthy_pod_eviction_policy"),
}


def record_document(kind: Kind, item: Any) -> dict[str, Any] | None:
    """Return an object as a document of the fields that can be set, None for kinds of which none can."""
    match item:
        case Pod():
            made = template_document(item.template, item.volumes)
            made["metadata"]["labels"] |= item.own_labels
        case Node():
            made = _node(item)
        case NodeClaim():
            made = _nodeclaim(item)
        case PodDisruptionBudget():
            made = _pdb(item)
        case DaemonSet():
            made = {"spec": {"template": template_document(item.template, item.volumes)}}
        case Workload():
            template = None if item.template is None else template_document(item.template, item.volumes)
            made = {"spec": {"replicas": item.replicas, "template": template}}
        case _:
            return None
    meta = made.setdefault("metadata", {})
    meta["name"] = item.name
    if item.namespace:
        meta["namespace"] = item.namespace
    if not isinstance(item, Pod):
        meta["labels"], meta["annotations"] = dict(item.labels), dict(item.annotations)
    return {"kind": str(getattr(item, "kind", kind)), **made}


def taken_over(kind: Kind, item: Any, changed: Any) -> Any:
    """Return an object with the fields that a changed document may have changed; the same one where none did."""
    fields = {
        name: getattr(changed, name) for name in _TAKEN_OVER[kind] if getattr(changed, name) != getattr(item, name)
    }
    if not fields:
        return item
    made = replace(item, **fields)
    return cordoned(made) if kind is Kind.NODE and "is_unschedulable" in fields else made


def cordoned(node: Node) -> Node:
    """Return a node whose taints say whether it is unschedulable."""
    others = tuple(taint for taint in node.taints if taint.key != UNSCHEDULABLE_TAINT.key)
    return replace(node, taints=(*others, UNSCHEDULABLE_TAINT) if node.is_unschedulable else others)


def _node(node: Node) -> dict[str, Any]:
    return {
        "spec": {"taints": [taint_document(one) for one in node.taints], "unschedulable": node.is_unschedulable},
        "status": {"capacity": amounts_document(node.capacity), "allocatable": amounts_document(node.allocatable)},
    }


def _nodeclaim(claim: NodeClaim) -> dict[str, Any]:
    return {
        "spec": {
            "taints": [taint_document(one) for one in claim.taints],
            "startupTaints": [taint_document(one) for one in claim.startup_taints],
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
