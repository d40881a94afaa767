"""The edits of a scenario, and their errors."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from karptui.errors import RequestError


class ObjectRef(msgspec.Struct, frozen=True):
    """Names an object of the cluster."""

    kind: str
    """API kind, e.g. ``NodePool`` or ``EC2NodeClass``."""
    name: str
    namespace: str = ""
    """Empty for kinds without namespaces."""

    @property
    def key(self) -> str:
        """``namespace/name``, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Edit(
    msgspec.Struct, frozen=True, tag_field="edit", rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """One change; in a scenario file ``edit`` names which."""


class SetField(Edit, frozen=True, tag="set"):
    """Gives one field of an object another value, or takes it away."""

    object: ObjectRef
    path: tuple[str | int, ...]
    """Field names and list positions from the top, e.g. ``("spec", "limits", "cpu")``."""
    value: Any = None
    """As JSON would give it; None takes the field away."""


class PutObject(Edit, frozen=True, tag="object"):
    """Puts a whole object in the place of the one with its kind and name, or adds it."""

    text: str
    """One YAML document as typed, with comments."""


class DeleteObject(Edit, frozen=True, tag="delete"):
    """Takes an object away: a NodePool, a PodDisruptionBudget, a DaemonSet, a pod, ..."""

    object: ObjectRef


class SetSetting(Edit, frozen=True, tag="setting"):
    """Sets one of Karpenter's settings."""

    name: str
    """The environment's name, e.g. ``VM_MEMORY_OVERHEAD_PERCENT``; a feature gate is ``FEATURE_GATES.<gate>``."""
    value: str


class ScaleWorkload(Edit, frozen=True, tag="scale"):
    """Gives a workload another number of pods."""

    object: ObjectRef
    replicas: int


class CopyPod(Edit, frozen=True, tag="copies"):
    """Adds copies of a pod as pending pods."""

    object: ObjectRef
    count: int


class TakeOut(Edit, frozen=True, tag="outage"):
    """Makes offerings unavailable, as after an insufficient capacity error; empty fields match all."""

    instance_type: str = ""
    """A name, or a pattern with ``*``."""
    zone: str = ""
    capacity_type: str = ""

    @property
    def words(self) -> str:
        """The offerings as text: ``spot m7i* in us-east-1a``."""
        where = f"in {self.zone}" if self.zone else ""
        return " ".join(filter(None, (self.capacity_type, self.instance_type or "every type", where)))


class RemoveNode(Edit, frozen=True, tag="removeNode"):
    """Takes a node away; its pods look for another place."""

    name: str


class CordonNode(Edit, frozen=True, tag="cordonNode"):
    """Keeps new pods from a node."""

    name: str


AnyEdit: TypeAlias = (
    SetField | PutObject | DeleteObject | SetSetting | ScaleWorkload | CopyPod | TakeOut | RemoveNode | CordonNode
)


class EditError(RequestError):
    """An edit that cannot be made, raised by every edit; the message names document or edit, object and field."""


class FailedEditError(EditError):
    """An edit that cannot be made, and which of the edits it is."""

    def __init__(self, position: int, edit: AnyEdit, problem: str) -> None:
        self.position = position
        """Among the edits, from 0."""
        self.edit = edit
        self.problem = problem
        """Without the position."""
        super().__init__(f"edit {position + 1}: {problem}")
