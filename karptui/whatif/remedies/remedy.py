"""A single change that makes pods schedulable, what it is made of, and what it gives."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from karptui.whatif.edits import AnyEdit


class RemedyKind(StrEnum):
    """What sort of change it is."""

    TOLERATE = "tolerate"
    """The pod tolerates a taint of the NodePool."""
    REMOVE_TAINT = "remove taint"
    """The NodePool loses a taint."""
    LIMIT = "limit"
    """The NodePool may grow further."""
    POOL_VALUE = "pool requirement"
    """A requirement of the NodePool allows one more value."""
    POOL_LABEL = "pool label"
    """The NodePool's nodes get a label."""
    POD_SELECTOR = "pod selector"
    """The pod no longer asks for a label."""
    INSTANCE_TYPE = "instance type"
    """A requirement of the NodePool allows a further type."""
    OVERHEAD = "overhead"
    """VM_MEMORY_OVERHEAD_PERCENT is lowered."""
    REQUEST = "request"
    """The pod asks for less."""
    MAX_PODS = "maxPods"
    """Nodes take more pods."""
    DAEMONSET = "DaemonSet"
    """A DaemonSet is taken away."""
    SPREAD = "spread"
    """The pod is no longer spread."""
    AFFINITY = "affinity"
    """The pod no longer keeps to other pods, or away from them."""
    MIN_VALUES = "minValues"
    """A requirement of the NodePool asks for fewer values."""


class Gain(msgspec.Struct, frozen=True):
    """What pods get where a change is made."""

    placed: int
    """Pods of those asked about that find a place."""
    asked: int
    """Pods that were asked about."""
    nodes: tuple[str, ...] = ()
    """Existing nodes that take them."""
    nodepools: tuple[str, ...] = ()
    """NodePools of the new nodes that take them."""
    new_nodes: int = 0
    instance_type: str = ""
    """The cheapest type of the first new node."""
    other_types: int = 0
    """Types that the first new node may have besides."""
    price_per_hour: float | None = None
    """Dollars of the new nodes that take them, each by its cheapest offering; None without a new node or a price."""
    displaced: tuple[str, ...] = ()
    """Other pods, ``namespace/name``, that had a place and lose it."""


class Remedy(msgspec.Struct, frozen=True):
    """A change that was tried and helps."""

    kind: RemedyKind
    subject: str
    """The object it changes: ``NodePool general``, ``Pod trino/worker-0``, ``setting``."""
    words: str
    """What to do, in words that hold for all pods: ``raise its limit of cpu to 120``."""
    edits: tuple[AnyEdit, ...]
    """The change as a what-if takes it; for several pods one edit each."""
    gain: Gain


class RemedyReport(msgspec.Struct, frozen=True):
    """The changes that were tried for pods."""

    pods: tuple[str, ...]
    """``namespace/name`` of those asked about."""
    tried: int = 0
    to_try: int = 0
    """Changes in all."""
    found: tuple[Remedy, ...] = ()
    """Those that help: all pods before some, cheap before dear."""
    left_out: tuple[str, ...] = ()
    """What could not be tried, in sentences."""

    @property
    def is_complete(self) -> bool:
        """Whether everything has been tried."""
        return self.tried >= self.to_try
