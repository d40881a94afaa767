"""Multi-node consolidation: the longest run of nodes, by saving per disruption, that can go together.

Rules: ``pkg/controllers/disruption/multinodeconsolidation.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from karptui.disruption.balanced import BalancedPolicy, MoveScore
from karptui.disruption.candidate import Candidate
from karptui.disruption.chance import LIKELIEST, Chance
from karptui.disruption.command import Command, Decision
from karptui.disruption.consolidation import Consolidator, Refusal, below, unmet_keys
from karptui.disruption.emptiness import by_savings, within_budgets
from karptui.disruption.price import UNREACHABLE
from karptui.disruption.simulation import NewNode
from karptui.karpenter.requirements import Requirements

MAX_TOGETHER: Final = 100
"""Index of the last candidate that is considered, counted from 0."""


def compute(
    candidates: Iterable[Candidate],
    budgets: Mapping[str, int],
    consolidator: Consolidator,
    policy: BalancedPolicy,
    chance: Chance = LIKELIEST,
) -> tuple[Command, ...]:
    """Return the command that removes several nodes, if the search finds one.

    Karpenter's search gives up after a minute; here it always ends.

    Raises:
        SimulationError: when there is no NodePool to schedule with.
    """
    command, scores = _search(within_budgets(by_savings(candidates, chance), budgets), consolidator, policy)
    if scores is not None:
        policy.say(scores)
    return () if command is None else (command,)


def _search(
    candidates: Sequence[Candidate], consolidator: Consolidator, policy: BalancedPolicy
) -> tuple[Command | None, Mapping[str, MoveScore] | None]:
    """Return the last success of the binary search, with the scores that are shown: without one, the last refused."""
    if len(candidates) < 2:
        return None, None
    low, high = 1, min(len(candidates) - 1, MAX_TOGETHER)
    saved: Command | None = None
    saved_scores: Mapping[str, MoveScore] | None = None
    refused_scores: Mapping[str, MoveScore] | None = None
    while low <= high:
        middle = (low + high) // 2
        command = _sensible(consolidator.compute(candidates[: middle + 1]))
        if command is not None:
            scores = policy.scores(command)
            if all(score.is_approved for score in scores.values()):
                saved_scores = scores
            else:
                command, refused_scores = None, scores
        if command is not None:
            saved, low = command, middle + 1
        else:
            high = middle - 1
    return saved, saved_scores if saved is not None else refused_scores


def _sensible(answer: Command | Refusal) -> Command | None:
    """Return the command unless its replacement is of a type that goes and is no cheaper than the one that goes."""
    if isinstance(answer, Refusal):
        return None
    if answer.decision is Decision.DELETE:
        return answer
    replacement = without_same_type(answer.replacements[0], answer.candidates)
    if not replacement.type_names or unmet_keys(replacement):
        return None
    return Command(answer.candidates, (replacement,), answer.simulation)


def without_same_type(node: NewNode, candidates: Sequence[Candidate]) -> NewNode:
    """Drop types that cost no less than the cheapest going node of a type that would also come.

    A type that goes and comes whose price is unknown leaves nothing.
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
