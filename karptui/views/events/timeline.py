"""The time line of a cluster, with what objects that stayed the same have told kept."""

from __future__ import annotations

from collections.abc import Mapping

from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.event import Event
from karptui.kube.node import Node
from karptui.session.cluster_view import ClusterView
from karptui.views.events.entry import EventEntry, folded, transitions


class Timeline:
    """Makes the rows of the Events screen, again only where something has changed."""

    def __init__(self) -> None:
        self._sources: tuple[object, object, object] = (None, None, None)
        self._entries: tuple[EventEntry, ...] = ()
        self._events: Mapping[str, Event] | None = None
        self._folded: tuple[EventEntry, ...] = ()
        self._known: dict[str, tuple[Node | NodeClaim, tuple[EventEntry, ...]]] = {}

    def entries(self, view: ClusterView) -> tuple[EventEntry, ...]:
        """Return a row for every object and reason; the same object for the same events, nodes and claims."""
        state = view.state
        sources = (state.events, state.nodes, state.nodeclaims)
        if all(known is found for known, found in zip(self._sources, sources, strict=True)):
            return self._entries
        if self._events is not state.events:
            self._events, self._folded = state.events, folded(state.events.values())
        known: dict[str, tuple[Node | NodeClaim, tuple[EventEntry, ...]]] = {}
        for kind, items in (("Node", state.nodes), ("NodeClaim", state.nodeclaims)):
            for name, item in items.items():
                before = self._known.get(f"{kind}/{name}")
                known[f"{kind}/{name}"] = (
                    before if before is not None and before[0] is item else (item, tuple(transitions(item)))
                )
        told = (entry for _, entries in known.values() for entry in entries)
        self._known, self._sources = known, sources
        self._entries = (*self._folded, *told)
        return self._entries
