"""The consolidateAfter clock: since when a node has had no pod changes, and until when it must wait.

Rules: ``pkg/controllers/nodeclaim/disruption/consolidation.go``.
"""

from __future__ import annotations

import msgspec

from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.timestamps import ABSENT_NS


class QuietPeriod(msgspec.Struct, frozen=True, gc=False):
    """A node's wait before consolidation."""

    since_ns: int
    """When a pod last came or went; without any, when the node was initialised."""
    until_ns: int
    """When the node becomes consolidatable if no pod comes or goes until then."""
    has_pod_event: bool
    """Whether it starts at a pod change."""


def quiet_period(claim: NodeClaim, pool: NodePool) -> QuietPeriod | None:
    """Return a node's wait, or None if it is not initialised or its NodePool never consolidates.

    With ``0s`` there is no wait, and pod changes do not restart it.
    """
    initialized = claim.condition("Initialized")
    if pool.consolidate_after_ns is None or initialized is None or initialized.status != "True":
        return None
    has_pod_event = claim.last_pod_event_ns != ABSENT_NS
    since_ns = claim.last_pod_event_ns if has_pod_event else initialized.last_transition_ns
    return QuietPeriod(since_ns, since_ns + pool.consolidate_after_ns, has_pod_event)
