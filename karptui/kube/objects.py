"""What every Kubernetes object carries."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from karptui.kube.owners import OwnerReference
from karptui.kube.timestamps import ABSENT_NS

EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})
EMPTY_LABELS: Final[Mapping[str, str]] = MappingProxyType({})


class Condition(msgspec.Struct, frozen=True, gc=False):
    """One entry of ``status.conditions``."""

    type: str
    status: str
    """``True``, ``False`` or ``Unknown``."""
    reason: str = ""
    message: str = ""
    last_transition_ns: int = ABSENT_NS


def condition_of(conditions: tuple[Condition, ...], type_: str) -> Condition | None:
    """Return the condition of a type, None where it is not reported."""
    return next((condition for condition in conditions if condition.type == type_), None)


class KubeObject(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Metadata, flat, of every object but pods, which share theirs through a template."""

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
