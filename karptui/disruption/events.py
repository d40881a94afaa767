"""What Karpenter says about disruption, word for word, the list it is collected in, and what events say about nodes.

Karpenter keeps nominations in memory only: nodes that a pending pod is expected on are known as far as events tell.
Texts: ``pkg/controllers/disruption/events/events.go`` and ``pkg/utils/pod/events.go``. Rules: ``Nominated`` in
``pkg/controllers/state/statenode.go``, the event in ``pkg/controllers/provisioning/scheduling/events.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from karptui.kube.objects import Event
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.state_node import StateNode

DISRUPTION_BLOCKED: Final = "DisruptionBlocked"
UNCONSOLIDATABLE: Final = "Unconsolidatable"
CONSOLIDATION_CANDIDATE: Final = "ConsolidationCandidate"
CONSOLIDATION_APPROVED: Final = "ConsolidationApproved"
NODE_REPAIR_BLOCKED: Final = "NodeRepairBlocked"


class Said(msgspec.Struct, frozen=True, gc=False):
    """One thing said about one object."""

    kind: str
    """``Node``, ``NodeClaim``, ``NodePool`` or ``Pod``."""
    key: str
    """Name, of pods ``namespace/name``."""
    reason: str
    message: str


class Recorder:
    """Collects what is said; the same words about the same object count once."""

    def __init__(self) -> None:
        self._said: dict[Said, None] = {}

    @property
    def said(self) -> tuple[Said, ...]:
        """Everything, in the order in which it was first said."""
        return tuple(self._said)

    def publish(self, kind: str, key: str, reason: str, message: str) -> None:
        """Say something about an object."""
        self._said[Said(kind, key, reason, message)] = None

    def about_node(self, node: StateNode, reason: str, message: str) -> None:
        """Say it about the NodeClaim, and about the Node if there is one."""
        assert node.claim is not None
        if node.node is not None:
            self.publish("Node", node.node.name, reason, message)
        self.publish("NodeClaim", node.claim.name, reason, message)

    def blocked(self, node: StateNode, message: str) -> None:
        """Say why a node cannot be disrupted."""
        self.about_node(node, DISRUPTION_BLOCKED, message)

    def unconsolidatable(self, node: StateNode, message: str) -> None:
        """Say why a node is not consolidated."""
        self.about_node(node, UNCONSOLIDATABLE, message)

    def budget_blocked(self, pool_name: str, reason: str) -> None:
        """Say that a NodePool's budget allows nothing for a reason."""
        message = f"No allowed disruptions for disruption reason {reason} due to blocking budget"
        self.publish("NodePool", pool_name, DISRUPTION_BLOCKED, message)

    def by_object(self) -> dict[str, list[str]]:
        """Return ``{"Kind/name": ["Reason: message"]}``, each list sorted."""
        lines: dict[str, list[str]] = {}
        for said in self._said:
            lines.setdefault(f"{said.kind}/{said.key}", []).append(f"{said.reason}: {said.message}")
        return {name: sorted(lines[name]) for name in sorted(lines)}


_REASONS: Final = frozenset({DISRUPTION_BLOCKED, UNCONSOLIDATABLE})

_NOTHING: Final[Mapping[str, int]] = {}


class EventMessages:
    """The disruption events about Nodes and NodeClaims, by what they say."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._last: dict[tuple[str, str], dict[str, int]] = {}
        for event in events:
            if event.reason in _REASONS:
                said = self._last.setdefault((event.involved_kind, event.involved_name), {})
                said[event.message] = max(said.get(event.message, 0), event.last_ns)

    def about(self, node: StateNode) -> tuple[Mapping[str, int], ...]:
        """Return what is said about a node and about its claim, each with when it was said last."""
        if not self._last:
            return ()
        return tuple(
            self._last.get((kind, named.name), _NOTHING)
            for kind, named in (("Node", node.node), ("NodeClaim", node.claim))
            if named is not None
        )

    def quoted(self, node: StateNode, message: str) -> int | None:
        """Return when an event last said exactly this about a node, None where none did."""
        if not self._last or not message:
            return None
        return max((said.get(message, 0) for said in self.about(node)), default=0) or None


NOMINATED: Final = "Nominated"
_PART: Final = re.compile(r"\b(node|nodeclaim)/([^\s,]+)")
_LEAST_SECONDS: Final = 10.0


def window_ns(batch_max_seconds: float) -> int:
    """Return how long a nomination lasts: twice the longest batch, ten seconds at least."""
    return int(max(2 * batch_max_seconds, _LEAST_SECONDS) * NS_PER_SECOND)


def nominations(
    events: Iterable[Event], nodes: Iterable[StateNode], batch_max_seconds: float, now_ns: int
) -> dict[str, int]:
    """Return by node name until when a nomination is taken to last; those that are over are left out."""
    lasts = window_ns(batch_max_seconds)
    until: dict[tuple[str, str], int] = {}
    for event in events:
        if event.reason == NOMINATED and event.last_ns + lasts > now_ns:
            for kind, name in _PART.findall(event.message):
                until[kind, name] = max(until.get((kind, name), 0), event.last_ns + lasts)
    found: dict[str, int] = {}
    for node in nodes if until else ():
        ends = [
            until.get((kind, named.name), 0)
            for kind, named in (("node", node.node), ("nodeclaim", node.claim))
            if named is not None
        ]
        if max(ends) > now_ns:
            found[node.name] = max(ends)
    return found
