"""Nodes that single-node consolidation never looks at, as its three minutes are over before their turn comes.

Rules: ``singlenodeconsolidation.go`` and ``multinodeconsolidation.go`` of ``pkg/controllers/disruption``: every
pass begins with the first of the same order: what stands behind the limit is not looked at in the next one either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from karptui.disruption.command import Command, Method
from karptui.disruption.events import Recorder
from karptui.disruption.methods import MethodRun
from karptui.disruption.multi_node import MAX_TOGETHER
from karptui.disruption.removal import EngineSimulator, assumed_seconds
from karptui.disruption.simulation import SimulationError
from karptui.disruption.single_node import interleaved
from karptui.karpenter.metrics import ControllerMetrics
from karptui.provisioning.reporter import Reporter, silent
from karptui.whatif.situation import WhatIfBase

SINGLE_SECONDS: Final = 180.0
"""``SingleNodeConsolidationTimeoutDuration``."""
MULTI_SECONDS: Final = 60.0
"""``MultiNodeConsolidationTimeoutDuration``."""
ASSUMED: Final = (
    "every simulation lasts the same (approximated); Karpenter's lasts longer where many pods wait or move",
    "nothing changes in between: a change of the cluster begins the order anew, by today's costs",
    "a NodePool of which no node was reached begins the next pass: its best nodes are looked at then",
)


class NodeTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A node in the order of single-node consolidation."""

    node: str
    pool_name: str
    place: int
    """From 1."""
    begins_after: float
    """Seconds from the beginning of the pass."""
    is_reached: bool
    passed_over: str = ""
    """Why it costs no time: its budget, or a policy; empty where it is simulated."""
    decision: str = ""
    """``delete`` or ``replace`` where it would go, by today's state."""
    saves_per_hour: float = 0.0


class Unreached(msgspec.Struct, frozen=True, kw_only=True):
    """How far a pass of consolidation comes."""

    per_simulation: float
    """Seconds that one lasts."""
    origin: str
    """Who says so: ``given``, ``measured`` or ``assumed``."""
    has_metrics: bool
    """Whether anything is known of Karpenter's metrics; no recording holds them."""
    turns: tuple[NodeTurn, ...]
    """In their order."""
    multi_simulations: int
    """Simulations that multi-node consolidation needs at most."""
    multi_left_out: int
    """Candidates that multi-node consolidation never looks at, as it takes the first 101 only."""
    timeouts: Mapping[str, int]
    """Passes that Karpenter says it gave up, by ``single`` and ``multi``; empty where it does not say."""
    assumed: tuple[str, ...] = ASSUMED

    @property
    def missed(self) -> tuple[NodeTurn, ...]:
        """Nodes that are never looked at."""
        return tuple(one for one in self.turns if not one.is_reached)

    @property
    def missed_savings(self) -> float:
        """Dollars per hour of those of them that would go."""
        return sum(one.saves_per_hour for one in self.missed)

    @property
    def seconds(self) -> float:
        """How long a whole pass would take."""
        return self.per_simulation * sum(1 for one in self.turns if not one.passed_over)

    @property
    def acts_before(self) -> NodeTurn | None:
        """The first node that would go among those that are reached: then the pass ends with it."""
        return next((one for one in self.turns if one.is_reached and one.decision), None)

    @property
    def is_starved(self) -> bool:
        """Whether nodes that would go are never looked at: no node before them goes, so that none of them moves up."""
        return self.acts_before is None and any(one.decision for one in self.missed)

    @property
    def is_multi_through(self) -> bool:
        """Whether multi-node consolidation ends in its minute."""
        return self.multi_simulations * self.per_simulation <= MULTI_SECONDS


def measured_seconds(metrics: ControllerMetrics | None, candidates: int) -> float | None:
    """Return what one simulation lasts by Karpenter's metrics, on the mean; None where unknown.

    Where it is not said how many were simulated, a mean pass of single-node consolidation is taken to try every
    candidate: some end early, so that it is rather too little. A pass that was given up for lack of time says that its
    limit was too little for all of them.
    """
    if metrics is None or not candidates:
        return None
    mean = metrics.seconds_per_removal
    if mean is None:
        total, count = metrics.evaluation_seconds.get("single", (0.0, 0))
        mean = total / count / candidates if count else 0.0
    least = SINGLE_SECONDS / candidates if metrics.consolidation_timeouts.get("single") else 0.0
    return max(mean, least) or None


def unreached(
    base: WhatIfBase,
    *,
    per_simulation: float | None = None,
    metrics: ControllerMetrics | None = None,
    reporter: Reporter = silent,
) -> Unreached:
    """Return how far a pass of consolidation comes with the cluster as it is.

    Args:
        base: The cluster.
        per_simulation: Seconds that one simulation lasts; measured or assumed where None.
        metrics: What Karpenter says of itself, where that is known.
        reporter: Told of progress; may raise ``Cancelled``.

    Raises:
        Cancelled: when the reporter does.
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
        reporter(place - 1, len(candidates))
        passed_over = "its budget allows none" if not budgets.get(candidate.pool.name, 0) else ""
        if not passed_over and not run.policy.may_pass(candidate):
            passed_over = "the Balanced policy allows no removal of it"
        is_reached = elapsed <= SINGLE_SECONDS
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
                is_reached=is_reached,
                passed_over=passed_over,
                decision=str(command.decision) if command is not None else "",
                saves_per_hour=command.savings if command is not None else 0.0,
            )
        )
        elapsed += 0.0 if passed_over else seconds
    together = min(sum(1 for one in candidates if budgets.get(one.pool.name, 0)), MAX_TOGETHER + 1)
    return Unreached(
        per_simulation=seconds,
        origin="given" if per_simulation else "measured" if measured else "assumed",
        has_metrics=metrics is not None,
        turns=tuple(turns),
        multi_simulations=(together - 1).bit_length() if together > 1 else 0,
        multi_left_out=max(len(candidates) - MAX_TOGETHER - 1, 0),
        timeouts=dict(metrics.consolidation_timeouts) if metrics is not None else {},
        assumed=ASSUMED,
    )
