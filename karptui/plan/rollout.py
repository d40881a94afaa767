"""Forecast of a cluster, or of the cluster with edits, with the drift that they cause and without removed nodes."""

from __future__ import annotations

import msgspec

from karptui.aws.prices import settings_of
from karptui.forward.journal import Journal
from karptui.forward.result import Played
from karptui.forward.run import HORIZON_NS, forward
from karptui.forward.spread import shown_of
from karptui.karpenter.inventory import Inventory
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.reporter import Pause, Reporter, no_pause, silent
from karptui.whatif.drift.drift import with_drift
from karptui.whatif.situation import EditedCluster, Situation, WhatIfBase


class Rollout(msgspec.Struct, frozen=True, eq=False):
    """A cluster that is ready to be forecast."""

    situation: Situation
    inventory: Inventory
    removed: tuple[str, ...] = ()
    """Names of nodes that the edits take away."""

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
            notes = self.situation.types.notes
            return msgspec.structs.replace(played, assumptions=(*played.assumptions, *notes)) if notes else played

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
