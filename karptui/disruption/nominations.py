"""Nodes that a pending pod is expected on, as far as events tell: Karpenter keeps nominations in memory only.

Rules: ``Nominated`` in ``pkg/controllers/state/statenode.go``, the event in
``pkg/controllers/provisioning/scheduling/events.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from karptui.kube.event import Event
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.state_node import StateNode

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
