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

Every key, by where it works. The id is what `keymap` in the [configuration](configuration.md) gives other keys to.
`?` shows the keys of the screen in front of you. This page is made from the bindings by `tools/make_keys.py`.
"""


def classes() -> Iterator[type[DOMNode]]:
    """Yield the app, every screen and every widget that binds keys, in order of their modules."""
    yield KarptuiApp
    for package in (karptui.screens, karptui.widgets):
        for module in sorted(pkgutil.walk_packages(package.__path__, f"{package.__name__}."), key=lambda one: one.name):
            found = importlib.import_module(module.name)
            for _, item in inspect.getmembers(found, inspect.isclass):
                if item.__module__ == module.name and issubclass(item, DOMNode) and "BINDINGS" in vars(item):
                    yield item


def lines() -> Iterator[str]:
    """Yield the page line by line."""
    yield from HEAD.splitlines()
    for item in classes():
        bindings = [one for one in vars(item)["BINDINGS"] if isinstance(one, Binding) and one.id and one.description]
        if not bindings:
            continue
        title = (inspect.getdoc(item) or item.__name__).splitlines()[0].rstrip(".")
        yield ""
        yield f"## {title}"
        yield ""
        yield "| key | | id |"
        yield "|---|---|---|"
        for one in bindings:
            keys = " ".join(f"`{key}`" for key in (one.key_display or one.key).split(","))
            yield f"| {keys} | {one.tooltip or one.description} | `{one.id}` |"


if __name__ == "__main__":
    PAGE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
