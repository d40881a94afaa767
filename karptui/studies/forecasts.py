"""Forecast of a cluster, or of the cluster with edits, with the drift that they cause and without removed nodes.

Removals of blocked nodes and remedies are forecast as if nothing blocked them: savings under budgets, and the time.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from functools import cached_property
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.aws.prices import settings_of
from karptui.disruption.analysis import NodeFindings
from karptui.disruption.codes import Blocker, Code
from karptui.disruption.joint_saving import MOST_FORECAST_NODES, JointRemoval
from karptui.forward.journal import Journal
from karptui.forward.result import Played, StepKind, shown_of
from karptui.forward.run import HORIZON_NS, forward
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.kube.timestamps import HOUR_NS, NS_PER_SECOND
from karptui.provisioning.reporter import Pause, Reporter, no_pause, silent
from karptui.studies.held_pods import held_premises
from karptui.whatif.drift.drift import with_drift
from karptui.whatif.edits import AnyEdit
from karptui.whatif.edits.apply import apply
from karptui.whatif.launch_premises import refusal_premises
from karptui.whatif.outcome import cost_of_node
from karptui.whatif.remedies.blockers.protected_pods import ends_by_itself
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy
from karptui.whatif.remedies.blockers.trial import Trial
from karptui.whatif.situation import EditedCluster, Situation, WhatIfBase

RUNS: Final = "Karpenter runs: while it is down, nothing is disrupted and nothing launched"
"""Assumption of every forecast."""


class ForecastCluster(msgspec.Struct, frozen=True, eq=False):
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
        only: Container[str] | None = None,
        journal: Journal | None = None,
        reporter: Reporter = silent,
        pause: Pause = no_pause,
    ) -> Played:
        """Return the forecast.

        Args:
            is_instant: Whether launches, drains and pod starts take no time and validation passes.
            seed: Seed of what kube-scheduler and Karpenter leave to chance, and of Karpenter's load.
            seeds: Number of seeds; the answer is the likeliest, with the range.
            simulation_seconds: Duration of one simulated removal by Karpenter's metrics; None if unknown.
            only: Names of the nodes that Karpenter may disrupt voluntarily; None for all.
            journal: Records every change, to restore the cluster at an instant.
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
                only=only,
                journal=journal,
                reporter=lambda done, total: reporter(turn * total + done, count * total),
                pause=pause,
            )
            # Prices of nodes rest on the same assumptions about instance types and prices.
            return msgspec.structs.replace(
                played,
                assumptions=(
                    *played.assumptions,
                    *refusal_premises(self.inventory, self.situation.now_ns),
                    *held_premises(self.situation, {wait.pod for wait in played.waits if wait.until_ns is None}),
                    *self.situation.types.notes,
                ),
                spot_at_on_demand=self._spot_at_on_demand,
            )

        if seeds == 1:
            return play(seed, 0, journal)
        shown = shown_of([play(seed + turn, turn, None) for turn in range(seeds)], seed)
        if journal is not None and shown.spread is not None:
            # Only now it is known which of them is to be shown at any moment.
            play(shown.spread.seed, seeds, journal)
        return shown


