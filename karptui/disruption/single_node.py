"""Single-node consolidation: the first node, by saving per disruption and turn of its NodePool, that can go alone.

Rules: ``pkg/controllers/disruption/singlenodeconsolidation.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest

from karptui.disruption.balanced import BalancedPolicy
from karptui.disruption.candidate import Candidate
from karptui.disruption.chance import LIKELIEST, Chance
from karptui.disruption.command import Command
from karptui.disruption.consolidation import Consolidator
from karptui.disruption.emptiness import by_savings
from karptui.disruption.simulation import SimulationError


def interleaved(candidates: Iterable[Candidate], chance: Chance = LIKELIEST) -> list[Candidate]:
    """Return candidates by turns: the best of each NodePool, then the second of each.

    Likeliest is that the NodePool with the best node begins; chance may let another begin.
    """
    by_pool: dict[str, list[Candidate]] = {}
    for candidate in by_savings(candidates, chance):
        by_pool.setdefault(candidate.pool.name, []).append(candidate)
    rounds = zip_longest(*(by_pool[name] for name in chance.pools(by_pool)))
    return [one for together in rounds for one in together if one is not None]


def compute(
    candidates: Iterable[Candidate],
    budgets: Mapping[str, int],
    consolidator: Consolidator,
    policy: BalancedPolicy,
    chance: Chance = LIKELIEST,
) -> tuple[Command, ...]:
    """Return the command for the first node that can go; why those before it cannot is recorded on the way.

    Karpenter's search gives up after three minutes; here it always ends.
    """
    for candidate in interleaved(candidates, chance):
        if not budgets.get(candidate.pool.name, 0) or not policy.may_pass(candidate):
            continue
        try:
            answer = consolidator.compute((candidate,))
        except SimulationError:
            continue
        if isinstance(answer, Command) and policy.approves_single(answer):
            return (answer,)
    return ()
