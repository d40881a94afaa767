"""Ties nodes to their NodeClaims and to what pods ask of them."""

from __future__ import annotations

from collections.abc import Mapping

from karptui.kube import resources
from karptui.state.cluster import ClusterState
from karptui.views.health import KindStatus
from karptui.views.nodes.entry import NodeEntry, PodAccess


def node_entries(state: ClusterState, statuses: Mapping[str, KindStatus]) -> tuple[NodeEntry, ...]:
    """Return an entry for every node, and for every NodeClaim that has no node.

    Args:
        state: one generation of the cluster.
        statuses: by kind; decides whether requests are known at all.
    """
    access = pod_access(statuses.get("Pod"))
    claims = dict(state.nodeclaims)
    by_provider = {claim.provider_id: claim for claim in claims.values() if claim.provider_id}
    by_node = {claim.node_name: claim for claim in claims.values() if claim.node_name}
    entries: list[NodeEntry] = []
    for name, node in state.nodes.items():
        claim = (by_provider.get(node.provider_id) if node.provider_id else None) or by_node.get(name)
        if claim is not None:
            claims.pop(claim.key, None)
        usage = state.node_usage.get(name)
        daemons = usage.daemonset if usage is not None else resources.EMPTY
        workload = usage.workload if usage is not None else resources.EMPTY
        entries.append(NodeEntry(node, claim, daemons, workload, access))
    entries += [NodeEntry(None, claim, access=access) for claim in claims.values()]
    return tuple(entries)


def pod_access(status: KindStatus | None) -> PodAccess:
    """Return whether pods are known, on their way, or hidden by a missing permission."""
    if status is None or (status.phase in ("connecting", "disconnected") and not status.count):
        return PodAccess.PENDING
    return PodAccess.FORBIDDEN if status.phase == "forbidden" else PodAccess.KNOWN
