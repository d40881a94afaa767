"""Nodes that single-node consolidation never evaluates, because it times out after three minutes.

Rules: ``singlenodeconsolidation.go`` and ``multinodeconsolidation.go`` of ``pkg/controllers/disruption``: every
pass begins with the first of the same order, so later nodes are not evaluated in the next pass either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from karptui.disruption.command import Command, Method
from karptui.disruption.consolidation import MAX_TOGETHER, interleaved
from karptui.disruption.events import Recorder
from karptui.disruption.methods import MethodRun
from karptui.disruption.removal import EngineSimulator, assumed_seconds
from karptui.disruption.simulation import SimulationError
from karptui.karpenter.metrics import ControllerMetrics
from karptui.whatif.situation import WhatIfBase

SINGLE_SECONDS: Final = 180.0
"""``SingleNodeConsolidationTimeoutDuration``."""
MULTI_SECONDS: Final = 60.0
"""``MultiNodeConsolidationTimeoutDuration``."""
ASSUMED: Final = (
    "every simulation takes the same time (approximated); Karpenter's takes longer if many pods are pending or evicted",
    "the cluster does not change: after a change Karpenter sorts the nodes again, by their new costs",
    "a NodePool without an evaluated node comes first in the next pass, with its best nodes",
)


class NodeTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A node in the order of single-node consolidation."""

    node: str
    pool_name: str
    place: int
    """From 1."""
    begins_after: float
    """Seconds from the beginning of the pass."""
    is_evaluated: bool
    passed_over: str = ""
    """Why it takes no time: its budget, or a policy; empty if it is simulated."""
    decision: str = ""
    """``delete`` or ``replace`` if Karpenter would remove it in the current state."""
    saves_per_hour: float = 0.0


class ConsolidationPass(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a consolidation pass."""

    per_simulation: float
    """Seconds that one lasts."""
    origin: str
    """Source of the duration: ``given``, ``measured`` or ``assumed``."""
    has_metrics: bool
    """Whether Karpenter's metrics are known; recordings hold none."""
    turns: tuple[NodeTurn, ...]
    """In their order."""
    multi_simulations: int
    """Most simulations of a multi-node pass."""
    multi_left_out: int
    """Candidates that multi-node consolidation never evaluates, because it takes the first 101 only."""
    timeouts: Mapping[str, int]
    """Passes that timed out by Karpenter's metrics, by ``single`` and ``multi``; empty if unknown."""
    assumed: tuple[str, ...] = ASSUMED

    @property
    def missed(self) -> tuple[NodeTurn, ...]:
        """Nodes that are never evaluated."""
        return tuple(turn for turn in self.turns if not turn.is_evaluated)

    @property
    def missed_savings(self) -> float:
        """Savings per hour from removable nodes that were not evaluated."""
        return sum(turn.saves_per_hour for turn in self.missed)

    @property
    def seconds(self) -> float:
        """Duration of a complete pass."""
        return self.per_simulation * sum(1 for turn in self.turns if not turn.passed_over)

    @property
    def acts_before(self) -> NodeTurn | None:
        """The first evaluated node that is removed: it ends the pass."""
        return next((turn for turn in self.turns if turn.is_evaluated and turn.decision), None)

    @property
    def is_starved(self) -> bool:
        """Whether removable nodes are never evaluated, because no node before them is removed, so none moves up."""
        return self.acts_before is None and any(turn.decision for turn in self.missed)

    @property
    def is_multi_through(self) -> bool:
        """Whether multi-node consolidation ends in its minute."""
        return self.multi_simulations * self.per_simulation <= MULTI_SECONDS


def measured_seconds(metrics: ControllerMetrics | None, candidates: int) -> float | None:
    """Return the mean duration of a simulation by Karpenter's metrics; None if unknown.

    Without the number of simulations, a mean pass is assumed to try every candidate; some end early, so this is
    rather
    too low. A timed-out pass gives a lower bound.
    """
    if metrics is None or not candidates:
        return None
    mean = metrics.seconds_per_removal
    if mean is None:
        total, count = metrics.evaluation_seconds.get("single", (0.0, 0))
        mean = total / count / candidates if count else 0.0
    least = SINGLE_SECONDS / candidates if metrics.consolidation_timeouts.get("single") else 0.0
    return max(mean, least) or None


def consolidation_pass(
    base: WhatIfBase,
    *,
    per_simulation: float | None = None,
    metrics: ControllerMetrics | None = None,
) -> ConsolidationPass:
    """Return the progress of a consolidation pass.

    Args:
        per_simulation: Seconds of one simulation; measured or assumed if None.
    """
    run = MethodRun(base.fleet, EngineSimulator(base.prepared, base.fleet), Recorder())
    method = Method.SINGLE_NODE
    candidates = interleaved(run.qualifying(method))
    budgets = run.budgets(method.reason)
    measured = measured_seconds(metrics, len(candidates)) if per_simulation is None else None
    seconds = per_simulation or measured or assumed_seconds(len(base.inventory.nodes))
    turns = []
    elapsed = 0.0
    for place, candidate in enumerate(candidates, 1):
        passed_over = "its budget allows none" if not budgets.get(candidate.pool.name, 0) else ""
        if not passed_over and not run.policy.may_pass(candidate):
            passed_over = "the Balanced policy allows no removal of it"
        is_evaluated = elapsed <= SINGLE_SECONDS
        answer: object = None
        if not passed_over:
            try:
                answer = run.consolidator.compute((candidate,))
            except SimulationError:
                answer = None
        command = answer if isinstance(answer, Command) and run.policy.approves_single(answer) else None
        turns.append(
            NodeTurn(
                node=candidate.node.node_name,
                pool_name=candidate.pool.name,
                place=place,
                begins_after=round(elapsed, 3),
                is_evaluated=is_evaluated,
                passed_over=passed_over,
                decision=str(command.decision) if command is not None else "",
                saves_per_hour=command.savings if command is not None else 0.0,
            )
        )
        elapsed += 0.0 if passed_over else seconds
    together = min(sum(1 for candidate in candidates if budgets.get(candidate.pool.name, 0)), MAX_TOGETHER + 1)
    return ConsolidationPass(
        per_simulation=seconds,
        origin="given" if per_simulation else "measured" if measured else "assumed",
        has_metrics=metrics is not None,
        turns=tuple(turns),
        multi_simulations=(together - 1).bit_length() if together > 1 else 0,
        multi_left_out=max(len(candidates) - MAX_TOGETHER - 1, 0),
        timeouts=dict(metrics.consolidation_timeouts) if metrics is not None else {},
        assumed=ASSUMED,
    )
