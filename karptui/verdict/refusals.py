"""Launches that were refused, and what they stop."""

from __future__ import annotations

from typing import Final

from karptui.aws.launch_refusals import LaunchRefusal
from karptui.disruption.codes import Blocker, Code
from karptui.karpenter.nodeclaim import LAUNCH_PATIENCE_NS
from karptui.kube.timestamps import MINUTE_NS
from karptui.verdict.case import VerdictCase, VerdictNode

REFUSED_RECENTLY_NS: Final = 10 * MINUTE_NS
"""A refused launch is tried again within this time as long as its pods are pending."""


def recent_refusals(case: VerdictCase) -> list[LaunchRefusal]:
    """Return the launches that the cloud refused in the last minutes."""
    return [refusal for refusal in case.refusals if case.now_ns - refusal.last_ns <= REFUSED_RECENTLY_NS]


def refusal_message(line: VerdictNode) -> str:
    """Return the reason that a NodeClaim was not launched; empty if it was, or no launch was tried."""
    claim = line.claim
    launched = claim.refused_launch if claim is not None else None
    if claim is None or launched is None or line.has_node or claim.is_deleting:
        return ""
    return launched.message or launched.reason or f"Launched={launched.status}"


def unsynced_claims(case: VerdictCase) -> list[Blocker]:
    """Return the NodeClaims without provider ID, which stop all disruption, as blockers by name."""
    cluster = case.analysis.cluster if case.analysis is not None else ()
    return sorted((blocker for blocker in cluster if blocker.code is Code.UNSYNCED), key=lambda b: b.object_key)


def stopping_refusal(case: VerdictCase) -> str:
    """Return the error of the oldest NodeClaim without provider ID, which pauses Karpenter; empty if not refused.

    A young NodeClaim that was not refused may be launched at any moment.
    """
    names = {blocker.object_key for blocker in unsynced_claims(case)}
    claims = [(line.claim, refusal_message(line)) for line in case.nodes if line.claim and line.claim.name in names]
    late = [
        (claim.created_ns, not refusal, refusal)
        for claim, refusal in claims
        if refusal or case.now_ns - claim.created_ns >= LAUNCH_PATIENCE_NS
    ]
    return min(late)[2] if late else ""
