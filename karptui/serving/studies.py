"""Studies and forecasts: long questions, each answered one at a time in the thread that asks."""

# ruff: noqa: PLC0415 - the first rows wait for no engine: each is imported in the thread that asks

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from karptui.errors import RequestError
from karptui.session.answers import AnswerT, Forecast, PlanText, Progress, StudyAnswer
from karptui.session.readiness import unsimulated_because
from karptui.session.throttle import ThreadThrottle

if TYPE_CHECKING:
    from pathlib import Path

    from karptui.actions.action import Action, Document
    from karptui.forward.result import Moment, Played
    from karptui.provisioning.reporter import Pause, Reporter
    from karptui.session.cluster_view import ClusterView
    from karptui.session.moments import PlayCache
    from karptui.session.replays import SharedBase
    from karptui.session.sweeper import Sweeper
    from karptui.sources.source import Source
    from karptui.studies.actions import Expected
    from karptui.studies.forecasts import ForecastCluster
    from karptui.studies.rightsize import RightSize
    from karptui.whatif.scenario import Replay, Scenario
    from karptui.whatif.situation import WhatIfBase
    from karptui.whatif.sweep import Sweep, SweepResult

MOST_JOBS: Final = 8
"""Most processes of a sweep; each holds a copy of the cluster."""


class OneAtATime:
    """Runs one long question at a time, in the thread that asks."""

    def __init__(self) -> None:
        self._throttle = ThreadThrottle()
        self._numbers = itertools.count(1)
        self._newest = 0
        self._progress = Progress()
        self._name = ""
        """The part of the question that is running."""

    def progress(self) -> Progress:
        return self._progress

    def cancel(self) -> None:
        self._newest = next(self._numbers)
        self._progress = Progress()

    def _run(self, work: Callable[[Pause, Reporter], AnswerT]) -> AnswerT | None:
        """Return the answer to a question; None if it was cancelled."""
        from karptui.provisioning.reporter import Cancelled

        self.cancel()
        number = self._newest

        def pause() -> None:
            if self._newest != number:
                raise Cancelled
            self._throttle.take()

        def report(done: int, total: int) -> None:
            pause()
            self._progress = Progress(done, total, self._name)

        try:
            return work(pause, report)
        except Cancelled:
            return None


class Studies(OneAtATime):
    """Answers one study at a time."""

    def __init__(self, view: Callable[[], ClusterView], source: Callable[[], Source | None] = lambda: None) -> None:
        super().__init__()
        self._view = view
        self._source = source
        self._sweeper: Sweeper | None = None
        """The running sweep."""

    def sweep(self, sweep: Sweep, replay: Replay, now_ns: int) -> StudyAnswer[SweepResult]:
        from karptui.session.sweeper import Sweeper
        from karptui.whatif.sweep import SweepResult, mode_for

        def swept(base: WhatIfBase, reporter: Reporter) -> SweepResult:
            mode, count = mode_for(base, sweep, replay), len(sweep.values)
            self._sweeper = sweeper = Sweeper(base, sweep, mode, min(MOST_JOBS, os.cpu_count() or 1))
            points = []
            try:
                reporter(0, count)
                for position, point in sweeper.points():
                    points.append((position, point))
                    reporter(len(points), count)
            finally:
                sweeper.cancel()
            reporter(len(points), count)  # cancelled meanwhile if there are fewer
            return SweepResult(sweep, mode, tuple(point for _, point in sorted(points, key=lambda pair: pair[0])))

        return self.answer(swept, now_ns)

    def cancel(self) -> None:
        super().cancel()
        if self._sweeper is not None:
            self._sweeper.cancel()

    def rightsize(self, history: Path | None, horizon_ns: int, now_ns: int) -> StudyAnswer[RightSize]:
        from karptui.session.rightsizing import live_vpas, recommendations_of
        from karptui.studies.rightsize import rightsize

        used = {key: pod_usage.latest.memory_bytes for key, pod_usage in self._view().live_usage.pods.items()}

        def sized(base: WhatIfBase, reporter: Reporter) -> RightSize:
            recommendations = recommendations_of(base.inventory, live_vpas(self._source()), history, now_ns)
            return rightsize(base, recommendations, used, horizon_ns=horizon_ns, reporter=reporter)

        return self.answer(sized, now_ns)

    def expected(
        self, actions: Sequence[tuple[Action, Document | None]], horizon_ns: int, now_ns: int
    ) -> StudyAnswer[Expected]:
        from karptui.studies.actions import expected

        return self.answer(partial(expected, actions=actions, horizon_ns=horizon_ns), now_ns)

    def moment(self, now_ns: int) -> StudyAnswer[Moment]:
        from karptui.studies.actions import moment_of

        return self.answer(lambda base, **_: moment_of(base), now_ns)

    def answer(self, work: Callable[..., AnswerT], now_ns: int) -> StudyAnswer[AnswerT]:
        from karptui.session.prepare import base_of

        view = self._view()
        if reason := unsimulated_because(view.state.unread):
            return StudyAnswer(problem=reason)
        try:
            # A separate base: what-ifs share theirs, and the two would wait for each other.
            run = self._run(lambda pause, report: work(base_of(view, now_ns, pause), reporter=report))
        except RequestError as error:
            return StudyAnswer(problem=str(error))
        return StudyAnswer(run)


