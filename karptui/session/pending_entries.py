"""The rows of Pending: the groups that still wait."""

from __future__ import annotations

from karptui.aws.lint import wildcard_values
from karptui.decode.kinds import Kind
from karptui.kube.pod import Pod
from karptui.pending.zones import zones_of_volumes
from karptui.session.cluster_view import ClusterView
from karptui.session.pending_report import PendingEntry, PodSurroundings
from karptui.state.cluster import ClusterState


def hears_events(view: ClusterView) -> bool:
    """Whether events may be listed."""
    status = view.statuses.get(str(Kind.EVENT))
    return status is None or status.phase not in ("forbidden", "not installed")


def surroundings_of(pod: Pod, state: ClusterState) -> PodSurroundings:
    """Return what of a cluster is said beside why a pod waits."""
    findings = (
        (pool.name, finding)
        for pool in state.nodepools.values()
        for finding in wildcard_values(f"NodePool {pool.name}", "spec.template.spec.requirements", pool.requirements)
    )
    return PodSurroundings(tuple(zones_of_volumes(pod, state)), tuple(findings))


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
