"""Single-node consolidation: the first node that can be removed alone, by savings per disruption cost and NodePool.

Rules: ``pkg/controllers/disruption/singlenodeconsolidation.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest

from karptui.disruption.balanced import BalancedPolicy
from karptui.disruption.candidate import LIKELIEST, Candidate, Chance
from karptui.disruption.command import Command
from karptui.disruption.consolidation import Consolidator
from karptui.disruption.emptiness import by_savings
from karptui.disruption.simulation import SimulationError


def interleaved(candidates: Iterable[Candidate], chance: Chance = LIKELIEST) -> list[Candidate]:
    """Return candidates round-robin: the best of each NodePool, then the second best of each.

    By default the NodePool with the best node is first; ``chance`` may choose another.
    """
    by_pool: dict[str, list[Candidate]] = {}
    for candidate in by_savings(candidates, chance):
        by_pool.setdefault(candidate.pool.name, []).append(candidate)
    rounds = zip_longest(*(by_pool[name] for name in chance.pools(by_pool)))
    return [candidate for together in rounds for candidate in together if candidate is not None]


def compute(
    candidates: Iterable[Candidate],
    budgets: Mapping[str, int],
    consolidator: Consolidator,
    policy: BalancedPolicy,
    chance: Chance = LIKELIEST,
) -> tuple[Command, ...]:
    """Return the command for the first node that can be removed, and record why the ones before it cannot.

    Karpenter's search stops after three minutes; here it always completes.
    """
    for candidate in interleaved(candidates, chance):
        if not budgets.get(candidate.pool.name, 0) or not policy.may_pass(candidate):
            continue
        try:
            result = consolidator.compute((candidate,))
        except SimulationError:
            continue
        if isinstance(result, Command) and policy.approves_single(result):
            return (result,)
    return ()
