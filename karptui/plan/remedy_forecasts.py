"""Forecasts of remedies: savings under budgets, and their duration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from msgspec.structs import replace

from karptui.aws.prices import settings_of
from karptui.forward.result import Played, StepKind
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.plan.rollout import leave_out_alike, rollout
from karptui.whatif.edits.apply import apply
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy
from karptui.whatif.remedies.blockers.trial import Trial
from karptui.whatif.situation import WhatIfBase

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