class Forecasts(OneAtATime):
    """Simulations of the cluster over time, one at a time."""

    def __init__(self, view: Callable[[], ClusterView], shared_base: SharedBase, kept: PlayCache) -> None:
        super().__init__()
        self._view = view
        self._simulated: ClusterView | None = None
        """The cluster that the last forecasts began from."""
        self._shared_base = shared_base
        self._kept = kept

    def play(self, scenarios: Sequence[Scenario], horizon_ns: int, seeds: int, now_ns: int) -> tuple[Forecast, ...]:
        view = self._simulated = self._view()
        if reason := unsimulated_because(view.state.unread):
            return (Forecast(name="", problem=reason),)

        def forecast(scenario: Scenario | None, report: Reporter) -> Forecast:
            return self._forecast(view, scenario, report, horizon_ns=horizon_ns, seeds=seeds, now_ns=now_ns)

        return self._run(lambda _, report: tuple(forecast(scenario, report) for scenario in (None, *scenarios))) or ()

    def plan(self, scenario: Scenario, now: Played, edited: Played) -> PlanText | None:
        from karptui.studies.plan import plan_of
        from karptui.views.plan import plan_text

        def planned(_: Pause, report: Reporter) -> PlanText:
            self._name = scenario.name
            with self._shared_base.borrowed(self._simulated or self._view(), now.from_ns) as base:
                return plan_text(scenario.name, scenario.edits, plan_of(base, scenario.edits, now, edited, report))

        return self._run(planned)

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
        from karptui.session.moments import CachedPlay, lasting
        from karptui.whatif.edits import EditError, TakeOut

        name = self._name = scenario.name if scenario is not None else ""
        try:
            ready = self._ready(view, scenario, now_ns)
        except EditError as error:
            return Forecast(name=name, problem=str(error))
        journal = Journal()
        played = ready.play(
            horizon_ns=horizon_ns,
            seeds=seeds,
            simulation_seconds=view.evidence.seconds_per_removal,
            journal=journal,
            reporter=report,
            pause=self._throttle.take,
        )
        has_outage = any(isinstance(edit, TakeOut) for edit in scenario.edits) if scenario is not None else False
        kept = CachedPlay(ready.inventory, journal, lasting(view.evidence, ready.situation), has_outage)
        return Forecast(name=name, played=played, number=self._kept.keep(kept))

    def _ready(self, view: ClusterView, scenario: Scenario | None, now_ns: int) -> ForecastCluster:
        """Return a rollout; only preparing it uses the shared base."""
        from karptui.studies.forecasts import forecast_of
        from karptui.whatif.edits.apply import apply

        with self._shared_base.borrowed(view, now_ns) as base:
            return forecast_of(base, apply(base, scenario.edits) if scenario is not None else None)
