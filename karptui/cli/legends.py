"""Columns and codes in the help of a command, from the screens' help."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

from karptui.cli.pages import Entry, Section

_TABLES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "nodes": {"columns": "nodes.columns:nodes_table"},
        "pools": {"columns": "pools.columns:pools_table", "columns of --pool": "pools.detail:DAEMONSETS"},
        "pods": {"columns": "pods:TABLE"},
        "pending": {"columns": "pending.columns:TABLE"},
        "remedies": {"columns": "blockers.trials:REPORT"},
        "next": {"columns": "next:TABLE"},
        "drill": {"columns": "drill:TABLE"},
        "headroom": {
            "columns": "headroom:TABLE",
            "columns of one pod": "headroom:POOLS_TABLE",
            "columns of a NodePool": "headroom:POOL_TABLE",
        },
        "policies": {"columns": "values:TABLE"},
        "pause": {"columns": "pause:TABLE"},
        "rollout": {"columns": "rollout:TABLE"},
        "timeouts": {"columns": "timeouts:TABLE"},
        "rehearse": {"columns": "rehearsal:TABLE"},
        "claims": {"columns": "claims:TABLE"},
        "rightsize": {"columns": "rightsize:TABLE"},
        "capacity": {
            "columns": "capacity:capacity_table",
            "columns of --by namespace, owner and label=KEY": "dollars:dollars_table",
        },
        "churn": {"columns": "churn.columns:TABLE", "columns of --replacements": "churn.replacements:TABLE"},
        "changes": {"columns": "changes:TABLE"},
        "history": {"columns": "history:TABLE"},
        "budgets": {"columns": "budgets.columns:budgets_table"},
        "types": {"columns": "types.pools:TABLE", "columns of --pool": "types.columns:types_table"},
        "events": {"columns": "events:TABLE"},
        "advice": {"columns": "advice:TABLE"},
    }
)
"""Tables in ``karptui.views`` by command and title."""


def legend_of(command: str) -> tuple[Section, ...]:
    """Return titled lists: the columns of a command's tables, then their codes."""
    tables = tuple((title, _columns(place)) for title, place in _TABLES.get(command, {}).items())
    if command == "blockers":
        from karptui.cli.blockers import COLUMNS

        tables = (("columns", tuple(COLUMNS.values())),)
    return (*tables, *_codes(command))


def _columns(place: str) -> tuple[Entry, ...]:
    module, _, name = place.partition(":")
    table: Any = getattr(import_module(f"karptui.views.{module}"), name)
    table = table() if callable(table) else table
    return _entries((heading.title, heading.help) for heading in table.headings())


def _codes(command: str) -> tuple[Section, ...]:
    match command:
        case "nodes" | "next" | "explain":
            from karptui.views.why.labels import legend

            return (("labels of WHY, worst first", _entries(legend())),)
        case "blockers" | "simulate":
            from karptui.disruption.codes import CODES

            return (("codes of blockers", _entries((str(code), CODES[code].meaning) for code in CODES)),)
        case "forward" | "plan":
            from karptui.disruption.codes import meanings_by_word

            return (("codes of blockers", _entries(meanings_by_word().items())),)
        case "pending":
            from karptui.views.pending.sentences import CAUSE_HELP

            return (("causes of pending pods, for --filter", _entries(CAUSE_HELP)),)
        case _:
            return ()


def _entries(pairs: Iterable[tuple[str, str]]) -> tuple[Entry, ...]:
    return tuple(Entry(*pair) for pair in pairs)
