"""One thing that keeps one node from being disrupted."""

from __future__ import annotations

import msgspec

from karptui.disruption.codes import CODES, Code, Scope
from karptui.disruption.command import Method


class Blocker(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One (node, blocker)."""

    code: Code
    node_name: str = ""
    """The Node's name, the NodeClaim's while there is no Node, empty for what holds the whole cluster."""
    claim_name: str = ""
    pool_name: str = ""
    price_per_hour: float | None = None
    """Dollars that the node costs; None where that is not known."""
    blocks: frozenset[Method] = frozenset()
    """The methods it keeps from taking the node."""
    blocks_drain: bool = False
    """Whether it holds up a drain that has begun."""
    object_kind: str = ""
    object_key: str = ""
    """``namespace/name``, or the name of a cluster-scoped object."""
    owner: str = ""
    """``Kind/namespace/name`` of a pod's owner, empty for a pod on its own and for other objects."""
    origin: str = ""
    """``Kind/namespace/name`` of what a pod comes from: CI jobs of one kind share it. Empty for other objects."""
    value: str = ""
    """What is written there: the annotation's value, the budget's line, the PodDisruptionBudgets' names."""
    since_ns: int | None = None
    """When it began to stand in the way: no earlier than something wanted the node. None where nothing tells."""
    until_ns: int | None = None
    """When it ends by itself, None where it does not or nothing tells."""
    message: str = ""
    """Karpenter's words where it has some, else ours."""
    is_wanted: bool = False
    """Whether one of the blocked methods wants the node now; else it only would block."""
    is_reported: bool = False
    """Whether it is the one that Karpenter itself names: of several it publishes the first it meets."""
    quoted_ns: int | None = None
    """When an event last said exactly this about the node, None where none did."""
    pod_uid: str = ""
    """Of the pod, where it is about one."""

    @property
    def scope(self) -> Scope:
        """What it is about."""
        return CODES[self.code].scope

    @property
    def word(self) -> str:
        """The short word of its code."""
        return CODES[self.code].word

    @property
    def is_passing(self) -> bool:
        """Whether it ends by itself, so that nobody has to lift it."""
        return CODES[self.code].is_passing or self.until_ns is not None

    @property
    def object_ref(self) -> str:
        """``Kind/namespace/name``."""
        return f"{self.object_kind}/{self.object_key}" if self.object_kind else ""
