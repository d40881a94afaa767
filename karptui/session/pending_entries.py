"""The rows of Pending: the groups that still wait."""

from __future__ import annotations

from karptui.decode.kinds import Kind
from karptui.session.cluster_view import ClusterView
from karptui.session.pending_report import PendingEntry


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
