"""Answers about one node, and about one pod that waits."""

from __future__ import annotations

from msgspec.structs import replace

from karptui.kube.recent import LastAnswer
from karptui.session.cluster_view import ClusterView
from karptui.session.pending import may_list_events, surroundings_of
from karptui.session.pending_report import PodSurroundings
from karptui.session.pods import PodEntry
from karptui.session.questions import (
    NodeFound,
    NodeWanted,
    PodWaitFound,
    PodWaitWanted,
    ReasonsFound,
    ReasonsWanted,
)
from karptui.views.findings import pending_reasons


class Nodes:
    """Answers what one node has; its pods are the same object as long as nothing has changed."""

    def __init__(self) -> None:
        self._pods: LastAnswer[tuple[PodEntry, ...]] = LastAnswer()

    def node(self, view: ClusterView, wanted: NodeWanted) -> NodeFound:
        """Return one node at length."""
        entry = view.node_entry(wanted.key)
        node = entry.node if entry is not None else None
        name = node.name if node is not None else wanted.name
        detail = view.analysis.detail if view.analysis is not None else None
        return NodeFound(
            entry=entry,
            pods=self._pods.get((view,), lambda: view.pods_on(name) if name else (), equals=(name,)),
            detail=detail if detail is not None and detail.key == wanted.key else None,
            usage=replace(view.live_usage, nodes={}, pods={}),
        )


def pod_wait(view: ClusterView, wanted: PodWaitWanted) -> PodWaitFound:
    """Return why a pod waits."""
    pod, report = view.state.pods.get(wanted.key), view.pending
    detail = report.detail if report is not None else None
    group = report.by_pod.get(wanted.key) if report is not None else None
    shown = group.first if group is not None else pod
    return PodWaitFound(
        is_there=pod is not None,
        node_name=pod.node_name if pod is not None and pod.node_name in view.state.nodes else "",
        group=group,
        detail=detail if detail is not None and detail.pod_key == wanted.key else None,
        around=surroundings_of(shown, view.state) if shown is not None else PodSurroundings(),
        may_list_events=may_list_events(view),
    )


class PendingReasons:
    """Answers why pods wait in a few words, worked out once for each report."""

    def __init__(self) -> None:
        self._last: LastAnswer[ReasonsFound] = LastAnswer()

    def reasons(self, view: ClusterView, _: ReasonsWanted) -> ReasonsFound:
        """Return why pods wait, by the key of their group."""
        return self._last.get((view.pending,), lambda: ReasonsFound(by_group=pending_reasons(view.pending)))
