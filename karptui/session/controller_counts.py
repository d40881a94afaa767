"""How many NodeClaims and pods each NodePool has got, by whoever counts best: to check what a weight has done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.karpenter.metrics import ControllerMetrics
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry

LATELY_SECONDS: Final = 24 * 3600
"""How far back NodeClaims are counted where Karpenter's own counters cannot be read."""
PROVISIONED: Final = "provisioned"
"""Karpenter's reason for NodeClaims that pending pods needed; the other reasons are replacements."""


class ControllerCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What Karpenter's own counters say of one NodePool."""

    created: int
    """NodeClaims created since the counters began."""
    provisioned: int
    """Of these, those that pending pods needed."""
    created_since_look: int | None = None
    """NodeClaims created since karptui first read the counters; None where there are no two readings."""
    pods: int | None = None
    """Pods on its nodes, those of DaemonSets included; None where the counters do not say."""


class CountSource(msgspec.Struct, frozen=True, kw_only=True):
    """Who counts."""

    is_by_controller: bool
    endpoint: str = ""
    since_ns: int = 0
    """When the counters began at zero, 0 where that is not said; nanoseconds since the epoch."""
    first_read_ns: int = 0
    """When karptui first read them: nanoseconds since the epoch."""
    why_not: str = ""
    """Why Karpenter's own counters are not used."""


def count_source(view: ClusterView) -> CountSource:
    """Return who counts, and why not Karpenter itself."""
    evidence = view.evidence
    metrics = usable_metrics(view)
    if metrics is not None:
        before = evidence.metrics_before
        return CountSource(
            is_by_controller=True,
            endpoint=metrics.endpoint,
            since_ns=metrics.started_at_ns,
            first_read_ns=before.read_at_ns if before is not None else 0,
        )
    status = evidence.metrics_status
    return CountSource(is_by_controller=False, why_not=status.sentence if status is not None else "")


def usable_metrics(view: ClusterView) -> ControllerMetrics | None:
    """Return Karpenter's metrics where they tell of NodePools."""
    metrics = view.evidence.metrics
    return metrics if metrics is not None and metrics.is_leader and metrics.pools else None


def controller_counts(view: ClusterView, name: str) -> ControllerCounts | None:
    """Return what Karpenter's own counters say of a NodePool; None where they cannot be read."""
    metrics = usable_metrics(view)
    if metrics is None:
        return None
    own, before = metrics.pools.get(name), view.evidence.metrics_before
    created_by = own.nodeclaims_created if own is not None else {}
    created = sum(created_by.values())
    since_look = None
    if before is not None and before.read_at_ns < metrics.read_at_ns:
        known = before.pools.get(name)
        since_look = created - (sum(known.nodeclaims_created.values()) if known is not None else 0)
    return ControllerCounts(
        created=created,
        provisioned=created_by.get(PROVISIONED, 0),
        created_since_look=since_look,
        pods=metrics.pods_by_pool.get(name, 0) if metrics.pods_by_pool else None,
    )


def created_lately(nodes: Iterable[NodeEntry], now_ns: int) -> int:
    """Return how many NodeClaims that still exist were created within ``LATELY_SECONDS``."""
    since_ns = now_ns - LATELY_SECONDS * NS_PER_SECOND
    return sum(1 for one in nodes if one.claim is not None and one.claim.created_ns >= since_ns)
