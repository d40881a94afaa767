"""Karpenter's disruption events: collected in a recorder by simulations, and read from the cluster.

Karpenter keeps nominations in memory only, so they are derived from its events. Messages:
``pkg/controllers/disruption/events/events.go`` and ``pkg/utils/pod/events.go``. Rules: ``Nominated`` in
``pkg/controllers/state/statenode.go``, the event in ``pkg/controllers/provisioning/scheduling/events.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from karptui.kube.group import group_by
from karptui.kube.objects import Event
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.state_node import StateNode

DISRUPTION_BLOCKED: Final = "DisruptionBlocked"
UNCONSOLIDATABLE: Final = "Unconsolidatable"
CONSOLIDATION_CANDIDATE: Final = "ConsolidationCandidate"
CONSOLIDATION_APPROVED: Final = "ConsolidationApproved"
NODE_REPAIR_BLOCKED: Final = "NodeRepairBlocked"
_UNLISTED: Final = re.compile(r'Instance Type "([^"]+)" not found')
"""About a node whose price is not known: pkg/controllers/disruption/consolidation.go."""


def unlisted_type(event: Event) -> str:
    """Return the instance type that the provider does not list, according to an event; empty for other events."""
    match = _UNLISTED.match(event.message) if event.reason == UNCONSOLIDATABLE else None
    return match[1] if match is not None else ""


class PublishedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event about an object."""

    kind: str
    """``Node``, ``NodeClaim``, ``NodePool`` or ``Pod``."""
    key: str
    """Name, or ``namespace/name`` of a pod."""
    reason: str
    message: str


class Recorder:
    """Collects events; an event repeated about the same object counts once."""

    def __init__(self) -> None:
        self._published: dict[PublishedEvent, None] = {}

    def publish(self, kind: str, key: str, reason: str, message: str) -> None:
        """Publish an event about an object."""
        self._published[PublishedEvent(kind, key, reason, message)] = None

    def about_node(self, node: StateNode, reason: str, message: str) -> None:
        """Publish an event about the NodeClaim, and about the Node if it exists."""
        assert node.claim is not None
        if node.node is not None:
            self.publish("Node", node.node.name, reason, message)
        self.publish("NodeClaim", node.claim.name, reason, message)

    def blocked(self, node: StateNode, message: str) -> None:
        """Publish why a node cannot be disrupted."""
        self.about_node(node, DISRUPTION_BLOCKED, message)

    def unconsolidatable(self, node: StateNode, message: str) -> None:
        """Publish why a node is not consolidated."""
        self.about_node(node, UNCONSOLIDATABLE, message)

    def budget_blocked(self, pool_name: str, reason: str) -> None:
        """Publish that a NodePool's budget allows no disruptions for a reason."""
        message = f"No allowed disruptions for disruption reason {reason} due to blocking budget"
        self.publish("NodePool", pool_name, DISRUPTION_BLOCKED, message)

    def by_object(self) -> dict[str, list[str]]:
        """Return ``{"Kind/name": ["Reason: message"]}``, each list sorted."""
        events = group_by(self._published, lambda event: f"{event.kind}/{event.key}")
        return {name: sorted(f"{event.reason}: {event.message}" for event in events[name]) for name in sorted(events)}


_REASONS: Final = frozenset({DISRUPTION_BLOCKED, UNCONSOLIDATABLE})

_NOTHING: Final[Mapping[str, int]] = {}


class EventMessages:
    """Disruption events about Nodes and NodeClaims, by message."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._last: dict[tuple[str, str], dict[str, int]] = {}
        for event in events:
            if event.reason in _REASONS:
                times = self._last.setdefault((event.involved_kind, event.involved_name), {})
                times[event.message] = max(times.get(event.message, 0), event.last_ns)

    def about(self, node: StateNode) -> tuple[Mapping[str, int], ...]:
        """Return the messages about a node and its claim, each with the time of its last event."""
        if not self._last:
            return ()
        return tuple(
            self._last.get((kind, named.name), _NOTHING)
            for kind, named in (("Node", node.node), ("NodeClaim", node.claim))
            if named is not None
        )

    def quoted(self, node: StateNode, message: str) -> int | None:
        """Return when an event last reported exactly this message about a node, or None."""
        if not self._last or not message:
            return None
        return max((times.get(message, 0) for times in self.about(node)), default=0) or None


NOMINATED: Final = "Nominated"
_PART: Final = re.compile(r"\b(node|nodeclaim)/([^\s,]+)")
_LEAST_SECONDS: Final = 10.0


FOR_EVER_NS: Final = 2**63 - 1
"""Expiry of nominations that are renewed while they are needed."""


def window_ns(batch_max_seconds: float) -> int:
    """Return the duration of a nomination: twice the longest batch, at least ten seconds."""
    return int(max(2 * batch_max_seconds, _LEAST_SECONDS) * NS_PER_SECOND)


def nominations(
    events: Iterable[Event], nodes: Iterable[StateNode], batch_max_seconds: float, now_ns: int
) -> dict[str, int]:
    """Return when nominations presumably end, by node name; expired ones are omitted."""
    lasts = window_ns(batch_max_seconds)
    until: dict[tuple[str, str], int] = {}
    for event in events:
        if event.reason == NOMINATED and event.last_ns + lasts > now_ns:
            for kind, name in _PART.findall(event.message):
                until[kind, name] = max(until.get((kind, name), 0), event.last_ns + lasts)
    nominated: dict[str, int] = {}
    for node in nodes if until else ():
        ends = [
            until.get((kind, named.name), 0)
            for kind, named in (("node", node.node), ("nodeclaim", node.claim))
            if named is not None
        ]
        if max(ends) > now_ns:
            nominated[node.name] = max(ends)
    return nominated
