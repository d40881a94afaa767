"""Write docs/keys.md from the bindings: python tools/make_keys.py. A test compares the page with them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from textual.binding import Binding
from textual.dom import DOMNode

import karptui.screens
import karptui.widgets
from karptui.app import KarptuiApp

PAGE = Path(__file__).parents[1] / "docs" / "keys.md"
HEAD = """\
# Keys

Grouped by task. `?` shows the keys of the current screen, `:` accepts every screen
and command by name, and the mouse works too. Use the id in the last column to change a key with `keymap` in the
[configuration](configuration.md). `tools/make_keys.py` generates this page from the bindings.
"""
GROUPS = {
    "Go to a screen, and back": ("app", "screen", "moment"),
    "Move in a table": ("table", "list", "object"),
    "Why a node is still here, and its cost": ("nodes", "node", "blockers", "remedies", "next"),
    "Why a pod is pending, and changes that help": ("pending", "pods", "headroom"),
    "NodePools, budgets and instance types": ("pools", "pool", "budgets", "types", "ledger"),
    "NodeClaims, drift, expiration and churn": ("claims", "churn", "replacements", "events"),
    "Capacity and packing": ("capacity", "dollars", "packing"),
    "Advice": ("advice",),
    "Try a change: the what-if": ("whatif", "control", "lines", "editor", "compare", "sweep"),
    "Forecasts and questions about the whole cluster": ("forward", "study"),
    "Dialogs and texts": ("prompt", "ask", "pick", "checklist", "text", "help"),
}
"""Headings, with the id prefixes of their keys."""
WHERE = {
    "app": "everywhere",
    "screen": "everywhere",
    "moment": "everywhere",
    "table": "every table",
    "list": "every table and list",
    "object": "every table",
    "nodes": "Nodes",
    "node": "a node",
    "blockers": "Blockers",
    "remedies": "remedies",
    "next": "Next",
    "pending": "Pending, a pending pod",
    "pods": "Pods",
    "headroom": "Pending, Pods",
    "pools": "Pools",
    "pool": "a NodePool",
    "budgets": "Budgets",
    "types": "types of a NodePool",
    "ledger": "the ledger of a type",
    "claims": "Claims",
    "churn": "Churn",
    "replacements": "replacements, from Churn",
    "events": "Events",
    "capacity": "Capacity",
    "dollars": "Capacity by namespace or owner",
    "packing": "Packing",
    "advice": "Advice",
    "whatif": "What-if",
    "control": "What-if, its fields",
    "lines": "What-if, its result",
    "editor": "What-if, its YAML",
    "compare": "What-if, scenarios compared",
    "sweep": "What-if, a sweep",
    "forward": "Forward",
    "study": "Policies, headroom and other studies",
    "prompt": "filter and command line",
    "ask": "input line",
    "pick": "choice of one",
    "checklist": "choice of several",
    "text": "YAML, descriptions",
    "help": "help",
}
OTHERS = "Other keys"


def classes() -> Iterator[type[DOMNode]]:
    """Yield the app, every screen and every widget that binds keys, in order of their modules."""
    yield KarptuiApp
    for package in (karptui.screens, karptui.widgets):
        for module in sorted(pkgutil.walk_packages(package.__path__, f"{package.__name__}."), key=lambda one: one.name):
            found = importlib.import_module(module.name)
            for _, item in inspect.getmembers(found, inspect.isclass):
                if item.__module__ == module.name and issubclass(item, DOMNode) and "BINDINGS" in vars(item):
                    yield item


def rows() -> dict[str, list[str]]:
    """Return the rows of the page by heading."""
    wants = {prefix: title for title, prefixes in GROUPS.items() for prefix in prefixes}
    found: dict[str, dict[str, list[str]]] = {title: {} for title in (*GROUPS, OTHERS)}
    for item in classes():
        for one in vars(item)["BINDINGS"]:
            if not isinstance(one, Binding) or not one.id or not one.description:
                continue
            prefix = one.id.partition(".")[0]
            keys = " ".join(f"`{key}`" for key in (one.key_display or one.key).split(","))
            row = f"| {one.tooltip or one.description} | {keys} | {WHERE.get(prefix, prefix)} | `{one.id}` |"
            of_prefix = found[wants.get(prefix, OTHERS)].setdefault(prefix, [])
            if row not in of_prefix:
                of_prefix.append(row)
    return {
        title: [row for prefix in (*GROUPS.get(title, ()), *by_prefix) for row in by_prefix.pop(prefix, ())]
        for title, by_prefix in ((title, dict(by_prefix)) for title, by_prefix in found.items())
    }


def lines() -> Iterator[str]:
    """Yield the page line by line."""
    yield from HEAD.splitlines()
    for title, found in rows().items():
        if found:
            yield ""
            yield f"## {title}"
            yield ""
            yield "| action | keys | screen | id |"
            yield "|---|---|---|---|"
            yield from found


if __name__ == "__main__":
    PAGE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
