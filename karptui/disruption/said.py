"""What events say about nodes: corroboration, as only the first message of a while is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from karptui.disruption.events import DISRUPTION_BLOCKED, UNCONSOLIDATABLE
from karptui.kube.event import Event
from karptui.provisioning.state_node import StateNode

_REASONS: Final = frozenset({DISRUPTION_BLOCKED, UNCONSOLIDATABLE})

_NOTHING: Final[Mapping[str, int]] = {}


class SaidIndex:
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
