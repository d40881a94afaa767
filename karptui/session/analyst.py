"""The thread that analyses nodes: the newest generation first, nodes on the screen first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from karptui import crash
from karptui.aws.evidence import NO_EVIDENCE, Evidence, decides_alike
from karptui.session.answers import Focus
from karptui.session.throttle import KEYBOARD, AnalysisThrottle, Keyboard, ThreadThrottle

if TYPE_CHECKING:
    from karptui.advice.report import AdviceReport
    from karptui.disruption.analysis import Analysis
    from karptui.disruption.analysis_steps import AnalysisSteps
    from karptui.disruption.joint_saving import JointRemoval
    from karptui.provisioning.reporter import Reporter
    from karptui.session.advising import AdviceRounds
    from karptui.session.cluster_view import ClusterView
    from karptui.session.pending import PendingQuestions
    from karptui.session.pending_report import PendingAnswer
    from karptui.state.cluster import ClusterState

PUBLISH_SECONDS: Final = 0.2
"""Publish interval in seconds."""
SLOW_PUBLISH_SECONDS: Final = 1.0
"""Publish interval while only off-screen nodes are being simulated, in seconds."""
LEAST_SECONDS: Final = 2.0
"""For how long removals of nodes on the screen are simulated before the next generation may break them off."""
REST_SECONDS: Final = 1.0
"""Longest time for off-screen nodes before a newer generation may interrupt: each generation simulates some."""
REST_SHARE: Final = 0.5
"""And for no longer than this share of what finding all blockers took, so that small clusters stay up to date."""
KEPT_FACTOR: Final = 40.0
"""While the cluster keeps changing, answers are kept for this multiple of the processor time to simulate all nodes."""
KEPT_SECONDS: Final = (2.0, 20.0)
"""Shortest and longest such time, in seconds."""
NEWEST_SHARE: Final = 0.1
"""Weight of the newest simulation in the mean cost of a simulation."""
ON_SCREEN_SHARE: Final = 0.25
"""Nodes in a list on the screen keep their answers for this share of it."""
QUIET_SECONDS: Final = 3.0
"""After this long without a change such nodes are simulated again at once."""
REUSE_SECONDS: Final = 60.0
"""Longest time that answers are reused while no object that engines read has changed: timers matter to them too."""
FORECASTS_REST: Final = 20.0
"""Time without forecasts of removals after some, as a multiple of their duration."""
LONGEST_BACK_OFF_SECONDS: Final = 30.0
"""After failures in a row work begins again after one second, two, four, and no more than this."""
PRICES_SECONDS: Final = 3.0
"""Longest wait for prices and settings, in seconds: without them removals would be simulated twice."""
STALE_SECONDS: Final = 15
"""Re-analyse an unchanged cluster after this many seconds, because timers expire."""


class _Job(NamedTuple):
    view: ClusterView
    now_ns: int
    awaits_prices: bool
    """Whether to find blockers only: removals are simulated once prices are known."""


class Superseded(Exception):  # noqa: N818 - not an error
    """A newer view is waiting to be evaluated."""


class _FocusChanged(Exception):  # noqa: N818 - not an error
    """The screen asks for something else."""


class Analyst:
    """Takes views, publishes analyses; everything heavy happens in its thread."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        keyboard: Keyboard = KEYBOARD,
    ) -> None:
        self._clock = clock
        self._wake = threading.Condition()
        self._job: _Job | None = None
        self._waiting_since = 0.0
        self._throttle = AnalysisThrottle(keyboard)
        self._engines_from = self._valid_from = -1
        """Generation of the objects that engines read, and the first one whose simulations still hold."""
        self._valid_at = 0.0
        """Since when these hold, in seconds of the clock."""
        self._simulated_at: dict[str, float] = {}
        """When the removal of each node was simulated last, in seconds of the clock."""
        self._node_cost = 0.0
        """Mean processor time to simulate a node, in seconds."""
        self._more_at: float | None = None
        """When the postponed nodes are simulated; None if none is postponed."""
        self._forecasts_at = 0.0
        """When removals may be forecast again, in seconds of the clock."""
        self._is_at_rest = True
        self._focus = Focus()
        self._is_stopped = False
        self._thread: threading.Thread | None = None
        self.latest: Analysis | None = None
        """The newest analysis, None before the first; the same object as long as nothing has changed."""
        self._pending: PendingQuestions | None = None
        self._advice: AdviceRounds | None = None
        self._evidence: Evidence = NO_EVIDENCE
        """Types and prices of the last analysis."""
        self.failure = ""
        """Error message of the last failed analysis, or an empty string."""
        self._failures = 0
        """In a row."""
        self._not_before = 0.0
        """After a failure nothing is looked into before this instant."""
        self._submitted: tuple[object, object, bool, int] = (None, None, False, 0)
        self._prices_until: float | None = None
        """Deadline of the wait for prices; None before the first wait."""

    @property
    def pending(self) -> PendingAnswer | None:
        """Why pods are pending, None before the first request; the same object as long as nothing has changed."""
        return self._pending.report if self._pending is not None else None

    @property
    def advice(self) -> AdviceReport | None:
        """The newest advice, None before the first run; the same object as long as nothing has changed."""
        return self._advice.report if self._advice is not None else None

    def submit(self, view: ClusterView, now_ns: int, *, prices_come: bool = False) -> None:
        """Have a view looked at, unless it is the one before and hardly any time has passed.

        Args:
            prices_come: Whether a source of prices or settings has neither answered nor refused.
        """
        state, evidence, awaited_prices, at_ns = self._submitted
        awaits_prices = prices_come and self._has_patience()
        is_same = state is view.state and evidence is view.evidence and awaits_prices == awaited_prices
        if is_same and now_ns - at_ns < STALE_SECONDS * 1_000_000_000:
            if self._is_asked_for_sums:
                with self._wake:
                    self._rouse()
            return
        self._submitted = (view.state, view.evidence, awaits_prices, now_ns)
        with self._wake:
            self._waiting_since = self._clock() if self._job is None else self._waiting_since
            self._job = _Job(view, now_ns, awaits_prices)
            if self._thread is None and not self._is_stopped:
                self._thread = threading.Thread(target=self._run, name="analyst", daemon=True)
                self._thread.start()
            self._rouse()

    @property
    def _is_asked_for_sums(self) -> bool:
        """Whether a screen asked for a joint removal that is not simulated yet."""
        return self.latest is not None and self.latest.joint is not None and self.latest.joint.is_asked

    def _has_patience(self) -> bool:
        """Whether prices are still waited for."""
        now = self._clock()
        if self._prices_until is None:
            self._prices_until = now + PRICES_SECONDS
        return now < self._prices_until

    def look_at(self, focus: Focus) -> None:
        """Set the nodes and questions of the current screen."""
        if focus != self._focus:
            with self._wake:
                self._focus = focus
                self._rouse()

    def stop(self) -> None:
        """End the thread soon."""
        with self._wake:
            self._is_stopped = True
            self._rouse()

    def wait_until_at_rest(self, seconds: float) -> bool:
        """Wait until the analyst is idle; return whether that happened within this many seconds."""
        with self._wake:
            return self._wake.wait_for(lambda: self._is_at_rest, seconds)

    # The thread

    def _run(self) -> None:
        while not self._is_stopped:
            try:
                self._work_on()
            except Exception as error:  # noqa: BLE001 - whatever it is, there is more to look at
                self._fail(error)
        with self._wake:
            self._rest(0)

    def _work_on(self) -> None:
        while (job := self._next_job()) is not None:
            for answered in self._recorded_work(job):
                self._rest_until_asked(answered)

    def _recorded_work(self, job: _Job) -> Iterator[Focus]:
        """Work on a job and record its failure; suspends where ``_work`` does."""
        self._throttle.begin(time.thread_time())
        try:
            yield from self._work(job)
        except Superseded:
            pass
        except Exception as error:  # noqa: BLE001 - the app must survive and show the error
            self._fail(error)
        self._throttle.end(self._clock(), time.thread_time())

    def _rouse(self) -> None:
        self._is_at_rest = self._thread is None
        self._wake.notify_all()

    def _rest(self, seconds: float | None) -> None:
        self._is_at_rest = self._more_at is None
        self._wake.notify_all()
        self._wake.wait(seconds)

    @property
    def wait_seconds(self) -> float | None:
        """Seconds until the job may start; None without a job. A new focus does not wait."""
        if self._job is None:
            return None
        return max(
            self._throttle.wait_seconds(self._clock(), self._waiting_since), self._not_before - self._clock(), 0.0
        )

    def _fail(self, error: Exception) -> None:

        from karptui.disruption.analysis import Analysis  # noqa: PLC0415 - as below

        crash.record(error, "looking into nodes")
        problem = self.failure = crash.sentence(error)
        self._failures += 1
        self._not_before = self._clock() + min(2.0 ** (self._failures - 1), LONGEST_BACK_OFF_SECONDS)
        self.latest = replace(self.latest or Analysis(), problem=problem)

    def _next_job(self) -> _Job | None:
        with self._wake:
            focus = self._focus
            while (seconds := self.wait_seconds) != 0 and not self._is_stopped:
                if seconds is not None and self._focus != focus:
                    break
                self._rest(seconds)
            job, self._job = self._job, None
            return None if self._is_stopped else job

    def _work(self, job: _Job) -> Iterator[Focus]:
        """Work on a job, and yield the focus whenever nothing is left to do for it."""
        # Imported here, in the thread: the first frame does not wait for the engines.
        from karptui.disruption.analysis_steps import NOTHING_KNOWN, AnalysisSteps  # noqa: PLC0415
        from karptui.session.advising import AdviceRounds  # noqa: PLC0415
        from karptui.session.pending import PendingQuestions  # noqa: PLC0415
        from karptui.session.prepare import prepare_view  # noqa: PLC0415

        throttle, began = ThreadThrottle(), self._clock()
        prepared, notes = prepare_view(job.view, job.now_ns, throttle.take)
        before, prices = self.latest or NOTHING_KNOWN, job.view.evidence.price_settings
        is_repriced = not decides_alike(self._evidence, job.view.evidence)
        self._evidence = job.view.evidence
        steps = AnalysisSteps(
            prepared,
            job.view.state.generation,
            before,
            notes,
            prices=prices,
            is_repriced=is_repriced,
            unchanged_since=self._unchanged_since(job.view.state),
        )
        self._pending = self._pending or PendingQuestions()
        self._pending.begin(prepared, job.view, notes)
        seen = dict.fromkeys(key for key in (self._focus.detail, *self._focus.keys) if key)
        left = len(seen) if self.latest is None else -1
        for _ in steps.survey(seen):
            throttle.take()
            left -= 1
            if not left:
                # The first time all nodes take a while: those on the screen are shown before the others.
                self.latest = steps.analysis
            if self._is_stopped:
                return
        self.failure, self._failures, self._not_before = "", 0, 0.0
        if self.latest is None or job.awaits_prices or self._clock() - began > PUBLISH_SECONDS:
            self.latest = steps.analysis  # else the first simulations follow at once
        self._throttle.answered(self._clock(), time.thread_time())
        if job.awaits_prices:
            return
        self._advice = self._advice or AdviceRounds(self._clock)
        self._advice.begin(prepared, job.view, steps)
        if self._focus.asks_advice:
            self._advise(throttle)
        try:
            yield from self._simulate(job, steps, throttle, min(REST_SECONDS, REST_SHARE * (self._clock() - began)))
        except Superseded:
            self.latest = steps.analysis
            raise
        if not self._is_stopped:
            self._advise(throttle)

    def _unchanged_since(self, state: ClusterState) -> int:
        """Return the first generation whose simulations still hold."""
        now = self._clock()
        if state.engines_from != self._engines_from:
            self._engines_from, self._valid_from, self._valid_at = state.engines_from, state.engines_from, now
        elif now - self._valid_at > REUSE_SECONDS:
            self._valid_from, self._valid_at = state.generation, now
        return self._valid_from

    def _advise(self, throttle: ThreadThrottle) -> None:
        if self._advice is not None and self._advice.is_due(is_looked_at=self._focus.asks_advice):
            for _ in self._advice.ask():
                throttle.take()
                if self._is_stopped:
                    return

    def _simulate(
        self, job: _Job, steps: AnalysisSteps, throttle: ThreadThrottle, rest_seconds: float
    ) -> Iterator[Focus]:
        """Simulate removals, those on the screen first, until all are done or a newer generation is due."""
        began = published = self._clock()
        close_up = ""
        answered: set[str] = set()
        rest: list[str] = []
        postponed: list[str] = []
        is_listed = False
        while not self._is_stopped:
            focus = self._focus
            seen = next((key for key in (focus.detail, *focus.keys) if key and self._is_due(steps, key)), None)
            is_asked = seen is not None or focus.asks_pending or (focus.detail and focus.detail != close_up)
            least = LEAST_SECONDS if is_asked else rest_seconds
            if self._job is not None and self._clock() - began > least:
                break
            if focus.detail and focus.detail != close_up:
                close_up = focus.detail
                steps.compute_detail(close_up)
                self.latest, published = steps.analysis, self._clock()
            elif seen is not None:
                self._simulate_node(steps, seen)
            elif self._answers(steps, focus, answered, throttle, began):
                published = self._clock()
            else:
                if not is_listed:
                    (rest, postponed), is_listed = self._split(steps), True
                    self.latest, published = steps.analysis, self._clock()
                if not self._simulate_last(steps, rest):
                    self._simulate_next_pass_at_rest(steps, answered, throttle, began)
                    self.latest = steps.analysis
                    self._forecast_at_rest(job, steps, throttle, focus)
                    self._more_at = self._clock() + QUIET_SECONDS if postponed else None
                    if steps.is_forecast_due:
                        self._more_at = min(self._more_at or self._forecasts_at, self._forecasts_at)
                    yield focus
                    if self._is_quiet():
                        rest, postponed = postponed, []
                    if self.wait_seconds == 0 or self._is_stopped:
                        return
                    began = self._clock()  # a new focus gets its share of time even if changes are waiting
                    continue
            throttle.take()
            if self._clock() - published > (SLOW_PUBLISH_SECONDS if is_listed else PUBLISH_SECONDS):
                self.latest, published = steps.analysis, self._clock()
        self.latest = steps.analysis

    def _simulate_node(self, steps: AnalysisSteps, key: str) -> None:
        began = time.thread_time()
        steps.simulate(key)
        self._simulated_at[key] = self._clock()
        self._node_cost += NEWEST_SHARE * (time.thread_time() - began - self._node_cost)

    def _simulate_last(self, steps: AnalysisSteps, keys: list[str]) -> bool:
        """Simulate the last of some nodes that is open, and return whether there was one."""
        while keys:
            key = keys.pop()
            if steps.is_open(key):
                self._simulate_node(steps, key)
                return True
        return False

    def _split(self, steps: AnalysisSteps) -> tuple[list[str], list[str]]:
        """Return the nodes to simulate now and those to simulate later, both in reverse order."""
        keys = steps.unsimulated()
        self._simulated_at = {key: at for key, at in self._simulated_at.items() if key in steps.keys}
        rest: list[str] = []
        postponed: list[str] = []
        for key in reversed(keys):
            (rest if self._is_old(steps, key, 1.0) else postponed).append(key)
        return rest, postponed

    def _is_due(self, steps: AnalysisSteps, key: str) -> bool:
        """Whether a node on the screen is to be simulated at once."""
        return steps.is_open(key) and (key == self._focus.detail or self._is_old(steps, key, ON_SCREEN_SHARE))

    def _is_old(self, steps: AnalysisSteps, key: str, share: float) -> bool:
        """Whether a node has kept its answer for this share of the time, or it is invalid."""
        least, most = KEPT_SECONDS
        seconds = share * min(max(KEPT_FACTOR * self._node_cost * len(steps.keys), least), most)
        age = self._clock() - self._simulated_at.get(key, -most)
        return age >= seconds or steps.is_outdated(key)

    def _is_quiet(self) -> bool:
        """Return whether the time of the postponed nodes has come, which is then over."""
        more_at, self._more_at = self._more_at, None
        return more_at is not None and self._clock() >= more_at

    def _simulate_next_pass_at_rest(
        self, steps: AnalysisSteps, answered: set[str], throttle: ThreadThrottle, began: float
    ) -> None:
        """Work out the next command for the verdict, once nothing else is left to do."""
        from karptui.verdict.upcoming import MOST_NODES_FOR_NEXT  # noqa: PLC0415 - as below

        if "next" not in answered and len(steps.fleet.nodes) <= MOST_NODES_FOR_NEXT:
            answered.add("next")
            steps.simulate_next_pass(steps.engine(lambda: self._give_way(throttle, began)))

    def _forecast_at_rest(self, job: _Job, steps: AnalysisSteps, throttle: ThreadThrottle, focus: Focus) -> None:
        """Forecast joint removals, until the focus changes."""
        from karptui.session.prepare import removal_forecasts  # noqa: PLC0415 - as below

        began = self._clock()
        if not steps.is_forecast_due or began < self._forecasts_at:
            return

        def give_way() -> None:
            self._give_way(throttle, began)
            if self._focus != focus:
                raise _FocusChanged

        def forecast(keys: frozenset[str], removal: JointRemoval) -> JointRemoval:
            try:
                return forecasts.of(keys, removal)
            except (Superseded, _FocusChanged):
                raise
            except Exception as error:  # noqa: BLE001 - the analysis is right without it
                crash.record(error, "forecasting removals")
                return removal

        try:
            forecasts = removal_forecasts(job.view, steps.analysis.findings, job.now_ns, give_way)
            while steps.is_forecast_due:
                steps.forecast_joint(forecast)
                self.latest = steps.analysis
        except _FocusChanged:
            pass
        finally:
            self._forecasts_at = self._clock() + FORECASTS_REST * (self._clock() - began)

    def _answers(
        self, steps: AnalysisSteps, focus: Focus, answered: set[str], throttle: ThreadThrottle, began: float
    ) -> bool:
        """Answer one long question of the focus that is not answered yet; return whether there was one."""
        if focus.asks_overlap and "overlap" not in answered:
            answered.add("overlap")
            for _ in steps.compare_pools():
                throttle.take()
                if self._is_stopped:
                    return True
        elif (
            focus.asks_pending and self._pending is not None and self._pending.step(focus.pod, self._reporter(throttle))
        ):
            pass
        elif focus.asks_next and "next" not in answered:
            answered.add("next")
            self.latest = steps.analysis
            steps.simulate_next_pass(steps.engine(lambda: self._give_way(throttle, began)))
        elif steps.simulate_joint(lambda: self._take_turns(throttle)):
            pass
        elif "advice" not in answered:
            # After the nodes on the screen, before all others.
            answered.add("advice")
            self._advise(throttle)
        else:
            return False
        self.latest = steps.analysis
        return True

    def _reporter(self, throttle: ThreadThrottle) -> Reporter:
        return lambda done, total: self._take_turns(throttle)  # noqa: ARG005 - progress is not shown

    def _take_turns(self, throttle: ThreadThrottle) -> None:
        """Let others have their turn, and end the work only if the analyst is stopped."""
        throttle.take()
        if self._is_stopped:
            raise Superseded

    def _rest_until_asked(self, focus: Focus) -> None:
        """Wait until the focus changes, or a newer cluster, postponed nodes or the end are due."""
        self._throttle.end(self._clock(), time.thread_time())
        with self._wake:
            while (
                (seconds := self.wait_seconds) != 0
                and not self._is_stopped
                and self._focus == focus
                and not self._is_asked_for_sums
                and (self._more_at is None or self._clock() < self._more_at)
            ):
                left = self._more_at - self._clock() if self._more_at is not None else None
                self._rest(min((limit for limit in (seconds, left) if limit is not None), default=None))

    def _give_way(self, throttle: ThreadThrottle, began: float) -> None:
        """Let others have their turn between two removals."""
        if self.is_superseded(began):
            raise Superseded
        throttle.take()

    def is_superseded(self, began: float) -> bool:
        """Whether work that began then should be broken off: its results would be of the past."""
        return self._is_stopped or (self._job is not None and self._clock() - began > LEAST_SECONDS)
