"""Multi-node consolidation: the longest prefix of nodes, by savings per disruption cost, that can be removed together.

Rules: ``pkg/controllers/disruption/multinodeconsolidation.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from karptui.disruption.balanced import BalancedPolicy, MoveScore
from karptui.disruption.candidate import LIKELIEST, Candidate, Chance
from karptui.disruption.command import Command, Decision
from karptui.disruption.consolidation import Consolidator, Refusal, below, unmet_keys
from karptui.disruption.emptiness import by_savings, within_budgets
from karptui.disruption.price import UNREACHABLE
from karptui.disruption.simulation import NewNode
from karptui.karpenter.requirements import Requirements

MAX_TOGETHER: Final = 100
"""Index of the last candidate considered, from 0."""


def compute(
    candidates: Iterable[Candidate],
    budgets: Mapping[str, int],
    consolidator: Consolidator,
    policy: BalancedPolicy,
    chance: Chance = LIKELIEST,
) -> tuple[Command, ...]:
    """Return the command that removes several nodes, if there is one.

    Karpenter's search stops after a minute; here it always completes.

    Raises:
        SimulationError: If there is no NodePool to schedule with.
    """
    command, scores = _search(within_budgets(by_savings(candidates, chance), budgets), consolidator, policy)
    if scores is not None:
        policy.publish_approvals(scores)
    return () if command is None else (command,)


def _search(
    candidates: Sequence[Candidate], consolidator: Consolidator, policy: BalancedPolicy
) -> tuple[Command | None, Mapping[str, MoveScore] | None]:
    """Return the last success of the binary search and its scores; without success, the last rejected scores."""
    if len(candidates) < 2:
        return None, None
    low, high = 1, min(len(candidates) - 1, MAX_TOGETHER)
    best: Command | None = None
    best_scores: Mapping[str, MoveScore] | None = None
    refused_scores: Mapping[str, MoveScore] | None = None
    while low <= high:
        middle = (low + high) // 2
        command = _unless_same_type(consolidator.compute(candidates[: middle + 1]))
        if command is not None:
            scores = policy.scores(command)
            if all(score.is_approved for score in scores.values()):
                best_scores = scores
            else:
                command, refused_scores = None, scores
        if command is not None:
            best, low = command, middle + 1
        else:
            high = middle - 1
    return best, best_scores if best is not None else refused_scores


def _unless_same_type(result: Command | Refusal) -> Command | None:
    """Return the command unless its replacement is of the same type as a removed node and no cheaper."""
    if isinstance(result, Refusal):
        return None
    if result.decision is Decision.DELETE:
        return result
    replacement = without_same_type(result.replacements[0], result.candidates)
    if not replacement.type_names or unmet_keys(replacement):
        return None
    return Command(result.candidates, (replacement,), result.simulation)


def without_same_type(node: NewNode, candidates: Sequence[Candidate]) -> NewNode:
    """Return a replacement without types that cost at least as much as the cheapest removed node of a shared type.

    If a shared type's price is unknown, no type remains.
    """
    prices: dict[str, float] = {}
    going = {candidate.type_name for candidate in candidates}
    for candidate in candidates:
        labels = Requirements.from_labels(candidate.node.labels)
        price = candidate.book.cheapest(candidate.type_name, labels, available_only=False)
        if price < prices.get(candidate.type_name, UNREACHABLE):
            prices[candidate.type_name] = price
    ceiling = min((prices.get(name, 0.0) for name in node.type_names if name in going), default=UNREACHABLE)
    return below(node, ceiling)
