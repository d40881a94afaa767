"""Every code for what keeps a node: its name in scripts, its short word, what it means, and the WHY it is shown as.

Names of codes are fixed: scripts and checks read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec


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
    REBOOTING = "REBOOTING"
    """Karpenter reboots it in place."""
    NOMINATED = "NOMINATED"
    NODE_DND = "NODE_DND"
    NO_NODEPOOL_LABEL = "NO_NODEPOOL_LABEL"
    NODEPOOL_UNRESOLVED = "NODEPOOL_UNRESOLVED"
    NODEPOOL_NO_TYPES = "NODEPOOL_NO_TYPES"
    """Its NodePool is there, and no instance types are known for it: Karpenter passes it over in the same words."""
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
    DO_NOT_REPAIR = "DO_NOT_REPAIR"
    """karpenter.sh/do-not-repair: holds Repair only."""
    REPAIR_UNBOUNDED = "REPAIR_UNBOUNDED"
    """Pods that block, and nothing that bounds the drain of a repair."""
    REPAIR_TRIPPED = "REPAIR_TRIPPED"
    """More than a fifth of the NodePool's nodes is unhealthy: none of them is repaired."""


class Scope(StrEnum):
    """What a blocker is about: lifting it there lifts it for everything beneath."""

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
    """Whether it would go hangs on instance types and prices that are not known."""
    SPOT = "SPOT"
    GATE_OFF = "GATE-OFF"
    SCORE = "SCORE"
    STATIC = "STATIC"
    REPAIR = "REPAIR"
    """Repair wants it, and something that stands in no other method's way holds it."""
    WAITS = "WAITS"
    """It would go, and something stops the whole cluster."""
    OK = "OK"
    PENDING = "…"
    """Nothing is in the way, and the simulated removal has not been made yet."""
    UNMANAGED = "n/a"


HOLDS_NOBODY: Final = frozenset({Code.DELETING})
"""That a node is being deleted keeps nobody: what its drain waits for does."""
RANKS: Final[Mapping[WhyCode, int]] = {code: rank for rank, code in enumerate(WhyCode)}
"""Place of each code of the WHY column, the worst first."""


class CodeFacts(msgspec.Struct, frozen=True, gc=False):
    """What is known of a code, whatever it keeps."""

    why: WhyCode
    """The code of the WHY column."""
    word: str
    """The short word on the Blockers screen."""
    meaning: str
    scope: Scope = Scope.NODE
    is_passing: bool = False
    """Whether it ends by itself, so that nobody has to lift it."""


