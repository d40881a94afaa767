"""Edits that add an object: a NodePool split in two, a NodePool for one workload, a DaemonSet."""

from __future__ import annotations

from typing import Final

from karptui.whatif.edits import ObjectRef
from karptui.whatif.field_path import value_at
from karptui.whatif.quick_edits.fields import At, refuse
from karptui.whatif.quick_edits.requirements import set_requirement
from karptui.whatif.yaml.splice import append_item, get_value, set_value
from karptui.whatif.yaml.tree import Document, parse
from karptui.whatif.yaml.write import as_document

PREFERRED_WEIGHT: Final = 100
FALLBACK_WEIGHT: Final = 1
_OWN_POOL_TAINT: Final = "dedicated"
_DAEMONSET_NAMESPACE: Final = "kube-system"
_SEPARATOR: Final = "---\n"


def split_pool(text: str, at: At, *, name: str, key: str, values: tuple[str, ...]) -> str:
    """Split a pool in a preferred one, which takes only some values of a label, and itself as the fallback.

    Both have the same taints, labels and everything else, so that every pod fits either; the preferred pool has weight
    100 and is tried first, the other has weight 1. The text of the pool is kept, and the preferred one is a copy of it.

    Args:
        key: The label that is preferred, e.g. ``karpenter.k8s.aws/instance-family``.

    Raises:
        EditRefusedError: where the pool is static, the name is taken or no value is given.
    """
    document = _document(text, at)
    if document.kind != "NodePool":
        raise refuse("only a NodePool can be split")
    if value_at(document.body or {}, ("spec", "replicas")) is not None:
        raise refuse("a static pool has replicas in the place of a weight: it cannot be preferred")
    if not values:
        raise refuse("choose the requirements of the preferred pool")
    _check_free(text, ObjectRef("NodePool", name))
    copy = document.text
    copy = set_value(copy, 0, ("metadata", "name"), name)
    copy = set_value(copy, 0, ("spec", "weight"), PREFERRED_WEIGHT)
    copy = set_requirement(copy, 0, key, "In", values)
    fallback = set_value(text, at, ("spec", "weight"), FALLBACK_WEIGHT)
    return append_document(fallback, copy)


def own_pool(text: str, pool: At, workload: At, *, name: str) -> str:
    """Give a workload its own pool: a copy of a pool with a taint that the workload's pods tolerate and select.

    Raises:
        EditRefusedError: if one of them is missing or of the wrong kind, or the name is taken.
    """
    original = _document(text, pool)
    if original.kind != "NodePool":
        raise refuse("the new pool is a copy of a NodePool")
    _check_free(text, ObjectRef("NodePool", name))
    copy = set_value(original.text, 0, ("metadata", "name"), name)
    taint = {"key": _OWN_POOL_TAINT, "value": name, "effect": "NoSchedule"}
    copy = append_item(copy, 0, ("spec", "template", "spec", "taints"), taint)
    spec = _pod_spec(_document(text, workload))
    text = set_value(text, workload, (*spec, "nodeSelector", "karpenter.sh/nodepool"), name)
    toleration = {"key": _OWN_POOL_TAINT, "operator": "Equal", "value": name, "effect": "NoSchedule"}
    if toleration not in (get_value(text, workload, (*spec, "tolerations")) or ()):
        text = append_item(text, workload, (*spec, "tolerations"), toleration)
    return append_document(text, copy)


def add_daemonset(text: str, name: str, *, cpu: str = "100m", memory: str = "128Mi") -> str:
    """Add a DaemonSet that runs on every node, to see the cost of one more.

    Raises:
        EditRefusedError: if it exists.
    """
    _check_free(text, ObjectRef("DaemonSet", name, _DAEMONSET_NAMESPACE))
    labels = {"app.kubernetes.io/name": name}
    container = {
        "name": name,
        "image": "registry.k8s.io/pause:3.10",
        "resources": {"requests": {"cpu": cpu, "memory": memory}},
    }
    document = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": _DAEMONSET_NAMESPACE},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"tolerations": [{"operator": "Exists"}], "containers": [container]},
            },
        },
    }
    return append_document(text, as_document(document))


def append_document(text: str, document: str) -> str:
    """Add a document to the end of a buffer."""
    if not text.strip():
        return document
    return f"{text if text.endswith(chr(10)) else text + chr(10)}{_SEPARATOR}{document.rstrip(chr(10))}\n"


def _pod_spec(document: Document) -> tuple[str, ...]:
    match document.kind:
        case "Pod":
            return ("spec",)
        case "CronJob":
            return ("spec", "jobTemplate", "spec", "template", "spec")
        case "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job":
            return ("spec", "template", "spec")
    raise refuse(f"a {document.kind or 'document without a kind'} has no pods that could be moved")


def _document(text: str, at: At) -> Document:
    get_value(text, at, ())
    parsed = parse(text)
    document = parsed.documents[at] if isinstance(at, int) else parsed.find(at)
    assert document is not None
    return document


def _check_free(text: str, ref: ObjectRef) -> None:
    if not ref.name:
        raise refuse("give it a name")
    if parse(text).find(ref) is not None:
        raise refuse(f"{ref.kind} {ref.key} is in the text already")
