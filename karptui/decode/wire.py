"""Wire types shared by many kinds, and their conversion to domain values. Servers may send null for any field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec

from karptui.decode.errors import FieldError
from karptui.kube import resources
from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.objects import EMPTY_LABELS, Condition, OwnerReference
from karptui.kube.quantity import ZERO, Quantity, QuantityError, parse_quantity
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import LabelSelector, LabelSelectorRequirement, NodeSelectorRequirement, NodeSelectorTerm
from karptui.kube.taints import Taint
from karptui.kube.timestamps import ABSENT_NS, parse_timestamp

Int = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""A 64-bit integer, as in the API."""
WireQuantities = dict[str, str | int | float | None]


class Wire(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """Base of wire types: camel-case names, unknown fields ignored."""


class WireOwner(Wire):
    """An owner reference."""

    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None


class WireMeta(Wire):
    """``metadata``."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[WireOwner] | None = None
    finalizers: list[str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    generation: Int | None = None
    resource_version: str | None = None

    @property
    def key(self) -> str:
        """``namespace/name``, or the name alone; empty without a name."""
        return f"{self.namespace}/{self.name}" if self.namespace and self.name else self.name or ""


class WireCondition(Wire):
    """A condition."""

    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class WireTaint(Wire):
    """A taint."""

    key: str | None = None
    value: str | None = None
    effect: str | None = None
    time_added: str | None = None


class WireRequirement(Wire):
    """A node selector requirement, with Karpenter's minValues."""

    key: str
    operator: str
    values: list[str] | None = None
    min_values: Int | None = None


class WireTerm(Wire):
    """A node selector term."""

    match_expressions: list[WireRequirement] | None = None
    match_fields: list[WireRequirement] | None = None


class WireSelectorRequirement(Wire):
    """A label selector requirement."""

    key: str
    operator: str
    values: list[str] | None = None


class WireSelector(Wire):
    """A label selector."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[WireSelectorRequirement] | None = None


class WireObject(Wire):
    """An object whose metadata alone is read; list items have no ``apiVersion`` and ``kind``."""

    metadata: WireMeta = msgspec.field(default_factory=WireMeta)
    api_version: str | None = None
    kind: str | None = None


_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def object_fields(meta: WireMeta) -> dict[str, Any]:
    """Return the metadata of any object except a pod, as keyword arguments of its domain object."""
    annotations = meta.annotations or {}
    if _LAST_APPLIED in annotations:
        annotations = {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
    return {
        "name": required_name(meta.name),
        "namespace": meta.namespace or "",
        "uid": meta.uid or "",
        "labels": meta.labels or EMPTY_LABELS,
        "annotations": annotations or EMPTY_LABELS,
        "owners": owners(meta.owner_references),
        "generation": meta.generation or 0,
        "created_ns": timestamp(meta.creation_timestamp, "metadata.creationTimestamp"),
        "deletion_ns": timestamp(meta.deletion_timestamp, "metadata.deletionTimestamp"),
    }


def required_name(name: str | None) -> str:
    """Return the object's name, which it must have."""
    if not name:
        raise FieldError("metadata.name", "is missing")
    return name


def owners(wires: Iterable[WireOwner] | None) -> tuple[OwnerReference, ...]:
    """Return owner references."""
    return tuple(
        OwnerReference(
            api_version=wire.api_version or "",
            kind=wire.kind or "",
            name=wire.name or "",
            uid=wire.uid or "",
            controller=bool(wire.controller),
        )
        for wire in wires or ()
    )


def timestamp(text: str | None, path: str) -> int:
    """Return a timestamp in nanoseconds since the epoch, 0 if absent."""
    if not text:
        return ABSENT_NS
    try:
        return parse_timestamp(text)
    except ValueError as error:
        raise FieldError(path, str(error)) from None


def duration(text: str | None, path: str) -> int | None:
    """Return a duration in nanoseconds; None for ``Never`` or if absent."""
    if text is None or text == "Never":
        return None
    try:
        return parse_duration(text)
    except DurationError as error:
        raise FieldError(path, str(error)) from None


def quantities(wires: Mapping[str, str | int | float | None] | None, path: str) -> ResourceList:
    """Return a resource list."""
    if not wires:
        return resources.EMPTY
    try:
        return {name: quantity(amount) for name, amount in wires.items()}
    except QuantityError:
        name = next(name for name, amount in wires.items() if not _is_quantity(amount))
        raise FieldError(f"{path}.{name}", f"{str(wires[name])!r} is not a quantity") from None


def quantity(amount: str | float | None) -> Quantity:
    """Return a quantity written as text or number; null is zero, and blanks around text are ignored.

    Rule: ``Quantity.UnmarshalJSON`` of k8s.io/apimachinery/pkg/api/resource.

    Raises:
        QuantityError: If it is not a quantity.
    """
    if amount is None:
        return ZERO
    return parse_quantity(amount.strip(" \t\r\n") if isinstance(amount, str) else repr(amount))


def _is_quantity(amount: str | float | None) -> bool:
    try:
        quantity(amount)
    except QuantityError:
        return False
    return True


def conditions(wires: Iterable[WireCondition] | None, path: str = "status.conditions") -> tuple[Condition, ...]:
    """Return conditions."""
    return tuple(
        Condition(
            type=wire.type or "",
            status=wire.status or "",
            reason=wire.reason or "",
            message=wire.message or "",
            last_transition_ns=timestamp(wire.last_transition_time, f"{path}[{index}].lastTransitionTime"),
        )
        for index, wire in enumerate(wires or ())
    )


def taints(wires: Iterable[WireTaint] | None) -> tuple[Taint, ...]:
    """Return taints."""
    return tuple(Taint(key=wire.key or "", effect=wire.effect or "", value=wire.value or "") for wire in wires or ())


def requirements(wires: Iterable[WireRequirement] | None) -> tuple[NodeSelectorRequirement, ...]:
    """Return node selector requirements."""
    return tuple(
        NodeSelectorRequirement(wire.key, wire.operator, tuple(wire.values or ()), wire.min_values)
        for wire in wires or ()
    )


def node_terms(wires: Iterable[WireTerm] | None) -> tuple[NodeSelectorTerm, ...]:
    """Return node selector terms."""
    return tuple(
        NodeSelectorTerm(requirements(wire.match_expressions), requirements(wire.match_fields)) for wire in wires or ()
    )


def label_selector(wire: WireSelector | None) -> LabelSelector | None:
    """Return a label selector, None for a null selector."""
    if wire is None:
        return None
    return LabelSelector(
        match_labels=tuple(sorted((wire.match_labels or {}).items())),
        match_expressions=tuple(
            LabelSelectorRequirement(expression.key, expression.operator, tuple(expression.values or ()))
            for expression in wire.match_expressions or ()
        ),
    )
