"""Nodes that are left alone for a while after pods have come or gone."""

from __future__ import annotations

from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import condition_of
from karptui.kube.timestamps import ABSENT_NS
from karptui.provisioning.state_node import StateNode


def is_under_consolidate_after(state: StateNode, pool: NodePool | None, now_ns: int) -> bool:
    """Return whether a node is too young, or had a pod come or go too recently, to be consolidated.

    Rule: ``IsUnderConsolidateAfter`` in ``pkg/utils/disruption/disruption.go``.
    """
    claim = state.claim
    if pool is None or claim is None or not pool.consolidate_after_ns:
        return False
    initialized = condition_of(claim.conditions, "Initialized")
    if initialized is None or initialized.status != "True":
        return False
    since_ns = claim.last_pod_event_ns
    if since_ns == ABSENT_NS:
        since_ns = initialized.last_transition_ns
    return now_ns - since_ns < pool.consolidate_after_ns
