"""The lives of NodeClaims, including those known only from events, and why each was removed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from karptui.disruption.churn.last_hour import BIN_NS, BINS
from karptui.disruption.termination import INTERRUPTIONS, Initiator, claim_initiator
from karptui.karpenter.inventory import GoneClaim
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, NODEPOOL, ZONE
from karptui.karpenter.nodeclaim import DISRUPTION_REASON, NodeClaim, pool_in_name
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Event, true_condition

LAUNCHING: Final = "DisruptionLaunching"
"""Reason of events about NodeClaims that replace others."""
TERMINATING: Final = "DisruptionTerminating"
"""Reason of events about NodeClaims and nodes that a disruption command deletes."""
NO_CAPACITY: Final = frozenset({"InsufficientCapacityError", "NodeClassNotReady"})
"""Event reasons of NodeClaims that Karpenter could not launch, and then deletes."""
REGISTERED: Final = "RegisteredNode"
"""Reason of the node controller's events about new nodes."""
_UNHEALTHY: Final = "Unhealthy"
"""Karpenter's name for the reason of a repair, since 1.15."""
_COMMAND: Final = re.compile(r"(?:Disrupting (?:NodeClaim|Node)|Launching NodeClaim): (\w+)")


class Removal(StrEnum):
    """Why a NodeClaim was removed."""

    UNDERUTILIZED = "Underutilized"
    EMPTY = "Empty"
    DRIFTED = "Drifted"
    EXPIRED = "Expired"
    INTERRUPTED = "Interrupted"
    """AWS reclaimed the instance or reported its failure in an event."""
    REPAIRED = "Repaired"
    """By node repair, or because its instance failed status checks."""
    LAUNCH_FAILED = "LaunchFailed"
    """No instance was launched: no capacity, or the NodeClass was not ready."""
    NEVER_REGISTERED = "NeverRegistered"
    """The instance never registered as a node."""
    POOL_DELETED = "NodePoolDeleted"
    SCALED_DOWN = "ScaledDown"
    """A static NodePool has fewer replicas."""
    DELETED = "Deleted"
    """A user or another controller deleted it."""
    UNKNOWN = "Unknown"
    """Removed before observation began, and no event explains it; expiry publishes none."""


VOLUNTARY: Final = frozenset({Removal.UNDERUTILIZED, Removal.EMPTY, Removal.DRIFTED})
"""Decisions of Karpenter itself, within budgets and with replacements."""
FAILED: Final = frozenset({Removal.LAUNCH_FAILED, Removal.NEVER_REGISTERED})
"""NodeClaims that never became nodes."""
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
    """Return the reason for a NodeClaim's removal."""
    initiator = claim_initiator(claim, claim.node_name, pool, events)
    if initiator in _OF_INITIATOR and initiator not in (Initiator.NODEPOOL_DELETED, Initiator.STATIC_SCALE_DOWN):
        return _OF_INITIATOR[initiator]
    by_events = why_by_events(events)
    if by_events is not Removal.UNKNOWN:
        # The claim's last known state may predate its deletion.
        return by_events
    if not claim.is_true("Launched"):
        return Removal.LAUNCH_FAILED
    if not claim.is_true("Registered"):
        return Removal.NEVER_REGISTERED
    if initiator in _OF_INITIATOR:
        return _OF_INITIATOR[initiator]
    return Removal.DELETED if claim.is_deleting else Removal.UNKNOWN


def why_by_events(events: Iterable[Event]) -> Removal:
    """Return the reason for a NodeClaim's removal according to events about it and its node."""
    reasons = set()
    for event in events:
        if event.reason == TERMINATING and (reason := command_reason(event.message)) is not None:
            return reason
        reasons.add(event.reason)
    if reasons & INTERRUPTIONS:
        return Removal.INTERRUPTED
    return Removal.LAUNCH_FAILED if reasons & NO_CAPACITY else Removal.UNKNOWN


def command_reason(message: str) -> Removal | None:
    """Return a command's reason from a message such as ``Disrupting NodeClaim: Underutilized``, or None."""
    match = _COMMAND.match(message)
    if match is not None and match[1] == _UNHEALTHY:
        return Removal.REPAIRED
    try:
        return Removal(match[1]) if match is not None else None
    except ValueError:
        return None


_NOMINATED: Final = re.compile(r"nodeclaim/([^\s,]+)")
"""In Karpenter's event about a pod that it creates a NodeClaim for."""


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """The life of a NodeClaim; times are nanoseconds since the epoch, 0 if unknown."""

    claim: str
    node: str = ""
    pool: str = ""
    instance_type: str = ""
    capacity_type: str = ""
    zone: str = ""
    created_ns: int = 0
    commanded_ns: int = 0
    """When a disruption command selected it; its replacements are created afterwards."""
    removed_ns: int = 0
    """When its deletion began; 0 if it is not being deleted."""
    gone_ns: int = 0
    """When its absence was observed."""
    why: Removal | None = None
    """None if it is not being removed."""
    made_for: Removal | None = None
    """The reason of the disruption command that launched it as a replacement, if an event reports it."""
    is_by_events: bool = False
    """Whether it is known only from events, which then give its times."""

    @property
    def lived_ns(self) -> int | None:
        """Time from creation to the start of deletion; None if it is not being removed or either is unknown."""
        return self.removed_ns - self.created_ns if self.removed_ns and self.created_ns else None


