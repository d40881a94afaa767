"""Blockers by kind: the short word of each, what it means, and whether it ends by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "POD_DND": ("POD-DND", "a pod says karpenter.sh/do-not-disrupt"),
    "NODE_DND": ("NODE-DND", "the node says karpenter.sh/do-not-disrupt"),
    "PDB_EXHAUSTED": ("PDB", "a PodDisruptionBudget allows no eviction"),
    "PDB_MULTIPLE": ("PDB×2", "two PodDisruptionBudgets on one pod: it can never be evicted"),
    "TERMINATING": ("SLOW", "a pod takes its time to end; it holds a drain only"),
    "BUDGET_ZERO": ("BUDGET", "the NodePool's disruption budgets leave nothing"),
    "CONSOLIDATION_DISABLED": ("NEVER", "consolidateAfter is Never"),
    "WHEN_EMPTY_POLICY": ("POLICY", "consolidationPolicy WhenEmpty, and the node is not empty"),
    "CONSOLIDATE_AFTER": ("AFTER", "consolidateAfter runs"),
    "NOT_CONSOLIDATABLE": ("AFTER", "Karpenter has not marked it Consolidatable yet"),
    "NOMINATED": ("NOMINATED", "a pending pod is expected on it"),
    "NOT_INITIALIZED": ("INIT", "it is not initialised"),
    "NO_NODE": ("INIT", "the NodeClaim has no node yet"),
    "DELETING": ("DELETING", "it is being deleted already"),
    "IN_COMMAND": ("COMMAND", "a disruption command holds it"),
    "NO_NODEPOOL_LABEL": ("NO-POOL", "the NodePool label is missing"),
    "NODEPOOL_UNRESOLVED": ("NO-POOL", "its NodePool is gone or resolves to no instance types"),
    "INSTANCE_TYPE_UNKNOWN": ("NO-TYPE", "its instance type is not among those of its NodePool"),
    "NO_CAPACITY_TYPE_LABEL": ("NO-LABEL", "the capacity type label is missing"),
    "NO_ZONE_LABEL": ("NO-LABEL", "the zone label is missing"),
    "BUFFER_PODS": ("BUFFER", "it holds capacity for a CapacityBuffer"),
    "STATIC_SCALING": ("STATIC", "the static NodePool has more nodes than replicas"),
    "STATIC_NO_HEADROOM": ("STATIC", "limits.nodes of the static NodePool leaves no room for a replacement"),
    "UNSYNCED": ("UNSYNCED", "a NodeClaim without provider ID: Karpenter disrupts nothing until it has one"),
    "NO_NODEPOOLS": ("NO-POOLS", "no NodePool can take pods"),
}
"""By code of the engine, the short word and what it means."""
PASSING: Final = frozenset(
    {
        "CONSOLIDATE_AFTER",
        "NOT_CONSOLIDATABLE",
        "NOMINATED",
        "NOT_INITIALIZED",
        "NO_NODE",
        "DELETING",
        "IN_COMMAND",
        "UNSYNCED",
    }
)
"""Codes that end by themselves; nobody has to lift them."""


def kind_text(code: str) -> str:
    """Return the short word of a kind of blocker."""
    return KINDS[code][0]
