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

By what one wants to do. `?` shows the keys of the screen in front of you, first of all its own; `:` takes every screen
and command by name, and the mouse works too. The last column is the id by which `keymap` in the
[configuration](configuration.md) gives a key to something else. This page is made from the bindings by
`tools/make_keys.py`.
"""
GROUPS = {
    "Go to a screen, and back": ("app", "screen", "moment"),
    "Find one's way in a table": ("table", "list", "object"),
    "See why a node is still here, and what that costs": ("nodes", "node", "blockers", "remedies", "next"),
    "See why a pod waits, and where it could go": ("pending", "pods", "headroom"),
    "Look at NodePools, their budgets and their instance types": ("pools", "pool", "budgets", "types", "ledger"),
    "Look at NodeClaims, drift, expiry and churn": ("claims", "churn", "replacements", "events"),
    "See where the capacity is": ("capacity", "packing"),
    "Take advice": ("advice",),
    "Try a change before it is made: the what-if": ("whatif", "control", "lines", "editor", "compare", "sweep"),
    "See what the next hours bring, and ask about the whole cluster": ("forward", "study"),
    "Answer what is asked, and read a text": ("prompt", "ask", "pick", "checklist", "text", "help"),
}
"""What one wants to do, by the ids of keys up to their dot."""
WHERE = {
    "app": "everywhere",
    "screen": "everywhere",
    "moment": "a cluster played forward",
    "table": "every table",
    "list": "every table and list",
    "object": "every table",
    "nodes": "Nodes",
    "node": "a node",
    "blockers": "Blockers",
    "remedies": "remedies",
    "next": "Next",
    "pending": "Pending, a pod that waits",
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
    "packing": "Packing",
    "advice": "Advice",
    "whatif": "What-if",
    "control": "What-if, its fields",
    "lines": "What-if, its result",
    "editor": "What-if, its YAML",
    "compare": "What-if, scenarios compared",
    "sweep": "What-if, a sweep",
    "forward": "Forward",
    "study": "Policies, headroom and the like",
    "prompt": "filter and command line",
    "ask": "a line that is asked for",
    "pick": "one of several",
    "checklist": "some of several",
    "text": "YAML, descriptions",
    "help": "help",
}
OTHERS = "And beyond these"


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
    """Return the rows of the page by what one wants to do."""
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
            yield "| to | keys | where | id |"
            yield "|---|---|---|---|"
            yield from found


if __name__ == "__main__":
    PAGE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
