"""Runs the advice rules at intervals: findings change slowly, and running all rules takes a moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.report import AdviceReport, Adviser, advise
from karptui.decode.kinds import Kind
from karptui.disruption.analysis_steps import AnalysisSteps
from karptui.provisioning.prepared import Prepared
from karptui.session.cluster_view import ClusterView
from karptui.session.nodeclasses import unread_classes
from karptui.session.prepare import prepare_view

PACE: Final = 20
"""Rest this multiple of the rules' last duration before running them again."""
LOOKED_AT_PACE: Final = 4
"""The same while the advice is on the screen."""
REST_SECONDS: Final = 10.0
"""Shortest rest between two runs, in seconds."""
LOOKED_AT_REST_SECONDS: Final = 2.0
"""The same while the advice is on the screen."""
_ON_THE_WAY = frozenset({"connecting", "syncing", "disconnected"})


class AdviceRounds:
    """Keeps the last report, and knows when the next one is due."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.report: AdviceReport | None = None
        """The last complete one; the same object as long as there is nothing new."""
        self._asked_at = 0.0
        self._cost_seconds = 0.0
        self._asked: tuple[Prepared, ClusterView, AnalysisSteps] | None = None

    def begin(self, prepared: Prepared, view: ClusterView, steps: AnalysisSteps) -> None:
        """Store a cluster for the next run; its nodes are surveyed before the rules run."""
        self._asked = (prepared, view, steps)

    def is_due(self, *, is_looked_at: bool) -> bool:
        """Whether the rules have rested for long enough."""
        if self.report is None:
            return True
        pace, least = (LOOKED_AT_PACE, LOOKED_AT_REST_SECONDS) if is_looked_at else (PACE, REST_SECONDS)
        return self._clock() - self._asked_at > max(least, pace * self._cost_seconds)

    def ask(self) -> Iterator[None]:
        """Ask all rules about the cluster that was taken over, a step for each rule; nothing before there is one."""
        if self._asked is None:
            return
        prepared, view, steps = self._asked
        began = self._clock()
        adviser = Adviser(advice_context(view, prepared, steps))
        for _ in adviser.ask():
            yield
        self._asked_at = self._clock()
        self._cost_seconds = self._asked_at - began
        report = adviser.report
        if self.report is None or not _is_same(self.report, report):
            self.report = report


def _is_same(left: AdviceReport, right: AdviceReport) -> bool:
    if left.failures != right.failures or len(left.findings) != len(right.findings):
        return False
    return all(
        (a.key, a.fact, a.severity, a.objects) == (b.key, b.fact, b.severity, b.objects)
        for a, b in zip(left.findings, right.findings, strict=True)
    )


def advice_context(view: ClusterView, prepared: Prepared, steps: AnalysisSteps) -> AdviceContext:
    """Return the rules' input, from an analysis that has surveyed all nodes."""
    hidden = frozenset(
        kind
        for kind, status in view.statuses.items()
        if status.is_unread or (status.phase in _ON_THE_WAY and not status.count)
    )
    if not unread_classes(view).is_none:
        hidden |= {str(Kind.NODECLASS)}
    return AdviceContext(
        prepared,
        steps.fleet,
        findings=steps.analysis.findings,
        evidence=view.evidence,
        hidden=hidden,
        history=view.state.history,
        usage=view.live_usage,
    )


def advice_of(view: ClusterView, now_ns: int) -> tuple[AdviceReport, tuple[str, ...]]:
    """Return all advice, and the assumptions about instance types; slow, so call it in a thread."""
    prepared, notes = prepare_view(view, now_ns)
    steps = AnalysisSteps(prepared, view.state.generation, prices=view.evidence.price_settings)
    for _ in steps.survey():
        pass
    return advise(advice_context(view, prepared, steps)), notes
