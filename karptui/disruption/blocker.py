"""One thing that keeps one node from being disrupted."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from karptui.disruption.command import Method


class Code(StrEnum):
    """What a blocker is."""

    UNSYNCED = "UNSYNCED"
    """A NodeClaim without provider ID: Karpenter disrupts nothing anywhere until it is launched or gone."""
    NO_NODEPOOLS = "NO_NODEPOOLS"
    """No NodePool is there to take pods: every simulated removal fails."""
    IN_COMMAND = "IN_COMMAND"
    NO_NODE = "NO_NODE"
    NOT_INITIALIZED = "NOT_INITIALIZED"
    DELETING = "DELETING"
    NOMINATED = "NOMINATED"
    NODE_DND = "NODE_DND"
    NO_NODEPOOL_LABEL = "NO_NODEPOOL_LABEL"
    NODEPOOL_UNRESOLVED = "NODEPOOL_UNRESOLVED"
    POD_DND = "POD_DND"
    PDB_MULTIPLE = "PDB_MULTIPLE"
    PDB_EXHAUSTED = "PDB_EXHAUSTED"
    TERMINATING = "TERMINATING"
    """A pod that takes its time: holds a drain only."""
    BUDGET_ZERO = "BUDGET_ZERO"
    CONSOLIDATE_AFTER = "CONSOLIDATE_AFTER"
    CONSOLIDATION_DISABLED = "CONSOLIDATION_DISABLED"
    """consolidateAfter is Never, or absent."""
    NOT_CONSOLIDATABLE = "NOT_CONSOLIDATABLE"
    """The quiet time is over but Karpenter has not said so yet."""
    WHEN_EMPTY_POLICY = "WHEN_EMPTY_POLICY"
    INSTANCE_TYPE_UNKNOWN = "INSTANCE_TYPE_UNKNOWN"
    NO_CAPACITY_TYPE_LABEL = "NO_CAPACITY_TYPE_LABEL"
    NO_ZONE_LABEL = "NO_ZONE_LABEL"
    BUFFER_PODS = "BUFFER_PODS"
    STATIC_SCALING = "STATIC_SCALING"
    STATIC_NO_HEADROOM = "STATIC_NO_HEADROOM"


class Scope(StrEnum):
    """What a blocker is about: lifting it there lifts it for everything beneath."""

    CLUSTER = "cluster"
    NODEPOOL = "nodepool"
    NODE = "node"
    POD = "pod"
    PDB = "pdb"


SCOPES: dict[Code, Scope] = {
    Code.UNSYNCED: Scope.CLUSTER,
    Code.NO_NODEPOOLS: Scope.CLUSTER,
    Code.NODEPOOL_UNRESOLVED: Scope.NODEPOOL,
    Code.POD_DND: Scope.POD,
    Code.PDB_MULTIPLE: Scope.PDB,
    Code.PDB_EXHAUSTED: Scope.PDB,
    Code.TERMINATING: Scope.POD,
    Code.BUDGET_ZERO: Scope.NODEPOOL,
    Code.CONSOLIDATION_DISABLED: Scope.NODEPOOL,
    Code.WHEN_EMPTY_POLICY: Scope.NODEPOOL,
    Code.STATIC_SCALING: Scope.NODEPOOL,
    Code.STATIC_NO_HEADROOM: Scope.NODEPOOL,
}
"""Scope of the codes that are not about a single node."""


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
        return SCOPES.get(self.code, Scope.NODE)

    @property
    def object_ref(self) -> str:
        """``Kind/namespace/name``."""
        return f"{self.object_kind}/{self.object_key}" if self.object_kind else ""
