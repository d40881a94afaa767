"""Metadata, owners and conditions of Kubernetes objects; nodes, namespaces, priority classes, events and leases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from karptui.kube import resources
from karptui.kube.resources import ResourceList
from karptui.kube.taints import NO_SCHEDULE, Taint
from karptui.kube.timestamps import ABSENT_NS


class OwnerReference(msgspec.Struct, frozen=True, gc=False):
    """One entry of ``metadata.ownerReferences``."""

    api_version: str
    kind: str
    name: str
    uid: str = ""
    controller: bool = False


def is_owned_by(owners: Iterable[OwnerReference], api_version: str, kind: str) -> bool:
    """Return whether any owner has this apiVersion and kind, whether or not it is the controller.

    Rule: ``isOwnedBy`` in Karpenter's pkg/utils/pod/scheduling.go.
    """
    return any(owner.kind == kind and owner.api_version == api_version for owner in owners)


def controller_of(owners: Iterable[OwnerReference]) -> OwnerReference | None:
    """Return the controlling owner, or None."""
    # A plain loop: asked for each pod, and a generator takes twice as long.
    for owner in owners:
        if owner.controller:
            return owner
    return None


EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})
EMPTY_LABELS: Final[Mapping[str, str]] = MappingProxyType({})
SERVERS_OWN: Final = frozenset(
    {
        "managedFields",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "selfLink",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    }
)
"""Metadata that only the API server writes."""


class Condition(msgspec.Struct, frozen=True, gc=False):
    """One entry of ``status.conditions``."""

    type: str
    status: str
    """``True``, ``False`` or ``Unknown``."""
    reason: str = ""
    message: str = ""
    last_transition_ns: int = ABSENT_NS

    @property
    def is_good_when_false(self) -> bool:
        """Whether the condition names a problem: of the kubelet, the node problem detector or a cloud."""
        return self.type.startswith(("Frequent", "Corrupt")) or self.type.endswith(_PROBLEMS)


_PROBLEMS: Final = ("Pressure", "Unavailable", "Problem", "Deadlock", "ReadonlyFilesystem", "Unhealthy")


def condition_of(conditions: tuple[Condition, ...], type_: str) -> Condition | None:
    """Return the condition of a type, or None if it is not reported."""
    for condition in conditions:
        if condition.type == type_:
            return condition
    return None


def true_condition(conditions: tuple[Condition, ...], type_: str) -> Condition | None:
    """Return the condition of a type if it is True; None for any other status, or if it is not reported."""
    condition = condition_of(conditions, type_)
    return condition if condition is not None and condition.status == "True" else None


def with_condition(conditions: tuple[Condition, ...], changed: Condition) -> tuple[Condition, ...]:
    """Return the conditions with one of them added or replaced."""
    return (*without_condition(conditions, changed.type), changed)


def without_condition(conditions: tuple[Condition, ...], type_: str) -> tuple[Condition, ...]:
    """Return the conditions without those of a type."""
    return tuple(condition for condition in conditions if condition.type != type_)


class KubeObject(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Metadata of every object except pods, whose metadata is mostly in a shared template."""

    name: str
    namespace: str = ""
    """Empty for cluster-scoped kinds."""
    uid: str = ""
    labels: Mapping[str, str] = EMPTY_LABELS
    annotations: Mapping[str, str] = EMPTY_LABELS
    owners: tuple[OwnerReference, ...] = ()
    generation: int = 0
    created_ns: int = ABSENT_NS
    deletion_ns: int = ABSENT_NS
    """``deletionTimestamp``: nanoseconds since the epoch, 0 while the object is not being deleted."""

    @property
    def key(self) -> str:
        """``namespace/name``, or the name of a cluster-scoped object: unique within its kind."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def is_deleting(self) -> bool:
        """Whether it has a deletionTimestamp."""
        return self.deletion_ns != ABSENT_NS


class Namespace(KubeObject, frozen=True, kw_only=True, gc=False):
    """A Namespace; its labels are matched by namespace selectors."""


class PriorityClass(KubeObject, frozen=True, kw_only=True, gc=False):
    """A named pod priority."""

    value: int = 0


class Event(KubeObject, frozen=True, kw_only=True, gc=False):
    """A Kubernetes event about an object. Events can be lost or late, so no decision depends on them."""

    reason: str = ""
    message: str = ""
    type: str = ""
    """``Normal`` or ``Warning``."""
    source: str = ""
    """``reportingComponent``, or the older ``source.component``."""
    involved_kind: str = ""
    involved_namespace: str = ""
    involved_name: str = ""
    involved_uid: str = ""
    count: int = 1
    first_ns: int = ABSENT_NS
    last_ns: int = ABSENT_NS
    """Latest of lastTimestamp, series.lastObservedTime and eventTime."""


MANAGER_LEASE: Final = "kube-controller-manager"
"""Name of the Lease in kube-system by which Kubernetes' own controllers elect a leader."""


