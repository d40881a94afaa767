"""Rules for modules: light lower layers, no import cycles, screens without engines, one place to write files."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp
import pytest

HEAVY = ("textual", "rich", "kubernetes", "boto3", "botocore", "yaml", "urllib3", "requests", "tree_sitter")
LIST_MODULES = """
import importlib, json, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
print(json.dumps(sorted(sys.modules)))
"""
ROOT = Path(__file__).parents[2] / "karptui"
LIVE = frozenset({"analyst", "feed", "lock", "mailbox", "replayer", "follower", "shared_base", "view"})
"""Attributes that would give a screen access to live objects."""
LIVE_TYPES = re.compile(r"\b(ClusterView|ClusterState|Inventory|Prepared|ClusterFollower|SharedBase|WhatIfBase)\b")
PACKAGE = Path(__file__).resolve().parents[2] / "karptui"
WRITERS = {
    "files.py": "the place",
    "sources/history/writer.py": "a database, made under another name first, and its lock",
    "sources/history/watch_pod.py": "a copy in a folder that is deleted when karptui ends, and messages of kubectl",
    "sources/cluster/connection_pool.py": "a key for OpenSSL, in a folder that is gone a moment later",
}
NAMES = {
    "write_text", "write_bytes", "mkstemp", "NamedTemporaryFile", "TemporaryFile", "mkdtemp", "symlink_to", "touch",
}  # fmt: skip
FLAGS = {"O_CREAT", "O_TRUNC", "O_APPEND"}
WORDS = re.compile(rf"\b(?:{'|'.join(sorted(NAMES | FLAGS))}|open\()")
"""Text that every module that writes files contains."""


def modules_behind(package: str) -> list[str]:
    """Return the modules loaded by importing a package and all its modules in a new interpreter."""
    command = [sys.executable, "-c", LIST_MODULES, package]
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    names: list[str] = json.loads(result.stdout)
    return names


@pytest.mark.parametrize(("package", "lower", "heavy"), [
    ("karptui.kube", (), {"yaml"}),
    ("karptui.karpenter", ("kube",), set()),
    ("karptui.decode", ("kube", "karpenter"), set()),
])  # fmt: skip
def test_lower_layers_import_no_heavy_modules_and_no_higher_layers(
    package: str, lower: tuple[str, ...], heavy: set[str]
) -> None:
    loaded = modules_behind(package)
    assert package in loaded
    assert {name.partition(".")[0] for name in loaded} & set(HEAVY) == heavy
    allowed = {package, *(f"karptui.{name}" for name in lower)}
    texts = {".".join(name.split(".")[:2]) for name in loaded if name.startswith("karptui.")}
    assert texts <= allowed


def test_the_first_screen_imports_no_decoder_engine_or_client() -> None:
    code = "import json, sys, karptui.app, karptui.screens.nodes; print(json.dumps(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    loaded = set(json.loads(result.stdout))
    heavy = {"yaml", "kubernetes", "boto3", "urllib3", "numpy", "tree_sitter", "karptui.decode.reader"}
    assert loaded.isdisjoint(heavy)
    engines = {"karptui.provisioning", "karptui.advice", "karptui.whatif", "karptui.aws.instance_types"}
    assert loaded.isdisjoint(engines | {"karptui.disruption.analysis_steps"})


def test_there_are_no_import_cycles() -> None:
    """Imports in functions and for type checking count too: they hide a cycle but do not remove it."""
    graph = grimp.build_graph("karptui")
    modules = graph.modules - {"karptui"}
    assert len(modules) > 400
    open_imports = {name: graph.find_modules_directly_imported_by(name) & modules for name in modules}
    while True:
        ends = {name for name, imported in open_imports.items() if not imported}
        if not ends:
            break
        open_imports = {name: imported - ends for name, imported in open_imports.items() if name not in ends}
    assert sorted(open_imports) == []


def trees() -> Iterator[tuple[str, ast.Module]]:
    for package in ("screens", "widgets"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def test_no_screen_uses_live_objects() -> None:
    texts = [
        f"{path}:{node.lineno} .{node.attr}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in LIVE
    ]
    assert texts == []


@cache
def functions(module: str) -> dict[str, str]:
    """Return the source of the parameters of a module's functions."""
    path = ROOT.parent / Path(*module.split("."))
    path = next(item for item in (path / "__init__.py", path.with_suffix(".py")) if item.is_file())
    text = path.read_text()
    body = ast.parse(text).body if LIVE_TYPES.search(text) else ()
    return {stmt.name: ast.unparse(stmt.args) for stmt in body if isinstance(stmt, ast.FunctionDef)}


def takes_live(module: str, name: str) -> bool:
    return LIVE_TYPES.search(functions(module).get(name, "")) is not None


def test_no_screen_imports_a_function_of_a_live_cluster() -> None:
    """Modules of facts also have functions that derive facts from a cluster, for the session only."""
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


def writes(tree: ast.AST) -> bool:
    """Return whether a module may create or write a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in NAMES | FLAGS:
            return True
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "open":
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            modes = [expr.value for expr in given if isinstance(expr, ast.Constant) and isinstance(expr.value, str)]
            if any(set(mode) <= set("rwaxbt+") and set(mode) & set("wax+") for mode in modes):
                return True
    return False


def test_only_listed_modules_write_files() -> None:
    texts = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if WORDS.search(text := path.read_text(encoding="utf-8")) and writes(ast.parse(text))
    }
    assert texts == set(WRITERS)


def test_every_way_to_write_a_file_is_detected() -> None:
    for text in ("open(p, 'w')", "p.open(mode='xb')", "p.write_text(t)", "os.open(p, os.O_CREAT)", "open(p, 'r+')"):
        assert WORDS.search(text), text
        assert writes(ast.parse(text)), text
    for text in ("open(p)", "p.open('rb')", "os.open(p, os.O_RDONLY)", "webbrowser.open(url)"):
        assert not writes(ast.parse(text)), text
