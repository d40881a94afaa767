"""The lives of NodeClaims, those that only events still name among them, and why each went."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from karptui.disruption.termination import INTERRUPTIONS, Initiator, claim_initiator
from karptui.karpenter.inventory import GoneClaim
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, NODEPOOL, ZONE
from karptui.karpenter.nodeclaim import DISRUPTION_REASON, NodeClaim, pool_in_name
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Event

LAUNCHING: Final = "DisruptionLaunching"
"""Reason of the event about a NodeClaim that takes the place of others."""
TERMINATING: Final = "DisruptionTerminating"
"""Reason of the event about a NodeClaim, and its node, that a disruption command deletes."""
NO_CAPACITY: Final = frozenset({"InsufficientCapacityError", "NodeClassNotReady"})
"""Reasons of events after which Karpenter deletes a NodeClaim that could not be launched."""
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
    said = why_by_events(events)
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


def why_by_events(events: Iterable[Event]) -> Removal:
    """Return why a NodeClaim went as far as events about it and its node tell."""
    reasons = set()
    for event in events:
        if event.reason == TERMINATING and (reason := command_reason(event.message)) is not None:
            return reason
        reasons.add(event.reason)
    if reasons & INTERRUPTIONS:
        return Removal.INTERRUPTED
    return Removal.LAUNCH_FAILED if reasons & NO_CAPACITY else Removal.UNKNOWN


def command_reason(message: str) -> Removal | None:
    """Return the reason of a disruption command from ``Disrupting NodeClaim: Underutilized``, None for others."""
    found = _COMMAND.match(message)
    try:
        return Removal(found[1]) if found is not None else None
    except ValueError:
        return None


_NOMINATED: Final = re.compile(r"nodeclaim/([^\s,]+)")
"""In what Karpenter says of a pod that it makes a NodeClaim for."""


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the life of one NodeClaim; instants are nanoseconds since the epoch, 0 where not known."""

    claim: str
    node: str = ""
    pool: str = ""
    instance_type: str = ""
    capacity_type: str = ""
    zone: str = ""
    created_ns: int = 0
    commanded_ns: int = 0
    """When a disruption command chose it: replacements are made from then on."""
    removed_ns: int = 0
    """When its deletion began; 0 while nothing deletes it."""
    gone_ns: int = 0
    """When it was found to be gone."""
    why: Removal | None = None
    """None while it stays."""
    made_for: Removal | None = None
    """The reason of the disruption command that launched it as a replacement, where an event tells."""
    is_by_events: bool = False
    """Whether only events tell of it: its instants are those of events."""

    @property
    def lived_ns(self) -> int | None:
        """From creation until its deletion began, None while it stays and where either is not known."""
        return self.removed_ns - self.created_ns if self.removed_ns and self.created_ns else None


def lives(
    nodeclaims: Iterable[NodeClaim],
    gone: Iterable[GoneClaim],
    events: Iterable[Event],
    pools: Mapping[str, NodePool],
) -> tuple[Life, ...]:
    """Return every NodeClaim's life that anything tells of, those created first at the front.

    Args:
        nodeclaims: All that are there.
        gone: Those seen to go.
        events: Karpenter's, those it has forgotten too.
        pools: NodePools by name.
    """
    by_object = _EventIndex(events)
    found: dict[str, Life] = {}
    for one in gone:
        found[one.claim.name] = _seen(one.claim, one.gone_ns, by_object, pools)
    for claim in nodeclaims:
        found[claim.name] = _seen(claim, 0, by_object, pools)
    for name in by_object.claims:
        if name not in found:
            found[name] = _said(name, by_object, pools)
    return tuple(sorted(found.values(), key=lambda life: (life.created_ns or life.removed_ns, life.claim)))


class _EventIndex:
    """Events by what they are about."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.claims: dict[str, list[Event]] = {}
        self._nodes: dict[str, list[Event]] = {}
        self.nominated_ns: dict[str, int] = {}
        """By NodeClaim, when a pod was first said to be meant for it: about when it was created."""
        for event in events:
            if event.involved_kind == "NodeClaim":
                self.claims.setdefault(event.involved_name, []).append(event)
            elif event.involved_kind == "Node":
                self._nodes.setdefault(event.involved_name, []).append(event)
            elif event.reason == "Nominated" and (found := _NOMINATED.search(event.message)) is not None:
                known_ns = self.nominated_ns.get(found[1], event.first_ns)
                self.nominated_ns[found[1]] = min(known_ns, event.first_ns)

    def about(self, claim: str, node: str = "") -> list[Event]:
        """Return what is said about a NodeClaim and its node."""
        return [*self.claims.get(claim, ()), *(self._nodes.get(node, ()) if node else ())]

    def made_for(self, claim: str) -> Removal | None:
        """Return the reason of the command that launched a NodeClaim."""
        said = (command_reason(event.message) for event in self.claims.get(claim, ()) if event.reason == LAUNCHING)
        return next((reason for reason in said if reason is not None), None)


def _seen(claim: NodeClaim, gone_ns: int, by_object: _EventIndex, pools: Mapping[str, NodePool]) -> Life:
    """Return the life of a NodeClaim that is there, or was."""
    commanded = claim.condition(DISRUPTION_REASON)
    is_commanded = commanded is not None and commanded.status == "True"
    pool = claim.labels.get(NODEPOOL, "")
    is_leaving = claim.is_deleting or bool(gone_ns)
    events = by_object.about(claim.name, claim.node_name) if is_leaving else []
    return Life(
        claim=claim.name,
        node=claim.node_name,
        pool=pool,
        instance_type=claim.labels.get(INSTANCE_TYPE, ""),
        capacity_type=claim.labels.get(CAPACITY_TYPE, ""),
        zone=claim.labels.get(ZONE, ""),
        created_ns=claim.created_ns,
        commanded_ns=commanded.last_transition_ns if commanded is not None and is_commanded else 0,
        removed_ns=claim.deletion_ns or gone_ns,
        gone_ns=gone_ns,
        why=why_removed(claim, pools.get(pool), events) if is_leaving else None,
        made_for=by_object.made_for(claim.name),
    )


def _said(name: str, by_object: _EventIndex, pools: Mapping[str, NodePool]) -> Life:
    """Return the life of a NodeClaim that is gone, as events tell it: it went after the last of them."""
    events = by_object.claims[name]
    starts = [event.first_ns for event in events if event.reason == LAUNCHING]
    starts += [by_object.nominated_ns[name]] if name in by_object.nominated_ns else []
    ends = [event.first_ns for event in events if event.reason == TERMINATING]
    return Life(
        claim=name,
        pool=pool_in_name(name, pools),
        created_ns=min(starts, default=0),
        removed_ns=min(ends, default=0) or max(event.last_ns for event in events),
        why=why_by_events(events),
        made_for=by_object.made_for(name),
        is_by_events=True,
    )


def removed(found: Sequence[Life], since_ns: int) -> Iterator[Life]:
    """Yield those that have been removed since an instant."""
    return (life for life in found if life.removed_ns and life.removed_ns >= since_ns)


def created(found: Sequence[Life], since_ns: int) -> Iterator[Life]:
    """Yield those that have been created since an instant."""
    return (life for life in found if life.created_ns and life.created_ns >= since_ns)
