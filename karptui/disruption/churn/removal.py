"""Why a NodeClaim went, from what it was last seen as, or from events alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from karptui.disruption.initiator import INTERRUPTIONS, Initiator, claim_initiator
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.event import Event

LAUNCHING: Final = "DisruptionLaunching"
"""Reason of the event about a NodeClaim that takes the place of others."""
TERMINATING: Final = "DisruptionTerminating"
"""Reason of the event about a NodeClaim, and its node, that a disruption command deletes."""
NO_CAPACITY: Final = frozenset({"InsufficientCapacityError", "NodeClassNotReady"})
"""Reasons of events after which Karpenter deletes a NodeClaim that could not be launched."""
_INTERRUPTED: Final = INTERRUPTIONS | {"TerminatingOnInterruption"}
_COMMAND: Final = re.compile(r"(?:Disrupting (?:NodeClaim|Node)|Launching NodeClaim): (\w+)")


class Removal(StrEnum):
    """Why a NodeClaim went."""

    UNDERUTILIZED = "Underutilized"
    EMPTY = "Empty"
    DRIFTED = "Drifted"
    EXPIRED = "Expired"
    INTERRUPTED = "Interrupted"
    """The cloud takes the instance back, or it fails: AWS says so in an event."""
    REPAIRED = "Repaired"
    """Node repair, or an instance that failed its status checks."""
    LAUNCH_FAILED = "LaunchFailed"
    """There was no instance: no capacity, or the NodeClass was not ready."""
    NEVER_REGISTERED = "NeverRegistered"
    """There was an instance, but it never became a node."""
    POOL_DELETED = "NodePoolDeleted"
    SCALED_DOWN = "ScaledDown"
    """A static NodePool wants fewer nodes."""
    DELETED = "Deleted"
    """Someone, or another controller, deleted it."""
    UNKNOWN = "Unknown"
    """It went before anybody looked, and no event tells why; expiry leaves none."""


VOLUNTARY: Final = frozenset({Removal.UNDERUTILIZED, Removal.EMPTY, Removal.DRIFTED})
"""What Karpenter decides by itself, within budgets, and prepares replacements for."""
FAILED: Final = frozenset({Removal.LAUNCH_FAILED, Removal.NEVER_REGISTERED})
"""What never became a node."""
_OF_INITIATOR: Final = {
    Initiator.EMPTY: Removal.EMPTY,
    Initiator.DRIFTED: Removal.DRIFTED,
    Initiator.UNDERUTILIZED: Removal.UNDERUTILIZED,
    Initiator.REPAIR: Removal.REPAIRED,
    Initiator.INTERRUPTION: Removal.INTERRUPTED,
    Initiator.EXPIRY: Removal.EXPIRED,
    Initiator.NODEPOOL_DELETED: Removal.POOL_DELETED,
    Initiator.STATIC_SCALE_DOWN: Removal.SCALED_DOWN,
}


def why_removed(claim: NodeClaim, pool: NodePool | None, events: Sequence[Event]) -> Removal:
    """Return why a NodeClaim goes, or went.

    Args:
        claim: As it was last seen.
        pool: Its NodePool, None where it is gone.
        events: About the claim and its node.
    """
    initiator = claim_initiator(claim, claim.node_name, pool, events)
    if initiator in _OF_INITIATOR and initiator not in (Initiator.NODEPOOL_DELETED, Initiator.STATIC_SCALE_DOWN):
        return _OF_INITIATOR[initiator]
    said = why_said(events)
    if said is not Removal.UNKNOWN:
        # It may have been last seen before its deletion began.
        return said
    if not claim.is_true("Launched"):
        return Removal.LAUNCH_FAILED
    if not claim.is_true("Registered"):
        return Removal.NEVER_REGISTERED
    if initiator in _OF_INITIATOR:
        return _OF_INITIATOR[initiator]
    return Removal.DELETED if claim.is_deleting else Removal.UNKNOWN


def why_said(events: Iterable[Event]) -> Removal:
    """Return why a NodeClaim went as far as events about it and its node tell."""
    reasons = set()
    for event in events:
        if event.reason == TERMINATING and (reason := command_reason(event.message)) is not None:
            return reason
        reasons.add(event.reason)
    if reasons & _INTERRUPTED:
        return Removal.INTERRUPTED
    return Removal.LAUNCH_FAILED if reasons & NO_CAPACITY else Removal.UNKNOWN


def command_reason(message: str) -> Removal | None:
    """Return the reason of a disruption command from ``Disrupting NodeClaim: Underutilized``, None for others."""
    found = _COMMAND.match(message)
    try:
        return Removal(found[1]) if found is not None else None
    except ValueError:
        return None