def lives(
    nodeclaims: Iterable[NodeClaim],
    gone: Iterable[GoneClaim],
    events: Iterable[Event],
    pools: Mapping[str, NodePool],
) -> tuple[Life, ...]:
    """Return the lives of all known NodeClaims, in order of creation.

    Args:
        gone: Removed NodeClaims that were observed.
        events: Karpenter's events, including kept expired events.
    """
    by_object = _EventIndex(events)
    by_claim: dict[str, Life] = {}
    for record in gone:
        by_claim[record.claim.name] = _observed(record.claim, record.gone_ns, by_object, pools)
    for claim in nodeclaims:
        by_claim[claim.name] = _observed(claim, 0, by_object, pools)
    for name in by_object.claims:
        if name not in by_claim:
            by_claim[name] = _from_events(name, by_object, pools)
    return tuple(sorted(by_claim.values(), key=lambda life: (life.created_ns or life.removed_ns, life.claim)))


class _EventIndex:
    def __init__(self, events: Iterable[Event]) -> None:
        self.claims: dict[str, list[Event]] = {}
        self._nodes: dict[str, list[Event]] = {}
        self._joined_ns: dict[str, int] = {}
        self._ended: defaultdict[tuple[int, Removal | None], list[str]] = defaultdict(list)
        self.nominated_ns: dict[str, int] = {}
        """When a pod was first nominated to each NodeClaim, about its creation."""
        for event in events:
            if event.involved_kind == "NodeClaim":
                self.claims.setdefault(event.involved_name, []).append(event)
            elif event.involved_kind == "Node":
                self._nodes.setdefault(event.involved_name, []).append(event)
                if event.reason == REGISTERED:
                    self._joined_ns[event.involved_name] = event.first_ns
                elif event.reason == TERMINATING:
                    self._ended[event.first_ns, command_reason(event.message)].append(event.involved_name)
            elif event.reason == "Nominated" and (match := _NOMINATED.search(event.message)) is not None:
                earliest_ns = self.nominated_ns.get(match[1], event.first_ns)
                self.nominated_ns[match[1]] = min(earliest_ns, event.first_ns)

    def about(self, claim: str, node: str = "") -> list[Event]:
        return [*self.claims.get(claim, ()), *(self._nodes.get(node, ()) if node else ())]

    def take_joined_ns(self, events: Iterable[Event]) -> int:
        """Return when a removed NodeClaim's node joined, 0 if unknown; the node was disrupted at the same time.

        Each node is taken once, because several NodeClaims may be disrupted at the same time.
        """
        keys = [(e.first_ns, command_reason(e.message)) for e in events if e.reason == TERMINATING]
        nodes = [self._ended[key].pop() for key in keys if self._ended.get(key)]
        return next((self._joined_ns[node] for node in nodes if node in self._joined_ns), 0)

    def made_for(self, claim: str) -> Removal | None:
        """Return the reason of the command that launched a NodeClaim, or None."""
        reasons = (command_reason(event.message) for event in self.claims.get(claim, ()) if event.reason == LAUNCHING)
        return next((reason for reason in reasons if reason is not None), None)


def _observed(claim: NodeClaim, gone_ns: int, by_object: _EventIndex, pools: Mapping[str, NodePool]) -> Life:
    commanded = true_condition(claim.conditions, DISRUPTION_REASON)
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
        commanded_ns=commanded.last_transition_ns if commanded is not None else 0,
        removed_ns=claim.deletion_ns or gone_ns,
        gone_ns=gone_ns,
        why=why_removed(claim, pools.get(pool), events) if is_leaving else None,
        made_for=by_object.made_for(claim.name),
    )


def _from_events(name: str, by_object: _EventIndex, pools: Mapping[str, NodePool]) -> Life:
    """Return the life of a removed NodeClaim from its events; its removal is taken to follow the last of them."""
    events = by_object.claims[name]
    starts = [event.first_ns for event in events if event.reason == LAUNCHING]
    starts += [by_object.nominated_ns[name]] if name in by_object.nominated_ns else []
    starts += [joined_ns] if (joined_ns := by_object.take_joined_ns(events)) else []
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


def removed(lives: Sequence[Life], since_ns: int) -> Iterator[Life]:
    """Yield the lives that ended at or after a time."""
    return (life for life in lives if life.removed_ns and life.removed_ns >= since_ns)


def created(lives: Sequence[Life], since_ns: int) -> Iterator[Life]:
    """Yield the lives that began at or after a time."""
    return (life for life in lives if life.created_ns and life.created_ns >= since_ns)


def alive(lives: Iterable[Life], since_ns: int, now_ns: int) -> tuple[int | None, ...]:
    """Return the number of NodeClaims at the end of each step; None for steps before the known period.

    A NodeClaim whose creation is unknown counts from the beginning, unless its launch failed: Karpenter deletes such a
    NodeClaim within seconds.

    Args:
        since_ns: When removals became known: nanoseconds since the epoch.
        now_ns: The current time, where the last step ends.
    """
    lives = [life for life in lives if life.created_ns or life.why is not Removal.LAUNCH_FAILED]
    ends = [now_ns - BIN_NS * (BINS - 1 - step) for step in range(BINS)]
    return tuple(
        sum(life.created_ns <= end and not 0 < (life.gone_ns or life.removed_ns) <= end for life in lives)
        if end >= since_ns
        else None
        for end in ends
    )
