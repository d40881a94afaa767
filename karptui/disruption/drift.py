"""Drift: nodes that no longer match their NodePool or NodeClass are replaced one at a time, longest drifted first.

Rules: ``pkg/controllers/disruption/drift.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from karptui.disruption.candidate import LIKELIEST, Candidate, Chance
from karptui.disruption.command import Command, TerminateFirst
from karptui.disruption.do_not_disrupt import record_active
from karptui.disruption.emptiness import FilterCode
from karptui.disruption.events import Recorder
from karptui.disruption.simulation import Simulator, remove_or_terminate_first
from karptui.karpenter.pod_predicates import PodPredicates

DRIFTED: Final = "Drifted"
"""Condition of a NodeClaim that no longer matches its NodePool or NodeClass."""


def refuse(candidate: Candidate) -> str:
    """Return the reason why Drift skips a node, as a code, or an empty string; Karpenter publishes no event."""
    if candidate.pool.is_static:
        return FilterCode.STATIC
    return "" if candidate.claim.is_true(DRIFTED) else FilterCode.NOT_DRIFTED


def in_order(candidates: Iterable[Candidate], chance: Chance = LIKELIEST) -> list[Candidate]:
    """Return candidates in Drift's order: nodes without reschedulable pods first, then by time of drift.

    Pods of zero cost count. Karpenter orders nodes that drifted at the same time randomly.
    """
    return sorted(
        chance.nodes(candidates), key=lambda candidate: (bool(candidate.reschedulable_pods), _drifted_ns(candidate))
    )


def _drifted_ns(candidate: Candidate) -> int:
    condition = candidate.claim.condition(DRIFTED)
    return condition.last_transition_ns if condition is not None else 0


def as_likely(first: Candidate, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates that Karpenter may take instead of the first: those that drifted at the same time."""
    return [
        candidate
        for candidate in candidates
        if _drifted_ns(candidate) == _drifted_ns(first)
        and bool(candidate.reschedulable_pods) == bool(first.reschedulable_pods)
        and candidate is not first
    ]


def compute(
    candidates: Iterable[Candidate],
    budgets: Mapping[str, int],
    simulator: Simulator,
    predicates: PodPredicates,
    recorder: Recorder,
    *,
    may_terminate_first: bool = False,
    chance: Chance = LIKELIEST,
) -> tuple[Command, ...]:
    """Return the command for the first node whose pods can all be scheduled, with any number of new nodes."""
    for candidate in in_order(candidates, chance):
        if not budgets.get(candidate.pool.name, 0):
            continue
        # The gates stop at the first protected pod; if Drift ignores it, the simulation evaluates the others too.
        record_active(candidate.reschedulable_pods, predicates, recorder)
        simulation, is_first = remove_or_terminate_first(simulator, candidate, may_terminate_first=may_terminate_first)
        if is_first:
            reason = TerminateFirst.NO_RESERVED_CAPACITY
            return (Command((candidate,), simulation=simulation, terminate_first=reason),)
        if simulation.blocking_errors:
            recorder.blocked(candidate.node, simulation.explanation())
            continue
        return (Command((candidate,), simulation.new_nodes, simulation),)
    return ()
