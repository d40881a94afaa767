"""Write the rows of docs/schema anew from the columns of each table: what `-o json` may hold.

    python tools/make_json_schemas.py

Parts of a document that are not rows of a table are written by hand; they stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from karptui.views.advice import TABLE as ADVICE
from karptui.views.blockers.trials import REPORT as REMEDIES
from karptui.views.budgets.columns import budgets_table
from karptui.views.capacity import capacity_table
from karptui.views.churn.columns import TABLE as CHURN
from karptui.views.churn.replacements import TABLE as REPLACEMENTS
from karptui.views.claims.columns import TABLE as CLAIMS
from karptui.views.column import row_schema
from karptui.views.events import TABLE as EVENTS
from karptui.views.next import TABLE as NEXT
from karptui.views.nodes.columns import nodes_table
from karptui.views.pending.columns import TABLE as PENDING
from karptui.views.pods import TABLE as PODS
from karptui.views.pools.columns import pools_table
from karptui.views.pools.detail import DAEMONSETS
from karptui.views.table import TableSpec
from karptui.views.types.columns import types_table
from karptui.views.types.pools import TABLE as TYPES_OF_POOLS

SCHEMAS: Final = Path(__file__).resolve().parent.parent / "docs" / "schema"
ROWS: Final[Mapping[str, tuple[TableSpec[Any], tuple[str, ...]]]] = {
    "nodes": (nodes_table(), ("items",)),
    "pods": (PODS, ("items",)),
    "claims": (CLAIMS, ("items",)),
    "pools": (pools_table(), ("items",)),
    "budgets": (budgets_table(), ("items",)),
    "events": (EVENTS, ("items",)),
    "pending": (PENDING, ("items",)),
    "advice": (ADVICE, ("items",)),
    "remedies": (REMEDIES, ("items",)),
    "types": (TYPES_OF_POOLS, ("items",)),
    "types-of-pool": (types_table(), ("items",)),
    "capacity": (capacity_table("zone"), ("items",)),
    "next": (NEXT, ("properties", "nodes", "items")),
    "churn": (CHURN, ("properties", "pools", "items")),
    "churn-replacements": (REPLACEMENTS, ("properties", "replacements", "items")),
    "pool": (DAEMONSETS, ("properties", "daemonsets", "items")),
}
"""By document, the table and where its rows stand."""
OBJECTS: Final[Mapping[str, tuple[TableSpec[Any], tuple[str, ...]]]] = {
    "pool": (pools_table(), ()),
    "ledger": (types_table(), ()),
    "explain-pool": (pools_table(), ("items",)),
    "explain-node": (nodes_table(), ("items",)),
    "explain-pod": (PENDING, ("items",)),
    "explain-bound-pod": (PODS, ("items",)),
}
"""Documents of one object that hold all values of its row, and more: the table, and where the object stands."""


def schema(name: str) -> dict[str, Any]:
    """Return a document's schema with its rows as their columns are."""
    document: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    if name in ROWS:
        table, path = ROWS[name]
        at(document, path[:-1])[path[-1]] = row_schema(table.published())
    if name in OBJECTS:
        table, path = OBJECTS[name]
        at(document, path)["properties"] |= row_schema(table.published())["properties"]
    return document


def at(document: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return the part of a document at a path."""
    for key in path:
        document = document[key]
    return document


def text(name: str) -> str:
    """Return the text of a document's schema."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write every schema that has rows of a table."""
    for name in sorted({*ROWS, *OBJECTS}):
        (SCHEMAS / f"{name}.json").write_text(text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
