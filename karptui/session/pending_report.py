"""Why pods wait: the rows of it, and the one pod that somebody looks at."""

from __future__ import annotations

import msgspec

from karptui.decode.kinds import Kind
from karptui.pending.groups import PendingGroup
from karptui.pending.report import PendingReport
from karptui.provisioning import PodExplanation
from karptui.session.cluster_view import ClusterView
from karptui.whatif.remedies.pending.remedy import RemedyReport


class PodDetail(msgspec.Struct, frozen=True, eq=False):
    """A pod, at length."""

    pod_key: str
    generation: int
    """Of the cluster that it holds for."""
    now_ns: int
    """The instant that it holds for."""
    explanation: PodExplanation | None = None
    """None where the pod takes no part in a run."""
    remedies: RemedyReport | None = None
    """Single changes that were tried; None where there is nothing to remedy."""


class PendingAnswer(PendingReport, frozen=True, eq=False, dict=True):
    """Why pods wait, as far as it is known."""

    detail: PodDetail | None = None
    """The pod that somebody looks at; it may be of a generation before."""


class PendingEntry(msgspec.Struct, frozen=True, tag=True, eq=False):
    """A group of pods that wait, and whether events may be read."""

    group: PendingGroup
    hears_events: bool = True
    """False where events may not be listed: silence then means nothing."""

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return self.group.key


def hears_events(view: ClusterView) -> bool:
    """Whether events may be listed."""
    status = view.statuses.get(str(Kind.EVENT))
    return status is None or status.phase not in ("forbidden", "not installed")


def pending_entries(view: ClusterView) -> tuple[PendingEntry, ...]:
    """Return the groups of the newest report, without those whose pods have all found a node or gone since."""
    report = view.pending
    if report is None:
        return ()
    hears, pods = hears_events(view), view.state.pods
    is_now = report.generation == view.state.generation
    return tuple(
        PendingEntry(group, hears)
        for group in report.groups
        if is_now
        or any((now := pods.get(pod.key)) is not None and now.node_name == pod.node_name for pod in group.pods)
    )
