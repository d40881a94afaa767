"""A blocker, and all codes of blockers: name in scripts, short word, meaning, and the WHY code that shows them.

Scripts and checks rely on the codes' names: never change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from karptui.disruption.command import Method


class Code(StrEnum):
    """A blocker's code."""

    UNSYNCED = "UNSYNCED"
    """A NodeClaim without provider ID: Karpenter disrupts nothing until it is launched or deleted."""
    NO_NODEPOOLS = "NO_NODEPOOLS"
    """No NodePool accepts pods: every simulated removal fails."""
    IN_COMMAND = "IN_COMMAND"
    NO_NODE = "NO_NODE"
    NOT_INITIALIZED = "NOT_INITIALIZED"
    DELETING = "DELETING"
    REBOOTING = "REBOOTING"
    """Karpenter is rebooting it in place."""
    NOMINATED = "NOMINATED"
    NODE_DND = "NODE_DND"
    NO_NODEPOOL_LABEL = "NO_NODEPOOL_LABEL"
    NODEPOOL_UNRESOLVED = "NODEPOOL_UNRESOLVED"
    NODEPOOL_NO_TYPES = "NODEPOOL_NO_TYPES"
    """Its NodePool has no known instance types: Karpenter skips it with the same message."""
    POD_DND = "POD_DND"
    PDB_MULTIPLE = "PDB_MULTIPLE"
    PDB_EXHAUSTED = "PDB_EXHAUSTED"
    TERMINATING = "TERMINATING"
    """A pod with a long termination: delays drains only."""
    BUDGET_ZERO = "BUDGET_ZERO"
    CONSOLIDATE_AFTER = "CONSOLIDATE_AFTER"
    CONSOLIDATION_DISABLED = "CONSOLIDATION_DISABLED"
    """consolidateAfter is Never or absent."""
    NOT_CONSOLIDATABLE = "NOT_CONSOLIDATABLE"
    """consolidateAfter has passed, but Karpenter has not marked the node yet."""
    WHEN_EMPTY_POLICY = "WHEN_EMPTY_POLICY"
    INSTANCE_TYPE_UNKNOWN = "INSTANCE_TYPE_UNKNOWN"
    NO_CAPACITY_TYPE_LABEL = "NO_CAPACITY_TYPE_LABEL"
    NO_ZONE_LABEL = "NO_ZONE_LABEL"
    BUFFER_PODS = "BUFFER_PODS"
    STATIC_SCALING = "STATIC_SCALING"
    STATIC_NO_HEADROOM = "STATIC_NO_HEADROOM"
    DO_NOT_REPAIR = "DO_NOT_REPAIR"
    """karpenter.sh/do-not-repair: blocks Repair only."""
    REPAIR_UNBOUNDED = "REPAIR_UNBOUNDED"
    """Blocking pods, and no bound on the drain of a repair."""
    REPAIR_TRIPPED = "REPAIR_TRIPPED"
    """More than a fifth of the NodePool's nodes are unhealthy: none is repaired."""


class Scope(StrEnum):
    """The object that a blocker is about; removing the blocker there helps everything beneath."""

    CLUSTER = "cluster"
    NODEPOOL = "nodepool"
    NODE = "node"
    POD = "pod"
    PDB = "pdb"


class WhyCode(StrEnum):
    """A code of the WHY column, worst first."""

    DRAIN = "DRAIN"
    DELETING = "DELETING"
    COMMAND = "COMMAND"
    DND = "DND"
    NODE_DND = "NODE-DND"
    PDB = "PDB"
    NOMINATED = "NOMINATED"
    INIT = "INIT"
    NO_POOL = "NO-POOL"
    NO_TYPES = "NO-TYPES"
    AFTER = "AFTER"
    NEVER = "NEVER"
    POLICY = "POLICY"
    BUDGET = "BUDGET"
    NO_TYPE = "NO-TYPE"
    NO_LABEL = "NO-LABEL"
    BUFFER = "BUFFER"
    NOFIT = "NOFIT"
    NODES = "NODES"
    MIN_VALUES = "MINVALUES"
    PRICE = "PRICE"
    UNKNOWN = "UNKNOWN"
    """The result depends on unknown instance types or prices."""
    SPOT = "SPOT"
    GATE_OFF = "GATE-OFF"
    SCORE = "SCORE"
    STATIC = "STATIC"
    REPAIR = "REPAIR"
    """Repair wants it but is blocked by something that blocks no other method."""
    WAITS = "WAITS"
    """It would be removed, but a blocker of the whole cluster prevents it."""
    OK = "OK"
    PENDING = "…"
    """Not blocked, and its removal has not been simulated yet."""
    UNMANAGED = "n/a"


HOLDS_NOBODY: Final = frozenset({Code.DELETING})
"""Not blocking: a deletion is only delayed by the pods of its drain."""
RANKS: Final[Mapping[WhyCode, int]] = {code: rank for rank, code in enumerate(WhyCode)}
"""Rank of each WHY code, worst first."""


class CodeFacts(msgspec.Struct, frozen=True, gc=False):
    """Properties of a blocker code."""

    why: WhyCode
    word: str
    """The label on screens, in plans and in forecasts."""
    meaning: str
    scope: Scope = Scope.NODE
    is_passing: bool = False
    """Whether it ends without action."""