def spent(played: Played, until_ns: int) -> float:
    """Return the dollars of a play from its beginning to an instant; after its end it stays as it ended."""
    instants = [*(moment.at_ns for moment in played.series[1:]), until_ns]
    return sum(
        moment.price_per_hour * max(min(end_ns, until_ns) - moment.at_ns, 0) / (HOUR_NS)
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


def forecast_of(base: WhatIfBase, edited: EditedCluster | None = None) -> ForecastCluster:
    """Return a cluster to forecast."""
    if edited is None:
        return ForecastCluster(base, base.inventory)
    return ForecastCluster(edited, with_drift(edited.inventory, base, edited), edited.removed)


def played_with(common: tuple[WhatIfBase, int], edits: Sequence[AnyEdit], reporter: Reporter) -> Played:
    """Forecast a cluster with edits, for ``each``; the cluster and the horizon are common to all."""
    base, horizon_ns = common
    return forecast_of(base, apply(base, edits) if edits else None).play(horizon_ns=horizon_ns, reporter=reporter)


class _Forecasts:
    def __init__(self, base: WhatIfBase, simulation_seconds: float | None = None) -> None:
        """Take the inputs.

        Args:
            base: Its pause is called during forecasts too.
        """
        self._base = base
        self._simulation_seconds = simulation_seconds

    def _play(self, ready: ForecastCluster, names: Collection[str]) -> Played:
        return ready.play(
            simulation_seconds=self._simulation_seconds, only=names, pause=self._base.pause, reporter=self._report
        )

    def _report(self, done: int, total: int) -> None:  # noqa: ARG002 - progress is not shown
        self._base.pause()


class RemedyForecasts(_Forecasts):
    """Forecasts remedies, each compared with the cluster without it.

    In these forecasts Karpenter disrupts only the nodes that remedies free. Otherwise a small difference at the start
    leads to other consolidations elsewhere, whose dollars would be counted for the remedy.
    """

    def of(self, remedies: Sequence[BlockerRemedy], trials: Sequence[Trial]) -> tuple[Trial, ...]:
        """Return trials; a trial that frees nodes at once gets a forecast."""
        if len(self._base.inventory.nodes) > MOST_FORECAST_NODES:
            return tuple(trials)
        nodes = frozenset(name for trial in trials for name in trial.freed)
        before: Played | None = None
        forecast: list[Trial] = []
        for remedy, trial in zip(remedies, trials, strict=True):
            if trial.freed and not trial.is_waiting:
                before = before or self._play(forecast_of(self._base), nodes)
                after = self._play(forecast_of(self._base, apply(self._base, remedy.edits)), nodes)
                forecast.append(self._compared(trial, before, after))
            else:
                forecast.append(trial)
        return tuple(forecast)

    def _compared(self, trial: Trial, before: Played, after: Played) -> Trial:
        base = self._base
        freed = frozenset(trial.freed)
        steps = [step for step in after.steps if freed.intersection(step.nodes)]
        gone, gone_anyway = drained(after, freed), drained(before, freed)
        is_priced = base.has_prices and leave_out_alike(before, after)
        return replace(
            trial,
            freed=tuple(sorted(gone)),
            wait_seconds=seconds_to_last(gone, base.now_ns),
            otherwise_seconds=(
                seconds_to_last({name: gone_anyway[name] for name in gone}, base.now_ns)
                if gone and gone.keys() <= gone_anyway.keys()
                else None
            ),
            saves_per_hour=before.end.price_per_hour - after.end.price_per_hour if is_priced else 0.0,
            unpriced=0 if is_priced else len(gone),
            evictions=sum(step.evictions for step in steps if step.kind is StepKind.DISRUPT),
            lost=sum(len(step.lost) for step in steps if step.kind is StepKind.DISRUPT),
            is_upper_bound=False,
            is_forecast=True,
        )


def drained(played: Played, names: Collection[str] | None = None) -> dict[str, int]:
    """Return when nodes are gone, by name, all of them without ``names``; nodes that stay are left out."""
    drains = [step for step in played.steps if step.kind is StepKind.DRAIN]
    return {name: step.at_ns for step in drains for name in step.nodes if names is None or name in names}


def seconds_to_last(gone: Mapping[str, int], now_ns: int) -> int:
    """Return the seconds until the last of some nodes is gone."""
    return (max(gone.values(), default=now_ns) - now_ns) // NS_PER_SECOND


_LIFTED: Final = frozenset({Code.POD_DND, Code.NODE_DND, Code.PDB_EXHAUSTED, Code.PDB_MULTIPLE})
"""Blockers that the forecast lifts; disruption budgets still apply."""


class RemovalForecasts(_Forecasts):
    """Forecasts removals of blocked nodes.

    Karpenter disrupts only these nodes, and their do-not-disrupt annotations and PodDisruptionBudgets are gone. The
    savings are the difference to a forecast in which it disrupts no node.
    """

    def __init__(
        self, base: WhatIfBase, findings: Mapping[str, NodeFindings], simulation_seconds: float | None = None
    ) -> None:
        """Take the inputs, as for every forecast."""
        super().__init__(base, simulation_seconds)
        self._findings = findings

    def of(self, keys: Collection[str], removal: JointRemoval) -> JointRemoval:
        """Return a joint removal with its forecast savings and time; unchanged if the forecast is uncertain.

        It is uncertain if a protected pod ends automatically, if a node stays blocked, if a node goes with its
        blockers as well, if nodes are still being removed at the end of the forecast, and if more pods are pending
        then. Clusters without prices or of more than `MOST_FORECAST_NODES` nodes get no forecast.
        """
        base = self._base
        findings = {key: self._findings[key] for key in keys if key in self._findings}
        blockers = [blocker for node in findings.values() for blocker in node.blockers if blocker.is_wanted]
        pods = {pod.key: pod for pod in base.inventory.pods}
        is_waiting = any(blocker.code is Code.POD_DND and ends_by_itself(blocker, pods) for blocker in blockers)
        is_too_large = len(base.inventory.nodes) > MOST_FORECAST_NODES
        if is_waiting or is_too_large or len(findings) < len(keys) or not base.has_prices:
            return removal
        before = self._without_disruption
        key_by_name = {node.node_name: key for key, node in findings.items()}
        after = self._play(ForecastCluster(base, _lifted(base.inventory, blockers)), key_by_name.keys())
        gone = drained(after, key_by_name.keys())
        blocked = {node.node for node in after.kept} | {b.node_name for b in blockers if b.code not in _LIFTED}
        staying = key_by_name.keys() - gone.keys()
        if (
            not gone
            or blocked & staying
            or (staying and not after.is_quiescent)
            or after.problem
            or drained(before, key_by_name.keys())
            or after.end.pending > before.end.pending
            or not leave_out_alike(before, after)
        ):
            return removal
        return JointRemoval(
            keys=frozenset(key_by_name[name] for name in gone),
            price_per_hour=sum(findings[key_by_name[name]].price_per_hour or 0.0 for name in gone),
            saves_per_hour=before.end.price_per_hour - after.end.price_per_hour,
            seconds=seconds_to_last(gone, base.now_ns),
        )

    @cached_property
    def _without_disruption(self) -> Played:
        return self._play(forecast_of(self._base), ())


def _lifted(inventory: Inventory, blockers: Collection[Blocker]) -> Inventory:
    """Return a cluster without the do-not-disrupt annotations and PodDisruptionBudgets among some blockers."""
    pods = {blocker.object_key for blocker in blockers if blocker.code is Code.POD_DND}
    nodes = {blocker.node_name for blocker in blockers if blocker.code is Code.NODE_DND}
    pdbs = {key for b in blockers if b.code in (Code.PDB_EXHAUSTED, Code.PDB_MULTIPLE) for key in b.value.split()}
    templates = {
        pod.template: replace(pod.template, annotations=_unprotected(pod.template.annotations))
        for pod in inventory.pods
        if pod.key in pods
    }
    return replace(
        inventory,
        pods=tuple(
            replace(pod, template=templates[pod.template]) if pod.key in pods else pod for pod in inventory.pods
        ),
        nodes=tuple(
            replace(node, annotations=_unprotected(node.annotations)) if node.name in nodes else node
            for node in inventory.nodes
        ),
        pdbs=tuple(pdb for pdb in inventory.pdbs if pdb.key not in pdbs),
    )


def _unprotected(annotations: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in annotations.items() if name != DO_NOT_DISRUPT}
