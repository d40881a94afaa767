"""What events say about nodes: corroboration, as only the first message of a while is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karptui.disruption.events import DISRUPTION_BLOCKED, UNCONSOLIDATABLE
from karptui.kube.event import Event
from karptui.provisioning.state_node import StateNode

_REASONS: Final = frozenset({DISRUPTION_BLOCKED, UNCONSOLIDATABLE})


class SaidIndex:
    """The disruption events about Nodes and NodeClaims, by what they say."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._last: dict[tuple[str, str, str], int] = {}
        for event in events:
            if event.reason in _REASONS:
                key = (event.involved_kind, event.involved_name, event.message)
                self._last[key] = max(self._last.get(key, 0), event.last_ns)

    def quoted(self, node: StateNode, message: str) -> int | None:
        """Return when an event last said exactly this about a node, None where none did."""
        if not self._last or not message:
            return None
        found = [
            self._last.get((kind, named.name, message), 0)
            for kind, named in (("Node", node.node), ("NodeClaim", node.claim))
            if named is not None
        ]
        return max(found, default=0) or None
