"""An action: one change to one object, how to undo it, and whether it has taken effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

import msgspec

from karptui.errors import RequestError
from karptui.karpenter.labels import AWS_GROUP, DO_NOT_DISRUPT, DO_NOT_REPAIR, GROUP, NODEPOOL_HASH
from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.objects import SERVERS_OWN


class ActionError(RequestError):
    """An action that does not exist, or does not suit its object; the message is for the user."""


class Operation(StrEnum):
    """The kind of change."""

    CORDON = "cordon"
    UNCORDON = "uncordon"
    DO_NOT_DISRUPT = "do-not-disrupt"
    REMOVE_DO_NOT_DISRUPT = "remove-do-not-disrupt"
    DO_NOT_REPAIR = "do-not-repair"
    REMOVE_DO_NOT_REPAIR = "remove-do-not-repair"
    DELETE = "delete"
    EVICT = "evict"
    SCALE = "scale"
    APPLY = "apply"


class ApiKind(msgspec.Struct, frozen=True):
    """A kind of object, as requests name it."""

    group: str
    """Empty for the core group."""
    version: str
    plural: str
    is_namespaced: bool = False


NODE: Final = "Node"
POD: Final = "Pod"
API_KINDS: Final = MappingProxyType(
    {
        NODE: ApiKind("", "v1", "nodes"),
        POD: ApiKind("", "v1", "pods", is_namespaced=True),
        "NodeClaim": ApiKind(GROUP, "v1", "nodeclaims"),
        "NodePool": ApiKind(GROUP, "v1", "nodepools"),
        "NodeOverlay": ApiKind(GROUP, "v1alpha1", "nodeoverlays"),
        "EC2NodeClass": ApiKind(AWS_GROUP, "v1", "ec2nodeclasses"),
        "Deployment": ApiKind("apps", "v1", "deployments", is_namespaced=True),
        "StatefulSet": ApiKind("apps", "v1", "statefulsets", is_namespaced=True),
        "ReplicaSet": ApiKind("apps", "v1", "replicasets", is_namespaced=True),
    }
)
_WORKLOADS: Final = ("Deployment", "StatefulSet", "ReplicaSet")
KINDS_OF: Final = MappingProxyType(
    {
        Operation.CORDON: (NODE,),
        Operation.UNCORDON: (NODE,),
        Operation.DO_NOT_DISRUPT: (NODE, POD),
        Operation.REMOVE_DO_NOT_DISRUPT: (NODE, POD),
        Operation.DO_NOT_REPAIR: (NODE,),
        Operation.REMOVE_DO_NOT_REPAIR: (NODE,),
        Operation.DELETE: ("NodeClaim",),
        Operation.EVICT: (POD,),
        Operation.SCALE: _WORKLOADS,
        Operation.APPLY: ("NodePool", "EC2NodeClass", "NodeOverlay"),
    }
)
"""Kinds of objects that each operation is for; the first is the default."""
ANNOTATIONS: Final = MappingProxyType(
    {
        Operation.DO_NOT_DISRUPT: DO_NOT_DISRUPT,
        Operation.REMOVE_DO_NOT_DISRUPT: DO_NOT_DISRUPT,
        Operation.DO_NOT_REPAIR: DO_NOT_REPAIR,
        Operation.REMOVE_DO_NOT_REPAIR: DO_NOT_REPAIR,
    }
)
_REMOVALS: Final = frozenset({Operation.REMOVE_DO_NOT_DISRUPT, Operation.REMOVE_DO_NOT_REPAIR})
_WRITTEN_BY_OTHERS: Final = (
    NODEPOOL_HASH,
    "karpenter.k8s.aws/ec2nodeclass-hash",
    "kubectl.kubernetes.io/last-applied-configuration",
)
"""Beginnings of annotations that Karpenter and kubectl compute."""
MOST_REPLICAS: Final = 100_000

Document = Mapping[str, Any]


class Target(msgspec.Struct, frozen=True):
    """The object of an action."""

    kind: str
    name: str
    namespace: str = ""

    @property
    def key(self) -> str:
        """``namespace/name``, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One change to one object."""

    operation: Operation
    target: Target
    value: str = "true"
    """Of an annotation that is set."""
    replicas: int = 0
    """Of a workload that is scaled."""
    manifest: Document | None = None
    """Fields to apply, with apiVersion, kind and name."""


def action_on(
    operation: Operation,
    kind: str,
    key: str,
    *,
    value: str = "true",
    replicas: int | None = None,
    manifest: Document | None = None,
) -> Action:
    """Return an action on an object.

    Args:
        key: ``namespace/name``, or the name of an object without a namespace.

    Raises:
        ActionError: it does not suit the object.
    """
    kinds = KINDS_OF[operation]
    if kind not in kinds:
        raise ActionError(f"{operation} is for {' or '.join(kinds)} objects, not for {kind} {key}")
    namespace, _, name = key.rpartition("/")
    is_namespaced = API_KINDS[kind].is_namespaced
    if not name or bool(namespace) != is_namespaced or "/" in namespace:
        form = "NAMESPACE/NAME" if is_namespaced else "NAME"
        raise ActionError(f"{kind} {key}: must be written as {form}")
    if operation is Operation.SCALE and (replicas is None or not 0 <= replicas <= MOST_REPLICAS):
        raise ActionError(f"{kind} {key}: the number of replicas must be from 0 to {MOST_REPLICAS:,}")
    if operation is Operation.DO_NOT_DISRUPT:
        _check_protection(kind, key, value)
    if operation is Operation.APPLY and manifest is None:
        raise ActionError(f"{kind} {key}: there is no manifest to apply")
    return Action(
        operation=operation, target=Target(kind, name, namespace), value=value, replicas=replicas or 0,
        manifest=manifest,
    )  # fmt: skip


def _check_protection(kind: str, key: str, value: str) -> None:
    if value == "true":
        return
    try:
        is_valid = kind == POD and parse_duration(value) > 0
    except DurationError:
        is_valid = False
    if not is_valid:
        forms = 'only "true" protects a node' if kind == NODE else 'must be "true" or a duration such as 30m'
        raise ActionError(f"{kind} {key}: do-not-disrupt {value!r:.40}: {forms}")


def applied(document: Document) -> Action:
    """Return the action that applies a manifest, without status and fields of the server or of controllers.

    Raises:
        ActionError: karptui does not apply such objects.
    """
    kind, api_version = str(document.get("kind")), str(document.get("apiVersion"))
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    kinds = KINDS_OF[Operation.APPLY]
    if kind not in kinds:
        raise ActionError(f"{kind} {name}: only {', '.join(kinds)} are applied")
    if api_version.rpartition("/")[0] != API_KINDS[kind].group:
        raise ActionError(f"{kind} {name}: apiVersion: {api_version!r:.60} is not of the group {API_KINDS[kind].group}")
    if not isinstance(name, str) or not isinstance(metadata, Mapping):
        raise ActionError(f"{kind}: metadata.name: is missing")
    clean_metadata = {key: part for key, part in metadata.items() if key not in SERVERS_OWN}
    if isinstance(annotations := clean_metadata.pop("annotations", None), Mapping):
        kept_annotations = {key: part for key, part in annotations.items() if not key.startswith(_WRITTEN_BY_OTHERS)}
        clean_metadata |= {"annotations": kept_annotations} if kept_annotations else {}
    manifest = {**{key: part for key, part in document.items() if key != "status"}, "metadata": clean_metadata}
    return action_on(Operation.APPLY, kind, name, manifest=manifest)


def removes(action: Action, live: Document) -> bool:
    """Return whether an action itself removes something: a NodeClaim, or pods."""
    if action.operation is Operation.SCALE:
        return action.replicas < replicas_of(live)
    return action.operation in (Operation.DELETE, Operation.EVICT)


def replicas_of(live: Document) -> int:
    """Return the replicas that a workload asks for; without the field it is 1."""
    count = _part(live, "spec").get("replicas", 1)
    return count if isinstance(count, int) else 1


def undo_of(action: Action, live: Document, after: Document | None = None) -> Action | None:
    """Return the action that undoes another; None if nothing does.

    Args:
        live: the object before the action.
        after: the object after it, for manifests.
    """
    target, operation = action.target, action.operation
    match operation:
        case Operation.CORDON:
            return Action(operation=Operation.UNCORDON, target=target)
        case Operation.UNCORDON:
            return Action(operation=Operation.CORDON, target=target)
        case Operation.SCALE:
            return Action(operation=operation, target=target, replicas=replicas_of(live))
        case Operation.APPLY if action.manifest is not None:
            return Action(operation=operation, target=target, manifest=_former(action.manifest, live, after or {}))
        case _ if operation in ANNOTATIONS:
            before = _annotations(live).get(ANNOTATIONS[operation])
            is_repair = ANNOTATIONS[operation] == DO_NOT_REPAIR
            if before is None:
                remove = Operation.REMOVE_DO_NOT_REPAIR if is_repair else Operation.REMOVE_DO_NOT_DISRUPT
                return Action(operation=remove, target=target)
            put = Operation.DO_NOT_REPAIR if is_repair else Operation.DO_NOT_DISRUPT
            return Action(operation=put, target=target, value=str(before))
    return None


def _former(manifest: Document, live: Document, after: Document) -> dict[str, Any]:
    """Return a manifest with the values of the object before: for its fields, and for fields that it removes."""
    former = _narrowed(live, manifest)
    former["spec"] = joined(_removed(_part(live, "spec"), _part(after, "spec")), _part(former, "spec"))
    return {**former, "apiVersion": manifest["apiVersion"], "kind": manifest["kind"]}


def _removed(live: Document, after: Document) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, part in live.items():
        if key not in after:
            fields[key] = part
        elif isinstance(part, Mapping) and isinstance(after[key], Mapping) and (inner := _removed(part, after[key])):
            fields[key] = inner
    return fields


def joined(left: Document, right: Document) -> dict[str, Any]:
    """Merge the fields of two documents; the second one wins."""
    both = dict(left)
    for key, part in right.items():
        before = both.get(key)
        both[key] = joined(before, part) if isinstance(before, Mapping) and isinstance(part, Mapping) else part
    return both


def _narrowed(live: Document, manifest: Document) -> dict[str, Any]:
    """Return the fields of an object that a manifest has as well; lists are taken as a whole."""
    fields: dict[str, Any] = {}
    for key, part in manifest.items():
        if key not in live:
            continue
        if isinstance(part, Mapping) and isinstance(live[key], Mapping):
            fields[key] = _narrowed(live[key], part)
        else:
            fields[key] = live[key]
    return fields


def is_in_effect(action: Action, live: Document | None, uid: str = "", after: Document | None = None) -> bool:
    """Return whether an object is as an action makes it.

    Args:
        live: the object; None if it does not exist.
        uid: of the object that the action was for; another object of its name counts as a removal.
        after: the object after the server's dry run, for manifests.
    """
    metadata = _part(live or {}, "metadata")
    operation = action.operation
    if operation in (Operation.DELETE, Operation.EVICT):
        return live is None or bool(metadata.get("deletionTimestamp")) or bool(uid and metadata.get("uid") != uid)
    if live is None:
        return False
    if operation in (Operation.CORDON, Operation.UNCORDON):
        return bool(_part(live, "spec").get("unschedulable")) is (operation is Operation.CORDON)
    if operation is Operation.SCALE:
        return replicas_of(live) == action.replicas
    if operation in ANNOTATIONS:
        value = _annotations(live).get(ANNOTATIONS[operation])
        return value is None if operation in _REMOVALS else value == action.value
    return after is not None and _settable(live) == _settable(after)


def _settable(document: Document) -> tuple[object, ...]:
    metadata = _part(document, "metadata")
    return document.get("spec"), metadata.get("labels") or {}, metadata.get("annotations") or {}


def _annotations(live: Document) -> Document:
    return _part(_part(live, "metadata"), "annotations")


def _part(document: Document, field: str) -> Document:
    part = document.get(field)
    return part if isinstance(part, Mapping) else {}


_SHORT: Final = {"no": "Node", "po": "Pod", "deploy": "Deployment", "sts": "StatefulSet", "rs": "ReplicaSet"}
_KINDS: Final = MappingProxyType({**{kind.lower(): kind for kind in API_KINDS}, **_SHORT})


def named(operation: Operation, word: str) -> tuple[str, str]:
    """Return kind and key of an object: of ``pod/web/a``, or of ``web/a`` if only one kind fits.

    Raises:
        ActionError: several kinds fit.
    """
    first, _, rest = word.partition("/")
    if rest and first.lower() in _KINDS:
        return _KINDS[first.lower()], rest
    kinds = KINDS_OF[operation]
    fitting = [kind for kind in kinds if API_KINDS[kind].is_namespaced is ("/" in word)]
    if len(fitting) == 1:
        return fitting[0], word
    raise ActionError(f"{word}: name its kind as well, such as {(fitting or kinds)[0].lower()}/{word}")


def typed(text: str, rows: Mapping[Operation, Sequence[tuple[str, str]]] | None = None) -> tuple[Action, ...]:
    """Return the actions of a line: ``cordon NAME…``, ``scale deployment/NAMESPACE/NAME 4``.

    Args:
        rows: Kind and key of the objects that each operation is for if the line names none.

    Raises:
        ActionError: it is none.
    """
    first, *objects = text.split()
    try:
        operation = Operation(first)
    except ValueError:
        raise ActionError(f"there is no action {first}; there are {', '.join(Operation)}") from None
    if operation is Operation.APPLY:
        raise ActionError("apply takes the edits of the what-if: open it, edit, and type :do")
    replicas = None
    if operation is Operation.SCALE:
        replicas = int(objects.pop()) if objects and objects[-1].isdecimal() else None
    on = [named(operation, word) for word in objects] or (rows or {}).get(operation, ())
    if not on:
        raise ActionError(f"{operation} needs an object, such as {KINDS_OF[operation][0].lower()}/NAME")
    return tuple(action_on(operation, kind, key, replicas=replicas) for kind, key in on)


def operations_for(kinds: Sequence[str]) -> tuple[Operation, ...]:
    """Return the operations that suit all of some kinds of objects."""
    return tuple(operation for operation in Operation if kinds and set(kinds) <= set(KINDS_OF[operation]))
