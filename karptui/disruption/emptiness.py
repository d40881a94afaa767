"""Emptiness: nodes without pods of positive cost are deleted, all in one command and without simulation.

Also the consolidateAfter clock, which makes nodes consolidatable. Rules: ``pkg/controllers/disruption/emptiness.go``,
``pkg/controllers/nodeclaim/disruption/consolidation.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from karptui.disruption.candidate import LIKELIEST, Candidate, Chance
from karptui.disruption.command import Command
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.timestamps import ABSENT_NS

CONSOLIDATABLE = "Consolidatable"


class FilterCode:
    """Codes of a method's own conditions; gates have other codes."""

    STATIC: Final = "STATIC"
    NOT_STATIC: Final = "NOT_STATIC"
    TYPE_UNKNOWN: Final = "INSTANCE_TYPE_UNKNOWN"
    NO_CAPACITY_TYPE: Final = "NO_CAPACITY_TYPE_LABEL"
    NO_ZONE: Final = "NO_ZONE_LABEL"
    NEVER: Final = "CONSOLIDATION_DISABLED"
    BUFFER: Final = "BUFFER_PODS"
    EMPTY: Final = "EMPTY"
    NOT_EMPTY: Final = "NOT_EMPTY"
    POLICY: Final = "WHEN_EMPTY_POLICY"
    NOT_CONSOLIDATABLE: Final = "NOT_CONSOLIDATABLE"
    NOT_DRIFTED: Final = "NOT_DRIFTED"
    HEALTHY: Final = "HEALTHY"


def consolidation_disabled(candidate: Candidate) -> str:
    """Return Karpenter's message if consolidateAfter is ``Never`` or absent, else an empty string."""
    if candidate.pool.consolidate_after_ns is not None:
        return ""
    return f'NodePool "{candidate.pool.name}" has consolidation disabled'


def missing_conditions(candidate: Candidate) -> Iterator[tuple[str, str]]:
    """Yield Emptiness's unmet conditions as code and Karpenter's message (empty if it has none), in order."""
    if candidate.pool.is_static:
        yield FilterCode.STATIC, ""
        return
    disabled = consolidation_disabled(candidate)
    if disabled:
        yield FilterCode.NEVER, disabled
    if candidate.is_buffered:
        yield FilterCode.BUFFER, f'Node "{candidate.node.name}" has buffer pods'
    if not candidate.is_empty:
        yield FilterCode.NOT_EMPTY, ""
    if not candidate.claim.is_true(CONSOLIDATABLE):
        yield FilterCode.NOT_CONSOLIDATABLE, ""


def refuse(candidate: Candidate) -> tuple[str, str] | None:
    """Return the reason why Emptiness skips a node, as code and Karpenter's message, or None."""
    return next(missing_conditions(candidate), None)


def by_savings(candidates: Iterable[Candidate], chance: Chance = LIKELIEST) -> list[Candidate]:
    """Return candidates by savings per disruption cost, greatest first; Karpenter orders equal ones randomly."""
    return sorted(chance.nodes(candidates), key=lambda candidate: -candidate.savings_ratio)


def within_budgets(candidates: Iterable[Candidate], budgets: Mapping[str, int]) -> list[Candidate]:
    """Return the candidates that their NodePools' budgets allow, in order."""
    left = dict(budgets)
    chosen: list[Candidate] = []
    for candidate in candidates:
        if left.get(candidate.pool.name, 0):
            chosen.append(candidate)
            left[candidate.pool.name] -= 1
    return chosen


def compute(
    candidates: Iterable[Candidate], budgets: Mapping[str, int], chance: Chance = LIKELIEST
) -> tuple[Command, ...]:
    """Return the command that deletes all empty nodes that the budgets allow."""
    chosen = within_budgets(by_savings(candidates, chance), budgets)
    return (Command(tuple(chosen)),) if chosen else ()


def as_likely(chosen: Sequence[Candidate], candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates of equal savings that budgets leave out: Karpenter may take them instead of chosen ones."""
    taken = {candidate.name for candidate in chosen}
    equal = {(candidate.pool.name, candidate.savings_ratio) for candidate in chosen}
    return [
        candidate
        for candidate in candidates
        if candidate.name not in taken and (candidate.pool.name, candidate.savings_ratio) in equal
    ]


class QuietPeriod(msgspec.Struct, frozen=True, gc=False):
    """A node's wait before consolidation."""

    since_ns: int
    """When a pod last came or went; without any, when the node was initialized."""
    until_ns: int
    """When the node becomes consolidatable if no pod comes or goes until then."""
    has_pod_event: bool
    """Whether it starts at a pod change."""


def quiet_period(claim: NodeClaim, pool: NodePool) -> QuietPeriod | None:
    """Return a node's wait, or None if it is not initialized or its NodePool never consolidates.

    With ``0s`` there is no wait, and pod changes do not restart it.
    """
    initialized = claim.condition("Initialized")
    if pool.consolidate_after_ns is None or initialized is None or initialized.status != "True":
        return None
    has_pod_event = claim.last_pod_event_ns != ABSENT_NS
    since_ns = claim.last_pod_event_ns if has_pod_event else initialized.last_transition_ns
    return QuietPeriod(since_ns, since_ns + pool.consolidate_after_ns, has_pod_event)