class Lease(KubeObject, frozen=True, kw_only=True, gc=False):
    """A ``coordination.k8s.io`` Lease, which names the leader among several replicas."""

    holder: str = ""
    """``spec.holderIdentity``; empty if there is no holder."""
    renewed_ns: int = ABSENT_NS
    duration_seconds: int = 0


class Webhook(msgspec.Struct, frozen=True, gc=False):
    """An admission webhook without whose answer requests fail."""

    name: str
    service: str
    """``namespace/name`` of the Service that answers; ``/`` for another address."""
    port: int
    """Of the Service."""
    rules: tuple[tuple[frozenset[str], frozenset[str], frozenset[str]], ...]
    """Operations, API groups and resources (``pods/eviction``, ``*/*``) that it reviews."""

    def is_asked(self, operation: str, group: str, resource: str) -> bool:
        """Return whether it reviews an operation on a resource, or on a subresource such as ``pods/eviction``."""
        of, _, part = resource.partition("/")
        named = {resource, "*/*", *((f"{of}/*", f"*/{part}") if part else ("*",))}
        asked = ({operation, "*"}, {group, "*"}, named)
        return any(all(map(frozenset.intersection, rule, asked)) for rule in self.rules)


class WebhookConfiguration(KubeObject, frozen=True, kw_only=True, gc=False):
    """A ValidatingWebhookConfiguration."""

    webhooks: tuple[Webhook, ...] = ()


_LONGEST: Final = 320
"""Maximum quoted length of a kind or key; valid ones are shorter."""


def object_words(document: Any) -> str:
    """Describe an API document for an error message; empty if the value is not one.

    Returns:
        ``a Kubernetes object, Pod web/front-1``, or ``a NodeList of 3 Kubernetes objects, the first is Node n1``.
        Names are not sanitized for a terminal.
    """
    if isinstance(document, list):
        items = document
        if not items or not _kind_and_name(items[0], ""):
            return ""
        return _several("a list", items, "")
    if isinstance(document, dict) and "karptui" in document and isinstance(document.get("objects"), list):
        return _several("a recording", document["objects"], "")
    if not _kind_and_name(document, ""):
        return ""
    kind, items = document["kind"], document.get("items")
    if kind.endswith("List") and isinstance(items, list):
        # API servers omit the kind of items in a typed list.
        return _several(f"a {kind}", items, kind.removesuffix("List"))
    return f"a Kubernetes object, {_kind_and_name(document, '')}"


def _several(what: str, items: list[Any], kind: str) -> str:
    noun = "object" if len(items) == 1 else "objects"
    first = _kind_and_name(items[0], kind) if items else ""
    return f"{what} of {len(items):,} Kubernetes {noun}" + (f", the first is {first}" if first else "")


def _kind_and_name(value: Any, kind: str) -> str:
    if not isinstance(value, dict):
        return ""
    object_kind, metadata = value.get("kind", kind), value.get("metadata")
    if (
        not isinstance(object_kind, str)
        or not object_kind
        or not (kind or "apiVersion" in value or isinstance(metadata, dict))
    ):
        return ""
    fields = metadata if isinstance(metadata, dict) else {}
    key = "/".join(str(fields[name]) for name in ("namespace", "name") if fields.get(name))
    return f"{object_kind[:_LONGEST]} {key[:_LONGEST]}".rstrip()


UNSCHEDULABLE_TAINT: Final = Taint("node.kubernetes.io/unschedulable", NO_SCHEDULE)
"""Taint of a cordoned node; Kubernetes adds it when ``spec.unschedulable`` is set."""


class Node(KubeObject, frozen=True, kw_only=True, gc=False):
    """A Kubernetes Node."""

    finalizers: tuple[str, ...] = ()
    provider_id: str = ""
    """Provider's instance ID, which ties the Node to its NodeClaim; may be set some time after creation."""
    taints: tuple[Taint, ...] = ()
    is_unschedulable: bool = False
    """``spec.unschedulable``: cordoned."""
    cordoned_ns: int = ABSENT_NS
    """Time the node was cordoned: ``timeAdded`` of the unschedulable taint."""
    capacity: ResourceList = resources.EMPTY
    allocatable: ResourceList = resources.EMPTY
    conditions: tuple[Condition, ...] = ()
    kubelet_version: str = ""
    os_image: str = ""
    architecture: str = ""
    internal_ip: str = ""

    @property
    def ready(self) -> Condition | None:
        """The Ready condition."""
        return condition_of(self.conditions, "Ready")

    @property
    def is_ready(self) -> bool:
        """Whether the Ready condition is True."""
        return true_condition(self.conditions, "Ready") is not None


def cordoned(node: Node) -> Node:
    """Return the node with the unschedulable taint added or removed to match ``spec.unschedulable``."""
    others = tuple(taint for taint in node.taints if taint.key != UNSCHEDULABLE_TAINT.key)
    return msgspec.structs.replace(node, taints=(*others, UNSCHEDULABLE_TAINT) if node.is_unschedulable else others)
