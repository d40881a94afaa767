"""Ties pods to the NodePools of their nodes."""

from __future__ import annotations

from karptui.karpenter import labels as karpenter_labels
from karptui.state.cluster import ClusterState
from karptui.views.pods.entry import PodEntry


def pod_entries(state: ClusterState) -> tuple[PodEntry, ...]:
    """Return an entry for every pod that has not ended."""
    pools = {name: node.labels.get(karpenter_labels.NODEPOOL, "") for name, node in state.nodes.items()}
    return tuple(PodEntry(pod, pools.get(pod.node_name, "")) for pod in state.pods.values() if not pod.is_terminal)
