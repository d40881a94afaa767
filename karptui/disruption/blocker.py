"""A blocker: something that prevents the disruption of a node."""

from __future__ import annotations

import msgspec

from karptui.disruption.codes import CODES, Code, Scope
from karptui.disruption.command import Method


class Blocker(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A blocker of a node or of the whole cluster."""

    code: Code
    node_name: str = ""
    """The Node's name, or the NodeClaim's if there is no Node; empty for the whole cluster."""
    claim_name: str = ""
    pool_name: str = ""
    price_per_hour: float | None = None
    """The node's price in dollars; None if unknown."""
    blocks: frozenset[Method] = frozenset()
    """The methods that it keeps from disrupting the node."""
    blocks_drain: bool = False
    """Whether it delays a drain that has begun."""
    object_kind: str = ""
    object_key: str = ""
    """``namespace/name``, or the name of a cluster-scoped object."""
    owner: str = ""
    """``Kind/namespace/name`` of a pod's owner; empty for a pod without owner, and for other objects."""
    origin: str = ""
    """``Kind/namespace/name`` of a pod's top-level workload, shared by similar CI jobs. Empty for other objects."""
    value: str = ""
    """The annotation's value, the budget's line, or the names of the PodDisruptionBudgets."""
    since_ns: int | None = None
    """When it began to block, at the earliest when something wanted the node; None if unknown."""
    until_ns: int | None = None
    """When it ends without action; None if it does not or this is unknown."""
    message: str = ""
    """Karpenter's message if it has one, or ours."""
    is_wanted: bool = False
    """Whether one of the blocked methods wants the node now."""
    is_reported: bool = False
    """Whether Karpenter reports it: of several blockers, Karpenter publishes only the first."""
    quoted_ns: int | None = None
    """When an event last reported exactly this message about the node; None without one."""
    pod_uid: str = ""
    """The pod's, for a blocker about a pod."""

    def is_one_with(self, other: Blocker) -> bool:
        """Return whether one change removes both: they are the same, or of the same PodDisruptionBudgets."""
        is_of_pdb = self.scope is Scope.PDB and (self.code, self.value) == (other.code, other.value)
        return self is other or is_of_pdb

    @property
    def scope(self) -> Scope:
        """The scope of its code."""
        return CODES[self.code].scope

    @property
    def word(self) -> str:
        """The short word of its code."""
        return CODES[self.code].word

    @property
    def is_passing(self) -> bool:
        """Whether it ends without action."""
        return CODES[self.code].is_passing or self.until_ns is not None

    @property
    def object_ref(self) -> str:
        """``Kind/namespace/name``."""
        return f"{self.object_kind}/{self.object_key}" if self.object_kind else ""
