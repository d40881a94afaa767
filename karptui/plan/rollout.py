"""Forecast of a cluster, or of the cluster with edits, with the drift that they cause and without removed nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.aws.prices import settings_of
from karptui.forward.journal import Journal
from karptui.forward.result import Played, StepKind, shown_of
from karptui.forward.run import HORIZON_NS, forward
from karptui.karpenter.inventory import Inventory
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.reporter import Pause, Reporter, no_pause, silent
from karptui.whatif.drift.drift import with_drift
from karptui.whatif.edits.apply import apply
from karptui.whatif.outcome import cost_of_node
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy
from karptui.whatif.remedies.blockers.trial import Trial
from karptui.whatif.situation import EditedCluster, Situation, WhatIfBase


class Rollout(msgspec.Struct, frozen=True, eq=False):
    """A cluster that is ready to be forecast."""

    situation: Situation
    inventory: Inventory
    removed: tuple[str, ...] = ()
    """Names of nodes that the edits take away."""

    @property
    def _spot_at_on_demand(self) -> int:
        """Spot nodes whose price is not known."""
        situation = self.situation
        costs = (
            cost_of_node(situation.prices, situation.books, state)
            for state in situation.prepared.states
            if state.claim is not None
        )
        return sum(cost.at_most_per_hour is not None for cost in costs)

    def play(
        self,
        *,
        horizon_ns: int = HORIZON_NS,
        is_instant: bool = False,
        seed: int = 0,
        seeds: int = 1,
        simulation_seconds: float | None = None,
        journal: Journal | None = None,
        reporter: Reporter = silent,
        pause: Pause = no_pause,
    ) -> Played:
        """Return the forecast.

        Args:
            horizon_ns: Its length.
            is_instant: Whether launches, drains and pod starts take no time and validation passes.
            seed: Seed of what kube-scheduler and Karpenter leave to chance, and of Karpenter's load.
            seeds: Number of seeds; the answer is the likeliest, with the range.
            simulation_seconds: Duration of one simulated removal by Karpenter's metrics; None if unknown.
            journal: Records every change, to restore the cluster at an instant.
            reporter: Called with the passed and the total seconds of all seeds; may raise ``Cancelled``.
            pause: Called now and then during computation.

        Raises:
            Cancelled: The reporter cancelled.
        """
        count = seeds + 1 if journal is not None and seeds > 1 else seeds

        def play(number: int, turn: int, journal: Journal | None) -> Played:
            played = forward(
                self.inventory,
                self.situation.types.types,
                self.situation.settings,
                self.situation.now_ns,
                horizon_ns=horizon_ns,
                is_instant=is_instant,
                seed=number,
                simulation_seconds=simulation_seconds,
                removed=self.removed,
                refused_until_ns=self.situation.types.refused_until_ns,
                has_prices=self.situation.has_prices,
                prices=settings_of(self.situation.prices),
                journal=journal,
                reporter=_part(reporter, turn, count),
                pause=pause,
            )
            # What was assumed about instance types and prices is assumed in what nodes cost here, too.
            return msgspec.structs.replace(
                played,
                assumptions=(*played.assumptions, *self.situation.types.notes),
                spot_at_on_demand=self._spot_at_on_demand,
            )

        if seeds == 1:
            return play(seed, 0, journal)
        shown = shown_of([play(seed + turn, turn, None) for turn in range(seeds)], seed)
        if journal is not None and shown.spread is not None:
            # Only now it is known which of them is to be shown at any moment.
            play(shown.spread.seed, seeds, journal)
        return shown


def _part(reporter: Reporter, number: int, count: int) -> Reporter:
    """Return the reporter of one forecast of several."""
    return lambda done, total: reporter(number * total + done, count * total)


def spent(played: Played, until_ns: int) -> float:
    """Return the dollars of a play from its beginning to an instant; after its end it stays as it ended."""
    instants = [*(moment.at_ns for moment in played.series[1:]), until_ns]
    return sum(
        moment.price_per_hour * max(min(end_ns, until_ns) - moment.at_ns, 0) / (3600 * NS_PER_SECOND)
        for moment, end_ns in zip(played.series, instants, strict=True)
    )


def leave_out_alike(*plays: Played) -> bool:
    """Return whether dollars of plays can be compared, with each other and over time.

    They can where the same number of nodes has no price at every moment.
    """
    return len({moment.unpriced for played in plays for moment in played.series}) == 1


def most_more_nodes(played: Played, other: Played, until_ns: int) -> int:
    """Return the highest number of nodes that a forecast has more than another at an instant."""
    counts = [played.series[0].nodes, other.series[0].nodes]
    changes = sorted(
        (moment.at_ns, which, moment.nodes)
        for which, play in enumerate((played, other))
        for moment in play.series
        if moment.at_ns <= until_ns
    )
    most = 0
    for place, (at_ns, which, nodes) in enumerate(changes):
        counts[which] = nodes
        if place + 1 == len(changes) or changes[place + 1][0] > at_ns:
            most = max(most, counts[0] - counts[1])
    return most


def rollout(base: WhatIfBase, edited: EditedCluster | None = None) -> Rollout:
    """Return a cluster to forecast.

    Args:
        base: The cluster.
        edited: The cluster with edits; None without.
    """
    if edited is None:
        return Rollout(base, base.inventory)
    return Rollout(edited, with_drift(edited.inventory, base, edited), edited.removed)


MOST_NODES: Final = 150
"""Nodes of the largest cluster whose remedies are played: each play takes seconds there."""


class RemedyForecasts:
    """Forecasts remedies; the cluster without a remedy only once."""

    def __init__(self, base: WhatIfBase, simulation_seconds: float | None = None) -> None:
        """Take the inputs.

        Args:
            base: The cluster.
            simulation_seconds: Duration of one simulated removal by Karpenter's metrics; None if unknown.
        """
        self._base = base
        self._simulation_seconds = simulation_seconds

    def of(self, remedies: Sequence[BlockerRemedy], trials: Sequence[Trial]) -> tuple[Trial, ...]:
        """Return trials, with forecasts of those that free nodes without waiting for pods to end.

        Args:
            remedies: The remedies.
            trials: Their simulated removals.
        """
        is_small = len(self._base.inventory.nodes) <= MOST_NODES
        return tuple(
            self._forecast(remedy, trial) if is_small and trial.freed and not trial.wait_seconds else trial
            for remedy, trial in zip(remedies, trials, strict=True)
        )

    @cached_property
    def _as_it_is(self) -> Played:
        return rollout(self._base).play(simulation_seconds=self._simulation_seconds)

    def _forecast(self, remedy: BlockerRemedy, trial: Trial) -> Trial:
        base, before = self._base, self._as_it_is
        after = rollout(base, apply(base, remedy.edits)).play(simulation_seconds=self._simulation_seconds)
        freed = frozenset(trial.freed)
        steps = [step for step in after.steps if freed.intersection(step.nodes)]
        gone = {
            name: step.at_ns for step in steps if step.kind is StepKind.DRAIN for name in freed.intersection(step.nodes)
        }
        fewer = before.end.nodes - after.end.nodes
        saved = settings_of(base.prices).saved(before.end.price_per_hour - after.end.price_per_hour, fewer)
        is_priced = base.has_prices and leave_out_alike(before, after)
        return replace(
            trial,
            freed=tuple(sorted(gone)),
            wait_seconds=(max(gone.values(), default=base.now_ns) - base.now_ns) // NS_PER_SECOND,
            saves_per_hour=saved if is_priced else 0.0,
            unpriced=0 if is_priced else len(gone),
            evictions=sum(step.evictions for step in steps if step.kind is StepKind.DISRUPT),
            lost=sum(len(step.lost) for step in steps if step.kind is StepKind.DISRUPT),
            is_upper_bound=False,
            is_forecast=True,
        )
