"""Write docs/schema, the schemas of `-o json`, from the columns of each table and the values of each document.

    python tools/make_json_schemas.py

Parts of a document that the code does not declare are written by hand in the schemas, and are kept.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from karptui.views import pause, plan, rightsize, rollout, solve, timeouts, values
from karptui.views.actions import TABLE as AUDIT
from karptui.views.advice import TABLE as ADVICE
from karptui.views.blockers.trials import REPORT as REMEDIES
from karptui.views.budgets.columns import budgets_table
from karptui.views.capacity import capacity_table
from karptui.views.changes import TABLE as CHANGES
from karptui.views.churn.columns import TABLE as CHURN
from karptui.views.churn.replacements import TABLE as REPLACEMENTS
from karptui.views.claims import TABLE as CLAIMS
from karptui.views.column import Value, one_of, row_schema, texts
from karptui.views.dollars import dollars_table
from karptui.views.drill import TABLE as DRILL
from karptui.views.events import TABLE as EVENTS
from karptui.views.forward.columns import PLAYED
from karptui.views.headroom import TABLE as HEADROOM
from karptui.views.history import TABLE as HISTORY
from karptui.views.next import TABLE as NEXT
from karptui.views.nodes.columns import nodes_table
from karptui.views.pending.columns import TABLE as PENDING
from karptui.views.pods import TABLE as PODS
from karptui.views.pools.columns import pools_table
from karptui.views.pools.detail import DAEMONSETS
from karptui.views.rehearsal import TABLE as REHEARSE
from karptui.views.table import TableSpec
from karptui.views.types.columns import types_table
from karptui.views.types.pools import TABLE as TYPES_OF_POOLS
from karptui.views.whatif.compare import SELF_CHECK
from karptui.views.whatif.document import ANSWER
from karptui.whatif.scenario import Replay

WIDTH: Final = 120
"""Maximum length of a line."""
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
    "capacity-dollars": (dollars_table(), ("items",)),
    "next": (NEXT, ("properties", "nodes", "items")),
    "audit": (AUDIT, ("items",)),
    "changes": (CHANGES, ("items",)),
    "history": (HISTORY, ("items",)),
    "churn": (CHURN, ("properties", "pools", "items")),
    "churn-replacements": (REPLACEMENTS, ("properties", "replacements", "items")),
    "pool": (DAEMONSETS, ("properties", "daemonsets", "items")),
}
"""Table of each document, and the path to the schema of its rows."""
OBJECTS: Final[Mapping[str, tuple[TableSpec[Any], tuple[str, ...]]]] = {
    "pool": (pools_table(), ()),
    "ledger": (types_table(), ()),
    "explain-pool": (pools_table(), ("items",)),
    "explain-node": (nodes_table(), ("items",)),
    "explain-pod": (PENDING, ("items",)),
    "explain-bound-pod": (PODS, ("items",)),
}
"""Documents of one object that contain all values of its row and more: the table, and the path to the object."""


CLUSTER: Final = Value[Any](
    "cluster", lambda *_: None, str, "Name of the snapshot, if there are several.", is_optional=True
)
NAME: Final = Value[Any]("name", lambda *_: None, str, "Name of the cluster or snapshot.")
VERSIONS: Final = (
    Value[Any]("karpenterFound", lambda *_: None, str | None, "Version found in the cluster; null if unknown."),
    Value[Any]("karpenterModelled", lambda *_: None, str, "Version whose rules decided."),
)


def listed(values: Iterable[Value[Any]]) -> dict[str, Any]:
    """Return the schema of a list of records."""
    return {"type": "array", "items": row_schema(values)}


def rows(name: str, table: TableSpec[Any], about: str) -> Value[Any]:
    """Return the rows of a table as a value of a document."""
    return Value(name, lambda *_: None, listed(table.published()), about)


def definitions(*names: str) -> dict[str, Any]:
    """Return definitions from the schema of `simulate`, which is written by hand."""
    simulate = json.loads((SCHEMAS / "simulate.json").read_text(encoding="utf-8"))
    parts = {**simulate["$defs"], "provisioning": simulate["properties"]["provisioning"]}
    return {"$defs": {name: parts[name] for name in names}}


def or_error(values: Iterable[Value[Any]], always: tuple[Value[Any], ...]) -> dict[str, Any]:
    """Return the schema of a document that has only an error if there is no answer."""
    error = Value[Any]("error", lambda *_: None, str, "Why there is no answer.")
    schema = row_schema((*always, error, *values))
    return {**schema, "required": [value.name for value in always if not value.is_optional]}


SCENARIO: Final = Value[Any]("scenario", lambda *_: None, str)
REFUSED: Final = "Edits that the API server would reject; the rest assumes it did not."
DOCUMENTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "drill": listed((CLUSTER, *DRILL.published())),
    "headroom": listed((CLUSTER, *HEADROOM.published())),
    "rehearse": listed((CLUSTER, *REHEARSE.published())),
    "timeouts": row_schema((NAME, *timeouts.REPORT, rows("nodes", timeouts.TABLE, "In their order."), *VERSIONS)),
    "forward": or_error((*PLAYED, *VERSIONS), (NAME, msgspec.structs.replace(SCENARIO, is_optional=True))),
    "solve": row_schema((NAME, *solve.REPORT, *VERSIONS)),
    "plan": {
        **row_schema((*plan.REPORT, texts("objects", lambda _: (), "Kind/name of the manifests."), *VERSIONS)),
        **definitions("provisioning", "claim", "requirement"),
    },
    "simulate-scenario": or_error(
        (
            Value("sentence", lambda *_: None, str, "The answer in one or two sentences."),
            texts("refused", lambda _: (), REFUSED),
            *ANSWER,
            texts("failed", lambda _: ()),
            Value(
                "place",
                lambda *_: None,
                {"type": "integer", "minimum": 1},
                "Rank among several scenarios, 1 for the best.",
            ),
            Value("comparison", lambda *_: None, str, "Which of several scenarios is best, and why."),
        ),
        (NAME, SCENARIO),
    ),
    "simulate-self-check": or_error(SELF_CHECK, (NAME,)),
    "sweep": or_error(
        (
            Value("parameter", lambda *_: None, str),
            Value("replay", lambda *_: None, one_of(*Replay)),
            Value("points", lambda *_: None, listed(values.POINT)),
        ),
        (NAME,),
    ),
    "pause": row_schema(
        (NAME, *pause.REPORT, rows("removals", pause.TABLE, "First what goes on all the same."), *VERSIONS)
    ),
    "rollout": row_schema(
        (NAME, *rollout.REPORT, rows("nodes", rollout.TABLE, "Nodes that are not current."), *VERSIONS)
    ),
    "rightsize": row_schema(
        (NAME, *rightsize.REPORT, rows("workloads", rightsize.TABLE, "Most valuable first."), *VERSIONS)
    ),
    "policies": row_schema(
        (NAME, *values.REPORT, rows("outcomes", values.TABLE, "The cluster as it is first."), *VERSIONS)
    ),
}
"""Documents whose schema is made completely from declared values."""


def schema(name: str) -> dict[str, Any]:
    """Return the schema of a document, with its rows made from the columns of the table."""
    if name in DOCUMENTS:
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"karptui {name} -o json"}
        return {**head, **DOCUMENTS[name]}
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
    return compact(schema(name)) + "\n"


def compact(value: Any, indent: str = "", taken: int = 0) -> str:
    """Return JSON with each value on one line if it fits.

    Args:
        value: The JSON value.
        indent: Indentation of its lines.
        taken: Number of characters before it in its first line.
    """
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent) + taken + len(flat) < WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    inner = f"{indent}  "
    if isinstance(value, list):
        if all(isinstance(item, str) for item in value):
            lines = textwrap.wrap(
                flat,
                WIDTH,
                initial_indent=" " * (len(indent) + taken),
                subsequent_indent=f"{inner} ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            return "\n".join(lines).lstrip()
        return "[\n" + ",\n".join(f"{inner}{compact(item, inner)}" for item in value) + f"\n{indent}]"
    pairs = ((json.dumps(key), item) for key, item in value.items())
    return (
        "{\n"
        + ",\n".join(f"{inner}{key}: {compact(item, inner, len(key) + 2)}" for key, item in pairs)
        + f"\n{indent}}}"
    )


def main() -> None:
    """Write every schema."""
    for name in sorted({*(path.stem for path in SCHEMAS.glob("*.json")), *DOCUMENTS}):
        (SCHEMAS / f"{name}.json").write_text(text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
