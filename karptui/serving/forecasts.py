"""Forecasts: the cluster as it is, and with scenarios, simulated over time."""

# ruff: noqa: PLC0415 - the first rows wait for no engine: each is imported in the thread that asks

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from karptui.serving.one_at_a_time import OneAtATime
from karptui.session.answers import Forecast

if TYPE_CHECKING:
    from karptui.plan.rollout import Rollout
    from karptui.provisioning.reporter import Reporter
    from karptui.session.cluster_view import ClusterView
    from karptui.session.moments import KeptPlays
    from karptui.session.replays import SharedBase
    from karptui.whatif.scenario import Scenario


class Forecasts(OneAtATime):
    """Simulations of the cluster over time, one at a time."""

    def __init__(self, view: Callable[[], ClusterView], shared_base: SharedBase, kept: KeptPlays) -> None:
        """Begin without any.

        Args:
            view: Returns the newest generation of the cluster.
            shared_base: The cluster prepared for what-ifs, which forecasts start from.
            kept: Gets every forecast, so that its moments can be opened.
        """
        super().__init__()
        self._view = view
        self._shared_base = shared_base
        self._kept = kept

    def play(self, scenarios: Sequence[Scenario], horizon_ns: int, seeds: int, now_ns: int) -> tuple[Forecast, ...]:
        """Simulate the cluster as it is, and with each scenario; nothing if cancelled."""
        view = self._view()

        def forecast(scenario: Scenario | None, report: Reporter) -> Forecast:
            return self._forecast(view, scenario, report, horizon_ns=horizon_ns, seeds=seeds, now_ns=now_ns)

        return self._run(lambda _, report: tuple(forecast(scenario, report) for scenario in (None, *scenarios))) or ()

    def _forecast(
        self,
        view: ClusterView,
        scenario: Scenario | None,
        report: Reporter,
        *,
        horizon_ns: int,
        seeds: int,
        now_ns: int,
    ) -> Forecast:
        from karptui.forward.journal import Journal
        from karptui.session.moments import KeptPlay, lasting
        from karptui.whatif.edits import EditError, TakeOut

        name = self._name = scenario.name if scenario is not None else ""
        try:
            ready = self._ready(view, scenario, now_ns)
        except EditError as error:
            return Forecast(name=name, problem=str(error))
        journal = Journal()
        metrics = view.evidence.metrics
        played = ready.play(
            horizon_ns=horizon_ns,
            seeds=seeds,
            simulation_seconds=metrics.seconds_per_removal if metrics is not None else None,
            journal=journal,
            reporter=report,
            pause=self._turns.take,
        )
        has_outage = any(isinstance(edit, TakeOut) for edit in scenario.edits) if scenario is not None else False
        kept = KeptPlay(ready.inventory, journal, lasting(view.evidence, ready.situation), has_outage)
        return Forecast(name=name, played=played, number=self._kept.keep(kept))

    def _ready(self, view: ClusterView, scenario: Scenario | None, now_ns: int) -> Rollout:
        """Return a rollout; only preparing it shares the base, the simulation has a cluster of its own."""
        from karptui.plan.rollout import rollout
        from karptui.whatif.edits.apply import apply

        with self._shared_base.borrowed(view, now_ns) as base:
            return rollout(base, apply(base, scenario.edits) if scenario is not None else None)
