"""Which keys the footer shows first, and what it calls them where room is short."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

FIRST: Final = (
    "whatif.edit",
    "whatif.add",
    "whatif.mode",
    "whatif.scenarios",
    "whatif.compare",
    "whatif.sweep",
    "whatif.export",
    "whatif.undo",
    "table.select",
    "nodes.explain",
    "pods.explain",
    "pending.explain",
    "pending.nodes",
    "pending.ledger",
    "blockers.remedies",
    "blockers.group",
    "blockers.next",
    "claims.churn",
    "events.churn",
    "churn.replacements",
    "replacements.successor",
    "replacements.events",
    "pools.nodes",
    "pools.types",
    "pools.share",
    "pool.nodes",
    "pool.types",
    "text.copy",
)
"""Ids of bindings, the most important first; what else a screen has of its own follows."""
LAST: Final = (
    "screen.whatif",
    "list.filter",
    "screen.command",
    "list.wide",
    "list.notable",
    "screen.help",
    "screen.leave",
)
"""What every screen has, after what only this one has."""
SHORT: Final = MappingProxyType(
    {"whatif.edit": "YAML", "whatif.add": "Add", "whatif.scenarios": "Scenario", "screen.command": "Cmd"}
)
"""By the id of a binding what it is called where its description has no room."""
