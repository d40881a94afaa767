"""An analyst that works in the test's thread, when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from karptui.disruption.analysis_steps import AnalysisSteps
from karptui.session.analyst import Analyst, _Job
from karptui.session.answers import Focus
from karptui.session.cluster_view import ClusterView
from karptui.session.throttle import ThreadThrottle


class SteppedAnalyst(Analyst):
    """Takes views as the analyst of the app does, and looks at them in ``catch_up``."""

    _work_at_hand: tuple[Iterator[Focus], Focus] | None = None
    """The suspended work, and the focus it has answered."""

    def submit(self, view: ClusterView, now_ns: int, *, prices_come: bool = False) -> None:
        self._thread = threading.current_thread()  # so that none is started
        super().submit(view, now_ns, prices_come=prices_come)

    def catch_up(self) -> None:
        """Do all requested work at once."""
        if self._job is not None:
            job, self._job = self._job, None
            work = self._recorded_work(job)
        elif self._work_at_hand is not None and (self._work_at_hand[1] != self._focus or self._is_asked_for_sums):
            work = self._work_at_hand[0]
        else:
            return
        answered = next(work, None)
        self._work_at_hand = (work, answered) if answered is not None else None

    def _rouse(self) -> None:
        """Wake nobody: it is always at rest."""

    def _is_old(self, steps: AnalysisSteps, key: str, share: float) -> bool:
        return True

    def _forecast_at_rest(self, job: _Job, steps: AnalysisSteps, throttle: ThreadThrottle, focus: Focus) -> None:
        self._forecasts_at = self._clock()
        super()._forecast_at_rest(job, steps, throttle, focus)
