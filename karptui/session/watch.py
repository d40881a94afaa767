"""Follows a cluster without a screen: merges changes, analyses it now and then, and reports changes of its verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from karptui.clock import Clock
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.answers import Focus
from karptui.session.cluster_view import ClusterView
from karptui.session.follower import ClusterFollower
from karptui.session.history_marks import NOT_PROBLEMS
from karptui.session.readiness import is_out_of_reach, unready_because
from karptui.session.status import age_ns
from karptui.session.verdict import verdict_of_view
from karptui.verdict.finding import ClusterFinding

MERGE_SECONDS: Final = 1.0
MERGE_FACTOR: Final = 10.0
"""Wait this multiple of the last merge's duration before merging again."""
VERDICT_SECONDS: Final = 10.0
"""Shortest time between two verdicts."""
LONGEST_SECONDS: Final = 60.0
"""Longest time between two verdicts."""
SHARE: Final = 0.03
"""Share of a processor that following a cluster may take, as far as the longest time allows."""
PATIENCE_SECONDS: Final = 30.0
"""An analysis that takes longer is judged as far as it has come."""
MOST_ROUNDS: Final = 3
"""Number of requests for the joint removals of one verdict."""
OUTDATED_NS: Final = 120 * NS_PER_SECOND


class Verdict(NamedTuple):
    """The problems of a cluster at an instant."""

    view: ClusterView
    findings: tuple[ClusterFinding, ...]
    now_ns: int


class Watch:
    """Advances in steps of a second; belongs to one thread."""

    def __init__(
        self,
        follower: ClusterFollower,
        clock: Clock,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        worked: Callable[[], float] = time.process_time,
    ) -> None:
        self.follower = follower
        self.verdict: Verdict | None = None
        """The last one; None before the first."""
        self.merged_ns = 0
        """When changes were merged last."""
        self._clock = clock
        self._monotonic = monotonic
        self._worked = worked
        self._merge_at = self._judge_at = 0.0
        self._asked_at: float | None = None
        """Time of the request to the analyst; None without one."""
        self._rounds = 0
        self._used = worked()
        follower.analyst.look_at(Focus(asks_pending=True))

    def step(self) -> Verdict | None:
        """Merge and judge if it is time; return a new verdict, or None."""
        now = self._monotonic()
        if now >= self._merge_at:
            self._merge(now)
        if self._asked_at is None and now >= self._judge_at and self.follower.knows_nodes:
            self._ask(now)
        if self._asked_at is not None and self._is_ready(now, self._asked_at):
            return self._judge(now)
        return None

    def _merge(self, began: float) -> None:
        self.merged_ns = self._clock.now_ns()
        self.follower.poll(self.merged_ns)
        if self.follower.knows_nodes:
            self.follower.first_rows_shown()
        ended = self._monotonic()
        self._merge_at = began + max(MERGE_SECONDS, MERGE_FACTOR * (ended - began))

    def _ask(self, now: float) -> None:
        self.follower.analyse(self._clock.now_ns())
        self._asked_at, self._rounds = now, 0

    def _is_ready(self, now: float, asked_at: float) -> bool:
        view = self.follower.view
        if is_out_of_reach(view):
            return True
        if now - asked_at >= PATIENCE_SECONDS:
            return view.analysis is not None
        if unready_because(view):
            return False
        if self.verdict is None and view.advice is None:
            # Until every check has run once, the analyst may have waited for prices or permissions.
            self.follower.analyse(self._clock.now_ns())
            return False
        return self.follower.analyst.wait_until_at_rest(0)

    def _judge(self, now: float) -> Verdict | None:
        now_ns = self._clock.now_ns()
        self.follower.poll(now_ns)
        view = self.follower.view
        findings = verdict_of_view(view, now_ns)
        joint = view.analysis.joint if view.analysis is not None else None
        if joint is not None and joint.is_asked and self._rounds < MOST_ROUNDS:
            self._rounds += 1
            self.follower.analyse(now_ns)  # works out the joint removals that the verdict asked for
            return None
        used, self._used = self._used, self._worked()
        seconds = (self._used - used) / SHARE
        self._judge_at = now + min(max(seconds, VERDICT_SECONDS), LONGEST_SECONDS)
        self._asked_at = None
        self.verdict = Verdict(view, findings, now_ns)
        return self.verdict


def problems_of(findings: Sequence[ClusterFinding]) -> tuple[ClusterFinding, ...]:
    """Return the findings that are problems, without Karpenter's next command and without the line that all is well."""
    return tuple(finding for finding in findings if finding.code not in NOT_PROBLEMS)


def losses_of(view: ClusterView) -> Iterator[tuple[str, str]]:
    """Yield a key and a message for the lost connection, and for each kind that may not be read."""
    if lost := [status for status in view.statuses.values() if status.phase == "disconnected"]:
        yield "connection", next((status.last_error for status in lost if status.last_error), "disconnected")
    for kind, status in view.statuses.items():
        if status.phase == "forbidden":
            yield str(kind), status.last_error or f"{kind} may not be listed"


def unhealthy_because(watch: Watch, now_ns: int) -> str:
    """Return the reason that the cluster is not followed or its data is too old; else empty."""
    if watch.follower.failure:
        return watch.follower.failure
    view = watch.follower.view
    ages = {
        kind: age_ns(status, watch.merged_ns, now_ns)
        for kind, status in view.statuses.items()
        if status.phase not in ("forbidden", "not installed")
    }
    if not ages:
        return "nothing has been read yet"
    for kind, age in ages.items():
        if age is None:
            return f"{kind} has not been read: {view.statuses[kind].last_error or view.statuses[kind].phase}"
        if age >= OUTDATED_NS:
            return f"{kind} was last read {age // NS_PER_SECOND} s ago"
    return ""
