"""Screens and widgets hold values: no cluster, no engine and no lock, and nothing that leads to one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2] / "karptui"
LIVE = frozenset({"analyst", "feed", "lock", "mailbox", "replayer", "follower", "shared_base", "view"})
"""Attributes that would lead to something that lives."""
LIVE_TYPES = re.compile(r"\b(ClusterView|ClusterState|Inventory|Prepared|ClusterFollower|SharedBase|WhatIfBase)\b")


def trees() -> Iterator[tuple[str, ast.Module]]:
    for package in ("screens", "widgets"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def test_no_screen_reaches_for_anything_that_lives() -> None:
    texts = [
        f"{path}:{node.lineno} .{node.attr}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in LIVE
    ]
    assert texts == []


@cache
def functions(module: str) -> dict[str, str]:
    """Return the parameters of a module's functions, as they are written."""
    path = ROOT.parent / Path(*module.split("."))
    path = next(item for item in (path / "__init__.py", path.with_suffix(".py")) if item.is_file())
    text = path.read_text()
    body = ast.parse(text).body if LIVE_TYPES.search(text) else ()
    return {stmt.name: ast.unparse(stmt.args) for stmt in body if isinstance(stmt, ast.FunctionDef)}


def takes_live(module: str, name: str) -> bool:
    return LIVE_TYPES.search(functions(module).get(name, "")) is not None


def test_no_screen_calls_what_takes_a_cluster() -> None:
    """Modules of facts hold also what makes facts of a cluster: that is for the session's side."""
    assert takes_live("karptui.session.types_of_pools", "pool_entries")
    texts = [
        f"{path}: {node.module}.{name.name}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("karptui.")
        for name in node.names
        if takes_live(node.module, name.name)
    ]
    assert texts == []
