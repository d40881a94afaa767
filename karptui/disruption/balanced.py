"""Scoring of the Balanced policy: fraction of the NodePool's cost saved over the fraction of its disruption cost.

Rules: ``pkg/controllers/disruption/balanced.go``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from karptui.disruption.candidate import Candidate
from karptui.disruption.command import Command
from karptui.disruption.events import CONSOLIDATION_APPROVED, Recorder
from karptui.disruption.fleet import Fleet
from karptui.karpenter.nodepool import BALANCED
from karptui.kube.group import group_by

K: Final = 2
"""Accepted ratio of disruption to savings: a constant of Karpenter."""
THRESHOLD: Final = 1 / K


class PoolTotals(msgspec.Struct, frozen=True, gc=False):
    """The totals that a NodePool's scores are relative to."""

    cost_per_hour: float
    disruption: float
    """Sum of the disruption costs of all its nodes, including blocked ones."""


class MoveScore(msgspec.Struct, frozen=True, gc=False):
    """The score of a move in a NodePool."""

    savings_fraction: float
    disruption_fraction: float

    @property
    def value(self) -> float:
        """The score: 0 without savings, infinity without disruption."""
        if self.savings_fraction <= 0:
            return 0.0
        return math.inf if self.disruption_fraction == 0 else self.savings_fraction / self.disruption_fraction

    @property
    def is_approved(self) -> bool:
        """Whether it reaches the threshold."""
        return self.value >= THRESHOLD

    def message(self) -> str:
        """Return Karpenter's message for an approval."""
        savings, disruption = self.savings_fraction * 100, self.disruption_fraction * 100
        return (
            f"score {self.value:.2f} >= threshold {THRESHOLD:.2f} (k: {K}, savings {savings:.1f}%,"
            f" disruption {disruption:.1f}%)"
        ).replace("inf", "+Inf")


def score_move(savings: float, disruption: float, totals: PoolTotals) -> MoveScore:
    """Return the score of a move with these savings and this disruption cost in a NodePool."""
    if totals.cost_per_hour <= 0 or totals.disruption <= 0:
        return MoveScore(0.0, 0.0)
    return MoveScore(savings / totals.cost_per_hour, disruption / totals.disruption)


def pool_totals(fleet: Fleet, candidates: Sequence[Candidate], *, of_every_pool: bool = False) -> dict[str, PoolTotals]:
    """Return the totals of the NodePools that have candidates.

    Args:
        candidates: Nodes that passed the gates, before a method's own filter.
        of_every_pool: Whether to include NodePools without candidates.
    """
    by_name = {candidate.name: candidate for candidate in candidates}
    fallback: dict[str, float] = dict.fromkeys(fleet.pools, 0.0) if of_every_pool else {}
    for candidate in candidates:
        fallback[candidate.pool.name] = fallback.get(candidate.pool.name, 0.0) + candidate.price
    disruption: dict[str, float] = {}
    for node in fleet.nodes:
        pool = node.nodepool_name
        if pool in fallback:
            member = by_name.get(node.name)
            cost = member.disruption_cost if member is not None else fleet.disruption_cost(node)
            disruption[pool] = disruption.get(pool, 0.0) + cost
    return {
        pool: PoolTotals(fleet.pool_costs.get(pool, 0.0) or candidate_cost, disruption.get(pool, 0.0))
        for pool, candidate_cost in fallback.items()
    }


class BalancedPolicy:
    """Scores moves against the NodePools' totals at the start of a pass."""

    def __init__(self, totals: Mapping[str, PoolTotals], recorder: Recorder) -> None:
        self._totals = totals
        self._recorder = recorder

    def may_pass(self, candidate: Candidate) -> bool:
        """Return whether deleting the node without replacement, its best case, would reach the threshold."""
        if candidate.pool.consolidation_policy != BALANCED:
            return True
        totals = self._totals.get(candidate.pool.name)
        if totals is None or totals.cost_per_hour <= 0:
            return True
        return score_move(candidate.price, candidate.disruption_cost, totals).is_approved

    def scores(self, command: Command) -> dict[str, MoveScore]:
        """Return a command's score in each of its Balanced NodePools."""
        by_pool = group_by(command.candidates, lambda candidate: candidate.pool.name)
        savings, source = command.savings, command.source_price
        scores: dict[str, MoveScore] = {}
        for pool, members in by_pool.items():
            if members[0].pool.consolidation_policy != BALANCED:
                continue
            share = savings
            if source > 0 and len(by_pool) > 1:
                share = savings * (sum(candidate.price for candidate in members) / source)
            disruption = sum(candidate.disruption_cost for candidate in members)
            scores[pool] = score_move(share, disruption, self._totals[pool])
        return scores

    def approves_single(self, command: Command) -> bool:
        """Return whether a one-node move is approved, and publish Karpenter's event if it was scored."""
        for score in self.scores(command).values():
            if not score.is_approved:
                return False
            self._recorder.about_node(command.candidates[0].node, CONSOLIDATION_APPROVED, score.message())
        return True

    def publish_approvals(self, scores: Mapping[str, MoveScore]) -> None:
        """Publish the approvals of a move of several nodes."""
        for pool, score in scores.items():
            if score.is_approved:
                self._recorder.publish("NodePool", pool, CONSOLIDATION_APPROVED, score.message())
