"""When NodeClaims expire: nothing holds expiry back, and only a grace period bounds the drain that follows.

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
"""Expiries within this span come at once: new nodes take minutes, and nothing spreads them."""


class Expiry(msgspec.Struct, frozen=True, gc=False):
    """A NodeClaim's end by age."""

    claim_name: str
    node_name: str
    """Empty while it has no Node."""
    at_ns: int
    forced_end_ns: int | None
    """When the drain after it ends by force; None without a terminationGracePeriod: it may never end."""


def expiry_of(node: StateNode) -> Expiry | None:
    """Return a node's expiry; None where it has none, or is being deleted already."""
    return claim_expiry(node.claim, node.node.name if node.node is not None else "")


def claim_expiry(claim: NodeClaim | None, node_name: str = "") -> Expiry | None:
    """Return a NodeClaim's expiry; None where it has none, or is being deleted already."""
    if claim is None or claim.is_deleting:
        return None
    at_ns = claim.expires_ns
    if at_ns is None:
        return None
    grace_ns = claim.termination_grace_period_ns
    return Expiry(claim.name, node_name, at_ns, None if grace_ns is None else at_ns + grace_ns)


def expiry_calendar(nodes: Iterable[StateNode]) -> tuple[Expiry, ...]:
    """Return the expiries of a cluster, the next first."""
    found = (expiry for node in nodes if (expiry := expiry_of(node)) is not None)
    return tuple(sorted(found, key=lambda expiry: (expiry.at_ns, expiry.claim_name)))


def expiry_wave(coming: Sequence[Expiry]) -> Sequence[Expiry]:
    """Return the most expiries that lie within ``WAVE_NS`` of each other, the earliest such wave.

    Args:
        coming: expiries, the next first.
    """
    best: Sequence[Expiry] = ()
    start = 0
    for end, one in enumerate(coming):
        while one.at_ns - coming[start].at_ns > WAVE_NS:
            start += 1
        if end + 1 - start > len(best):
            best = coming[start : end + 1]
    return best