CODES: Final[Mapping[Code, CodeFacts]] = {
    Code.POD_DND: CodeFacts(WhyCode.DND, "POD-DND", "a pod says karpenter.sh/do-not-disrupt", Scope.POD),
    Code.NODE_DND: CodeFacts(WhyCode.NODE_DND, "NODE-DND", "the node says karpenter.sh/do-not-disrupt"),
    Code.PDB_EXHAUSTED: CodeFacts(WhyCode.PDB, "PDB", "a PodDisruptionBudget allows no eviction", Scope.PDB),
    Code.PDB_MULTIPLE: CodeFacts(
        WhyCode.PDB, "PDB-MULTIPLE", "two PodDisruptionBudgets on one pod: it can never be evicted", Scope.PDB
    ),
    Code.TERMINATING: CodeFacts(WhyCode.DRAIN, "SLOW", "a pod takes its time to end; it holds a drain only", Scope.POD),
    Code.BUDGET_ZERO: CodeFacts(
        WhyCode.BUDGET, "BUDGET", "the NodePool's disruption budgets leave nothing", Scope.NODEPOOL
    ),
    Code.CONSOLIDATION_DISABLED: CodeFacts(WhyCode.NEVER, "NEVER", "consolidateAfter is Never", Scope.NODEPOOL),
    Code.WHEN_EMPTY_POLICY: CodeFacts(
        WhyCode.POLICY, "POLICY", "consolidationPolicy WhenEmpty, and the node is not empty", Scope.NODEPOOL
    ),
    Code.CONSOLIDATE_AFTER: CodeFacts(WhyCode.AFTER, "AFTER", "consolidateAfter runs", is_passing=True),
    Code.NOT_CONSOLIDATABLE: CodeFacts(
        WhyCode.AFTER, "AFTER", "Karpenter has not marked it Consolidatable yet", is_passing=True
    ),
    Code.NOMINATED: CodeFacts(WhyCode.NOMINATED, "NOMINATED", "a pending pod is expected on it", is_passing=True),
    Code.NOT_INITIALIZED: CodeFacts(WhyCode.INIT, "INIT", "it is not initialised", is_passing=True),
    Code.NO_NODE: CodeFacts(WhyCode.INIT, "INIT", "the NodeClaim has no node yet", is_passing=True),
    Code.DELETING: CodeFacts(WhyCode.DELETING, "DELETING", "it is being deleted already", is_passing=True),
    Code.REBOOTING: CodeFacts(WhyCode.COMMAND, "REBOOTING", "Karpenter reboots it", is_passing=True),
    Code.IN_COMMAND: CodeFacts(WhyCode.COMMAND, "COMMAND", "a disruption command holds it", is_passing=True),
    Code.NO_NODEPOOL_LABEL: CodeFacts(WhyCode.NO_POOL, "NO-POOL", "the NodePool label is missing"),
    Code.NODEPOOL_UNRESOLVED: CodeFacts(
        WhyCode.NO_POOL, "NO-POOL", "its NodePool is gone or not this Karpenter's", Scope.NODEPOOL
    ),
    Code.NODEPOOL_NO_TYPES: CodeFacts(
        WhyCode.NO_TYPES, "NO-TYPES", "no instance types are known for its NodePool", Scope.NODEPOOL
    ),
    Code.INSTANCE_TYPE_UNKNOWN: CodeFacts(
        WhyCode.NO_TYPE, "NO-TYPE", "its instance type is not among those of its NodePool"
    ),
    Code.NO_CAPACITY_TYPE_LABEL: CodeFacts(WhyCode.NO_LABEL, "NO-LABEL", "the capacity type label is missing"),
    Code.NO_ZONE_LABEL: CodeFacts(WhyCode.NO_LABEL, "NO-LABEL", "the zone label is missing"),
    Code.BUFFER_PODS: CodeFacts(WhyCode.BUFFER, "BUFFER", "it holds capacity for a CapacityBuffer"),
    Code.STATIC_SCALING: CodeFacts(
        WhyCode.STATIC, "STATIC", "the static NodePool has more nodes than replicas", Scope.NODEPOOL
    ),
    Code.STATIC_NO_HEADROOM: CodeFacts(
        WhyCode.STATIC, "STATIC", "limits.nodes of the static NodePool leaves no room for a replacement", Scope.NODEPOOL
    ),
    Code.DO_NOT_REPAIR: CodeFacts(WhyCode.REPAIR, "NO-REPAIR", "the node says karpenter.sh/do-not-repair"),
    Code.REPAIR_UNBOUNDED: CodeFacts(
        WhyCode.REPAIR, "NO-BOUND", "its pods block its repair, and no terminationGracePeriod bounds the drain"
    ),
    Code.REPAIR_TRIPPED: CodeFacts(
        WhyCode.REPAIR, "OVER-20%", "more than 20% of the NodePool's nodes are unhealthy", Scope.NODEPOOL
    ),
    Code.UNSYNCED: CodeFacts(
        WhyCode.INIT,
        "UNSYNCED",
        "a NodeClaim without provider ID: Karpenter disrupts nothing until it has one",
        Scope.CLUSTER,
        is_passing=True,
    ),
    Code.NO_NODEPOOLS: CodeFacts(WhyCode.NO_POOL, "NO-POOLS", "no NodePool can take pods", Scope.CLUSTER),
}
"""The codes in the order in which help lists them."""


def meanings_by_word() -> dict[str, str]:
    """Return what each word stands for; several meanings of one are put together."""
    found: dict[str, str] = {}
    for facts in CODES.values():
        before = f"{found[facts.word]}; " if facts.word in found else ""
        found[facts.word] = before + facts.meaning
    return found


def codes_shown_as(why: WhyCode) -> tuple[Code, ...]:
    """Return the codes that a code of the WHY column stands for."""
    return tuple(code for code, facts in CODES.items() if facts.why is why)
