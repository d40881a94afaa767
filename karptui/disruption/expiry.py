"""When NodeClaims expire: nothing blocks expiry, and only a grace period bounds the subsequent drain.

Rules: ``pkg/controllers/nodeclaim/expiration/controller.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.state_node import StateNode

WAVE_NS: Final = 30 * 60 * NS_PER_SECOND
"""Expiries within this period count as simultaneous: new nodes take minutes, and nothing spreads expiries out."""


class Expiry(msgspec.Struct, frozen=True, gc=False):
    """A NodeClaim's expiry."""

    claim_name: str
    node_name: str
    """Empty if it has no Node."""
    at_ns: int
    forced_end_ns: int | None
    """When the subsequent drain is forced to end; None without a terminationGracePeriod, when it may never end."""


def expiry_of(node: StateNode) -> Expiry | None:
    """Return a node's expiry; None if it does not expire or is being deleted."""
    return claim_expiry(node.claim, node.node.name if node.node is not None else "")


def claim_expiry(claim: NodeClaim | None, node_name: str = "") -> Expiry | None:
    """Return a NodeClaim's expiry; None if it does not expire or is being deleted."""
    if claim is None or claim.is_deleting:
        return None
    at_ns = claim.expires_ns
    if at_ns is None:
        return None
    grace_ns = claim.termination_grace_period_ns
    return Expiry(claim.name, node_name, at_ns, None if grace_ns is None else at_ns + grace_ns)


def expiry_calendar(nodes: Iterable[StateNode]) -> tuple[Expiry, ...]:
    """Return a cluster's expiries, earliest first."""
    expiries = (expiry for node in nodes if (expiry := expiry_of(node)) is not None)
    return tuple(sorted(expiries, key=lambda expiry: (expiry.at_ns, expiry.claim_name)))


def expiry_wave(coming: Sequence[Expiry]) -> Sequence[Expiry]:
    """Return the largest set of expiries within ``WAVE_NS`` of each other; of equal ones, the earliest.

    Args:
        coming: Expiries, earliest first.
    """
    best: Sequence[Expiry] = ()
    start = 0
    for end, expiry in enumerate(coming):
        while expiry.at_ns - coming[start].at_ns > WAVE_NS:
            start += 1
        if end + 1 - start > len(best):
            best = coming[start : end + 1]
    return best
