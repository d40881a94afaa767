"""A row of what changed."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from karptui.decode.kinds import Kind

KARPENTER_KINDS: Final = (Kind.NODEPOOL, Kind.NODECLASS, Kind.NODEOVERLAY)
WORKLOAD_KINDS: Final = (
    Kind.PDB,
    Kind.DAEMONSET,
    Kind.DEPLOYMENT,
    Kind.STATEFULSET,
    Kind.CRONJOB,
    Kind.PRIORITY_CLASS,
    Kind.CAPACITY_BUFFER,
)
EDITED_KINDS: Final = (*KARPENTER_KINDS, *WORKLOAD_KINDS)
"""Kinds that are compared field by field."""
SETTINGS: Final = "Settings"
"""Used as the kind of Karpenter's settings and version."""
COST: Final = "Cost"
"""Used as the kind of a NodePool's cost."""
VERDICT: Final = "Verdict"
"""Used as the kind of a line of the verdict."""
_ORDER: Final = (*KARPENTER_KINDS, SETTINGS, VERDICT, *WORKLOAD_KINDS, COST, Kind.NODE, Kind.NODECLAIM, Kind.POD)
_PLACES: Final = {str(kind): place for place, kind in enumerate(_ORDER)}


class What(StrEnum):
    """What happened to an object or a field."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    BEGAN = "began"
    """Of a line of the verdict."""
    ENDED = "ended"
    CAME_AND_GONE = "came and gone"
    """Of nodes, NodeClaims and pods, folded."""


class ObjectChange(msgspec.Struct, frozen=True):
    """A changed field, an added or removed object, or such objects folded."""

    kind: str
    """Of `Kind`, or ``Settings``, ``Verdict``, ``Cost``, ``Pod`` of an owner."""
    name: str
    """``namespace/name`` or ``name``; of folded objects their NodePool, or ``Kind/namespace/name`` of their owner."""
    what: What
    field: str = ""
    """Path of the field; empty for the object itself."""
    before: Any = None
    """Value; None is absent."""
    after: Any = None
    at_ns: int = 0
    """When it last changed; 0 if unknown."""
    by: str = ""
    """Field manager of that change; empty if unknown."""
    added: int = 0
    removed: int = 0
    moved: int = 0
    """Folded objects that were added, were removed, or (pods) are on another node."""

    @property
    def place(self) -> tuple[int, str, str, str]:
        """Its place among other rows: Karpenter's kinds, settings, verdict, workloads, cost, folded objects."""
        # Pods of DaemonSets come and go with nodes.
        is_last = self.kind == Kind.POD and self.name.startswith(Kind.DAEMONSET)
        return _PLACES.get(self.kind, len(_PLACES)) + is_last, self.name, self.field, self.what

    @property
    def key(self) -> str:
        """Identity within a comparison."""
        return f"{self.kind}/{self.name}/{self.what}/{self.field}/{self.before or self.after}"
