"""Emptiness: nodes without a pod that matters are deleted, all at once, without seeking a place for anything.

Rules: ``pkg/controllers/disruption/emptiness.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karptui.disruption.candidate import Candidate
from karptui.disruption.command import Command
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet

CONSOLIDATABLE = "Consolidatable"


def consolidation_disabled(candidate: Candidate) -> str:
    """Return Karpenter's words where consolidateAfter is ``Never`` or absent, else nothing."""
    if candidate.pool.consolidate_after_ns is not None:
        return ""
    return f'NodePool "{candidate.pool.name}" has consolidation disabled'


def refuse(fleet: Fleet, candidate: Candidate, recorder: Recorder) -> bool:
    """Return whether Emptiness leaves a node alone, and say why where Karpenter does."""
    if candidate.pool.is_static:
        return True
    disabled = consolidation_disabled(candidate)
    if disabled:
        recorder.unconsolidatable(candidate.node, disabled)
        return True
    if candidate.name in fleet.buffered:
        recorder.unconsolidatable(candidate.node, f'Node "{candidate.node.name}" has buffer pods')
        return True
    return not (candidate.is_empty and candidate.claim.is_true(CONSOLIDATABLE))


def by_savings(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates with the greatest saving per disruption first; Karpenter takes equals in any order."""
    return sorted(candidates, key=lambda candidate: (-candidate.savings_ratio, candidate.name))


def within_budgets(candidates: Iterable[Candidate], budgets: Mapping[str, int]) -> list[Candidate]:
    """Return the candidates, in order, that the budgets of their NodePools leave room for."""
    left = dict(budgets)
    chosen: list[Candidate] = []
    for candidate in candidates:
        if left.get(candidate.pool.name, 0):
            chosen.append(candidate)
            left[candidate.pool.name] -= 1
    return chosen


def compute(candidates: Iterable[Candidate], budgets: Mapping[str, int]) -> tuple[Command, ...]:
    """Return the one command that deletes every empty node that the budgets allow."""
    chosen = within_budgets(by_savings(candidates), budgets)
    return (Command(tuple(chosen)),) if chosen else ()
