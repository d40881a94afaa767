"""Nodes that pods may go to, by room, by kind and by provider id, as bit sets: node *i* is bit *i*."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from karptui.provisioning.amounts import Columns
from karptui.provisioning.destination import Destination, DestinationKind
from karptui.provisioning.ladder import Ladder, roomy


class DestinationIndex:
    """Index of the destinations before a run places anything on them."""

    def __init__(self, destinations: Sequence[Destination], columns: Columns) -> None:
        self.kinds: dict[DestinationKind, int] = {}
        """Destinations of each kind, as bits."""
        self._place: dict[str, int] = {}
        amounts: list[dict[int, int]] = [{} for _ in columns.names]
        for destination in destinations:
            bit = 1 << destination.index
            self._place[destination.state.provider_id] = bit
            self.kinds[destination.kind] = self.kinds.get(destination.kind, 0) | bit
            if not destination.is_full:
                for column, amount in zip(amounts, destination.room, strict=True):
                    column[amount] = column.get(amount, 0) | bit
        self._ladders = [Ladder(column) for column in amounts]

    def roomy(self, need: Sequence[int]) -> int:
        """Return the destinations that have room for a row of amounts."""
        return roomy(self._ladders, need)

    def of(self, provider_ids: Iterable[str]) -> int:
        """Return the destinations with these provider ids."""
        nodes = 0
        for provider_id in provider_ids:
            nodes |= self._place.get(provider_id, 0)
        return nodes