CODES: Final[Mapping[Code, CodeFacts]] = {
    Code.POD_DND: CodeFacts(WhyCode.DND, "do-not-disrupt", "a pod has karpenter.sh/do-not-disrupt", Scope.POD),
    Code.NODE_DND: CodeFacts(WhyCode.NODE_DND, "node do-not-disrupt", "the node has karpenter.sh/do-not-disrupt"),
    Code.PDB_EXHAUSTED: CodeFacts(WhyCode.PDB, "PDB", "a PodDisruptionBudget allows no eviction", Scope.PDB),
    Code.PDB_MULTIPLE: CodeFacts(
        WhyCode.PDB, "two PDBs", "a pod has two PodDisruptionBudgets: it can never be evicted", Scope.PDB
    ),
    Code.TERMINATING: CodeFacts(
        WhyCode.DRAIN, "slow termination", "a pod terminates slowly; this delays drains only", Scope.POD
    ),
    Code.BUDGET_ZERO: CodeFacts(
        WhyCode.BUDGET, "budget", "the NodePool's disruption budgets allow no more nodes", Scope.NODEPOOL
    ),
    Code.CONSOLIDATION_DISABLED: CodeFacts(
        WhyCode.NEVER, "consolidate: Never", "consolidateAfter is Never", Scope.NODEPOOL
    ),
    Code.WHEN_EMPTY_POLICY: CodeFacts(
        WhyCode.POLICY,
        "WhenEmpty policy",
        "consolidationPolicy is WhenEmpty, and the node is not empty",
        Scope.NODEPOOL,
    ),
    Code.CONSOLIDATE_AFTER: CodeFacts(
        WhyCode.AFTER, "consolidateAfter", "consolidateAfter has not passed", is_passing=True
    ),
    Code.NOT_CONSOLIDATABLE: CodeFacts(
        WhyCode.AFTER, "consolidateAfter", "Karpenter has not marked it Consolidatable yet", is_passing=True
    ),
    Code.NOMINATED: CodeFacts(WhyCode.NOMINATED, "pod expected", "a pod is expected on it", is_passing=True),
    Code.NOT_INITIALIZED: CodeFacts(WhyCode.INIT, "not initialized", "it is not initialized", is_passing=True),
    Code.NO_NODE: CodeFacts(WhyCode.INIT, "not initialized", "the NodeClaim has no node yet", is_passing=True),
    Code.DELETING: CodeFacts(WhyCode.DELETING, "deleting", "it is already being deleted", is_passing=True),
    Code.REBOOTING: CodeFacts(WhyCode.COMMAND, "rebooting", "Karpenter is rebooting it", is_passing=True),
    Code.IN_COMMAND: CodeFacts(WhyCode.COMMAND, "being disrupted", "a disruption command includes it", is_passing=True),
    Code.NO_NODEPOOL_LABEL: CodeFacts(WhyCode.NO_POOL, "no NodePool", "the NodePool label is missing"),
    Code.NODEPOOL_UNRESOLVED: CodeFacts(
        WhyCode.NO_POOL, "no NodePool", "its NodePool does not exist or belongs to another controller", Scope.NODEPOOL
    ),
    Code.NODEPOOL_NO_TYPES: CodeFacts(
        WhyCode.NO_TYPES, "pool without types", "no instance types are known for its NodePool", Scope.NODEPOOL
    ),
    Code.INSTANCE_TYPE_UNKNOWN: CodeFacts(
        WhyCode.NO_TYPE, "type not in pool", "its instance type is not in its NodePool's list"
    ),
    Code.NO_CAPACITY_TYPE_LABEL: CodeFacts(WhyCode.NO_LABEL, "label missing", "the capacity type label is missing"),
    Code.NO_ZONE_LABEL: CodeFacts(WhyCode.NO_LABEL, "label missing", "the zone label is missing"),
    Code.BUFFER_PODS: CodeFacts(WhyCode.BUFFER, "CapacityBuffer", "it has capacity for a CapacityBuffer"),
    Code.STATIC_SCALING: CodeFacts(
        WhyCode.STATIC, "static pool", "the static NodePool has more nodes than replicas", Scope.NODEPOOL
    ),
    Code.STATIC_NO_HEADROOM: CodeFacts(
        WhyCode.STATIC,
        "static pool",
        "limits.nodes of the static NodePool does not allow a replacement",
        Scope.NODEPOOL,
    ),
    Code.DO_NOT_REPAIR: CodeFacts(WhyCode.REPAIR, "do-not-repair", "the node has karpenter.sh/do-not-repair"),
    Code.REPAIR_UNBOUNDED: CodeFacts(
        WhyCode.REPAIR, "drain without end", "its pods block its repair, and no terminationGracePeriod bounds the drain"
    ),
    Code.REPAIR_TRIPPED: CodeFacts(
        WhyCode.REPAIR, "over 20% unhealthy", "more than 20% of the NodePool's nodes are unhealthy", Scope.NODEPOOL
    ),
    Code.UNSYNCED: CodeFacts(
        WhyCode.INIT,
        "no provider ID",
        "a NodeClaim without provider ID: Karpenter disrupts nothing until it has one",
        Scope.CLUSTER,
        is_passing=True,
    ),
    Code.NO_NODEPOOLS: CodeFacts(WhyCode.NO_POOL, "no usable NodePool", "no NodePool accepts pods", Scope.CLUSTER),
}
"""The codes in the order of the help."""


def meanings_by_word() -> dict[str, str]:
    """Return the meaning of each word; several meanings are joined."""
    meanings: dict[str, str] = {}
    for facts in CODES.values():
        before = f"{meanings[facts.word]}; " if facts.word in meanings else ""
        meanings[facts.word] = before + facts.meaning
    return meanings


def codes_shown_as(why: WhyCode) -> tuple[Code, ...]:
    """Return the codes that a WHY code covers."""
    return tuple(code for code, facts in CODES.items() if facts.why is why)


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
