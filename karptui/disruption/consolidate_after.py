"""The clock of consolidateAfter: since when a node has been quiet, and when it has been so for long enough.

Rules: ``pkg/controllers/nodeclaim/disruption/consolidation.go``.
"""

from __future__ import annotations

import msgspec

from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.timestamps import ABSENT_NS


class QuietPeriod(msgspec.Struct, frozen=True, gc=False):
    """A node's wait before it may be consolidated."""

    since_ns: int
    """When a pod last came or went, or when the node was initialised if none did."""
    until_ns: int
    """When it becomes consolidatable if nothing comes or goes until then."""
    has_pod_event: bool
    """Whether it counts from a pod."""


def quiet_period(claim: NodeClaim, pool: NodePool) -> QuietPeriod | None:
    """Return a node's wait, None where it is not initialised or its NodePool never consolidates.

    With ``0s`` there is no wait and pods do not start it anew.
    """
    initialized = claim.condition("Initialized")
    if pool.consolidate_after_ns is None or initialized is None or initialized.status != "True":
        return None
    has_pod_event = claim.last_pod_event_ns != ABSENT_NS
    since_ns = claim.last_pod_event_ns if has_pod_event else initialized.last_transition_ns
    return QuietPeriod(since_ns, since_ns + pool.consolidate_after_ns, has_pod_event)
