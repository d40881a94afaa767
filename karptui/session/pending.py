"""Why pods wait: the groups that still do, and questions about single pods, answered a step at a time."""

from __future__ import annotations

from typing import Final

from karptui.aws.lint import wildcard_values
from karptui.kube.pod import Pod
from karptui.pending.causes import ENGINE, Cause, zones_of_volumes
from karptui.pending.groups import PendingGroup
from karptui.pending.report_steps import ReportSteps
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.reporter import Reporter, silent
from karptui.session.cluster_view import ClusterView
from karptui.session.pending_report import PendingAnswer, PendingEntry, PodDetail, PodSurroundings, answer_of
from karptui.session.prepare import base_of
from karptui.session.readiness import may_list_events
from karptui.state.cluster import ClusterState
from karptui.whatif.remedies.pending.search import RemedySearch

REMEDIED: Final = frozenset({Cause.UNPLACED, Cause.RESERVED, Cause.FULL, Cause.IGNORED, Cause.SILENT})
"""Number of pods with remedies."""
AGAIN_NS: Final = 20_000_000_000
"""How long an answer of an older generation is kept before it is computed again."""
KEPT: Final = 16
"""Answers about pods that are kept."""


class PendingQuestions:
    """Works for one reader in one thread."""

    def __init__(self, *, tries_changes: bool = True) -> None:
        self._tries_changes = tries_changes
        self._view: ClusterView | None = None
        self._steps: ReportSteps | None = None
        self._is_solved = False
        self._prepared: Prepared | None = None
        self._details: dict[str, PodDetail] = {}
        self._search: tuple[str, RemedySearch] | None = None
        self.report: PendingAnswer | None = None
        """The newest report, None before the first."""
        self._asked = ""

    def begin(self, prepared: Prepared, view: ClusterView, notes: tuple[str, ...] = ()) -> None:
        """Take up a newer cluster."""
        self._prepared, self._view, evidence = prepared, view, view.evidence
        self._steps = ReportSteps(
            prepared, view.state, notes, prices=evidence.price_settings, version=evidence.karpenter_version
        )
        self._is_solved = False

    def step(self, pod_key: str = "", reporter: Reporter = silent) -> bool:
        """Do one piece of work and return whether there was any."""
        if self._steps is None:
            return False
        if self.look_at(pod_key, reporter):
            return True
        group = self._steps.report.by_pod.get(pod_key)
        if self._steps.explain_next(group.key if group is not None else ""):
            self._publish(pod_key)
            return True
        if self._asked != pod_key:
            self._publish(pod_key)
        return False

    def look_at(self, pod_key: str, reporter: Reporter = silent) -> bool:
        """Do one piece of work for one pod and return whether there was any; takes the arguments of ``step``."""
        if self._steps is None:
            return False
        if not self._is_solved:
            self._steps.solve(reporter)
            self._is_solved = True
        else:
            group = self._steps.report.by_pod.get(pod_key)
            if group is None or not self._look_closely(pod_key, group, reporter):
                return False
        self._publish(pod_key)
        return True

    def _publish(self, pod_key: str) -> None:
        assert self._steps is not None
        report = self._steps.report
        self._asked = pod_key
        self.report = answer_of(report, self._details.get(pod_key))

    def _look_closely(self, pod_key: str, group: PendingGroup, reporter: Reporter) -> bool:
        """Explain a pod, then try one more change for it; return whether anything was left to do."""
        detail = self._details.get(pod_key)
        if detail is None or self._is_outdated(detail):
            self._explain(pod_key, group)
            return True
        if self._search is None or self._search[0] != pod_key:
            return False
        search = self._search[1]
        is_open = search.step(reporter)
        self._details[pod_key] = PodDetail(pod_key, detail.generation, detail.now_ns, detail.explanation, search.report)
        if not is_open:
            self._search = None
        return True

    def _is_outdated(self, detail: PodDetail) -> bool:
        assert self._view is not None
        assert self._prepared is not None
        is_at_work = self._search is not None and self._search[0] == detail.pod_key
        if detail.generation == self._view.state.generation:
            return detail.remedies is not None and not detail.remedies.is_complete and not is_at_work
        return not is_at_work and self._prepared.now_ns - detail.now_ns > AGAIN_NS

    def _explain(self, pod_key: str, group: PendingGroup) -> None:
        assert self._steps is not None
        assert self._view is not None
        assert self._prepared is not None
        pod = next(pod for pod in group.pods if pod.key == pod_key)
        explanation = self._steps.explanation(pod)
        remedies = None
        if self._tries_changes and group.cause in REMEDIED:
            pods = (pod, *(other for other in group.pods if other is not pod))
            search = self._new_search(pods, group)
            self._search = (pod_key, search)
            remedies = search.report
        while len(self._details) >= KEPT:
            del self._details[next(iter(self._details))]
        self._details[pod_key] = PodDetail(
            pod_key, self._view.state.generation, self._prepared.now_ns, explanation, remedies
        )

    def _new_search(self, pods: tuple[Pod, ...], group: PendingGroup) -> RemedySearch:
        assert self._steps is not None
        assert self._view is not None
        assert self._prepared is not None
        explanation = self._steps.explanation(pods[0]) if group.cause in ENGINE else None
        return RemedySearch(base_of(self._view, self._prepared.now_ns), pods, explanation, self._steps.solution)


def surroundings_of(pod: Pod, state: ClusterState) -> PodSurroundings:
    """Return the facts of a cluster that are shown next to a pod's reason."""
    findings = (
        (pool.name, finding)
        for pool in state.nodepools.values()
        for finding in wildcard_values(f"NodePool {pool.name}", pool.requirements)
    )
    return PodSurroundings(tuple(zones_of_volumes(pod, state)), tuple(findings))


def pending_entries(view: ClusterView) -> tuple[PendingEntry, ...]:
    """Return the groups of the newest report that still have pending pods."""
    report = view.pending
    if report is None:
        return ()
    may_list, pods = may_list_events(view), view.state.pods
    is_now = report.generation == view.state.generation
    return tuple(
        PendingEntry(group, may_list)
        for group in report.groups
        if is_now
        or any((now := pods.get(pod.key)) is not None and now.node_name == pod.node_name for pod in group.pods)
    )
