"""The codes of the WHY column: how each is written, how bad it is, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from karptui.disruption.codes import RANKS
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import NA, age_text, duration_text
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone

if TYPE_CHECKING:
    from karptui.disruption.lanes import Why
    from karptui.session.nodes import NodeEntry

UNLIMITED_FROM: Final = 1_000_000
"""Allowances from here up are no limit at all."""
MEANINGS: Final[Mapping[str, str]] = {
    "DRAIN 12m": "its pods are being evicted, for so long; codes behind it hold the drain up",
    "DELETING": "the NodeClaim is deleted: the drain has not begun, or volumes and instance are going",
    "COMMAND": "a disruption command holds it and waits for its replacement",
    "DND×2": "so many pods say karpenter.sh/do-not-disrupt",
    "NODE-DND": "the node itself says karpenter.sh/do-not-disrupt",
    "PDB×1": "so many pods cannot be evicted because of PodDisruptionBudgets",
    "NOMINATED": "a pending pod is expected on it",
    "INIT": "it is not initialised yet",
    "NO-POOL": "its NodePool is gone, not Karpenter's, or resolves to no instance types",
    "AFTER 3m": "consolidateAfter runs for so long; due: Karpenter has yet to say so",
    "NEVER": "consolidateAfter is Never",
    "POLICY": "consolidationPolicy is WhenEmpty and it is not empty",
    "BUDGET 0/2": "disruption budgets: left now, of so many allowed",
    "NO-TYPE": "its instance type is not among those of its NodePool",
    "NO-LABEL": "the label of its zone or capacity type is missing",
    "BUFFER": "it holds capacity for a CapacityBuffer",
    "NOFIT": "its pods have nowhere to go (simulated)",
    "NODES 2": "its pods would need so many new nodes; Karpenter replaces by one at most (simulated)",
    "UNKNOWN": "not known: the provider's instance types and prices are not",
    "MINVALUES": "too few cheaper types for the minValues of the NodePool (simulated)",
    "PRICE": "no cheaper replacement (simulated)",
    "SPOT 6/15": "spot-to-spot needs 15 cheaper types and found so many (simulated)",
    "GATE-OFF": "spot-to-spot consolidation is disabled (simulated)",
    "SCORE 0.31": "the Balanced policy asks for a score of 0.50 (simulated)",
    "STATIC": "its NodePool is static: only drift takes it",
    "REPAIR": "unhealthy, and something keeps Karpenter from repairing it: Blockers (6) says what",
    "WAITS": "it would go, but something stops the whole cluster: it stands first on Blockers (6)",
    "OK→delete": "nothing keeps it: Karpenter would delete it (simulated)",
    "OK→replace": "nothing keeps it: Karpenter would replace it (simulated)",
    "…": "nothing is in the way; whether its pods have another place is being simulated",
    "n/a": "Karpenter does not manage it",
    "!rbac": "it cannot be worked out without a permission that is missing",
}
"""By an example of each code, what it means."""
_TONES: Final[Mapping[str, Tone]] = {
    **dict.fromkeys(("DRAIN", "DELETING", "COMMAND"), Tone.LEAVING),
    **dict.fromkeys(("DND", "NODE-DND", "PDB", "BUDGET", "NO-POOL", "NO-TYPE", "NO-LABEL", "REPAIR"), Tone.WARNING),
    **dict.fromkeys(("NOMINATED", "INIT", "AFTER", "WAITS", "…"), Tone.ACTIVE),
    **dict.fromkeys(("n/a", "STATIC"), Tone.MUTED),
    "OK": Tone.GOOD,
}
_COUNTED: Final = ("DND", "PDB")
BLOCKING: Final = frozenset({"DND", "NODE-DND", "PDB", "BUDGET", "NO-POOL", "NO-TYPE", "NO-LABEL", "REPAIR"})
"""Codes of what somebody has to lift: it does not end by itself, and the pods are not what is wrong."""


def tone_of(code: str) -> Tone:
    """Return how a code is toned."""
    return _TONES.get(code, Tone.NORMAL)


def why_text(why: Why, now_ns: int) -> str:
    """Return a code with its numbers, such as ``DND×2``, ``AFTER 3m`` and ``OK→delete``."""
    code = str(why.code)
    if code in _COUNTED:
        return f"{code}×{why.count}"
    if code == "OK":
        return f"OK→{why.outcome}"
    if code == "BUDGET":
        return f"BUDGET {why.count}/{why.of}" if why.of < UNLIMITED_FROM else "BUDGET"
    if code == "DRAIN":
        return f"DRAIN {age_text(why.since_ns, now_ns)}" if why.since_ns else code
    if code == "AFTER":
        left = (why.until_ns - now_ns) // NS_PER_SECOND
        return f"AFTER {duration_text(left)}" if left > 0 else "AFTER due"
    if code == "NODES":
        return f"NODES {why.count}"
    if code == "SPOT":
        return f"SPOT {why.count}/{why.of}"
    if code == "SCORE":
        return f"SCORE {why.score:.2f}"
    return code


def why_cell(entry: NodeEntry, now_ns: int) -> Cell:
    """Return the WHY of a node, with the other codes of a drain where there is room."""
    found = entry.findings
    if found is None:
        if entry.node is None:
            return NOT_APPLICABLE
        if entry.is_out_of_reach:
            return FORBIDDEN
        return Cell("…", Tone.MUTED) if entry.is_managed else NOT_AVAILABLE
    text = why_text(found.why, now_ns)
    also = [str(code) for code in found.why.codes[1:]] if found.why.code == "DRAIN" else []
    if also:
        return Cell(f"{text} {' '.join(also)}", tone_of(found.why.code), text)
    return Cell(text, tone_of(found.why.code))


def why_sort(entry: NodeEntry) -> tuple[float | str, ...] | None:
    """Return the place of a node by its WHY: worst first, and more of it first."""
    found = entry.findings
    return None if found is None else (float(RANKS[found.why.code]), -float(found.why.count))


def why_words(entry: NodeEntry, now_ns: int) -> tuple[str, ...]:
    """Return what a filter may ask for: the code as written, and every code that applies without its numbers."""
    found = entry.findings
    if found is None:
        return ("" if entry.is_managed else NA,)
    return tuple(dict.fromkeys((*(str(code) for code in found.why.codes), why_text(found.why, now_ns))))


def is_held(entry: NodeEntry) -> bool:
    """Whether something that somebody has to lift keeps a node."""
    return entry.findings is not None and any(str(code) in BLOCKING for code in entry.findings.why.codes)
