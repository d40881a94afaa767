"""The lower layers stay light, and no module imports what imports it."""

from __future__ import annotations

import json
import subprocess
import sys

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


def modules_behind(package: str) -> list[str]:
    """Return every module that is loaded once a package and all its modules are imported in a fresh interpreter."""
    command = [sys.executable, "-c", LIST_MODULES, package]
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    names: list[str] = json.loads(result.stdout)
    return names


@pytest.mark.parametrize(("package", "lower", "heavy"), [
    ("karptui.kube", (), {"yaml"}),
    ("karptui.karpenter", ("kube",), set()),
    ("karptui.decode", ("kube", "karpenter"), set()),
])  # fmt: skip
def test_lower_layers_load_nothing_heavy_or_above(package: str, lower: tuple[str, ...], heavy: set[str]) -> None:
    loaded = modules_behind(package)
    assert package in loaded
    assert {name.partition(".")[0] for name in loaded} & set(HEAVY) == heavy
    allowed = {package, *(f"karptui.{name}" for name in lower)}
    texts = {".".join(name.split(".")[:2]) for name in loaded if name.startswith("karptui.")}
    assert texts <= allowed


def test_the_first_screen_loads_no_decoder_no_engine_and_no_client() -> None:
    code = "import json, sys, karptui.app, karptui.screens.nodes; print(json.dumps(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    loaded = set(json.loads(result.stdout))
    heavy = {"yaml", "kubernetes", "boto3", "urllib3", "numpy", "tree_sitter", "karptui.decode.reader"}
    assert loaded.isdisjoint(heavy)
    engines = {"karptui.provisioning", "karptui.advice", "karptui.whatif", "karptui.aws.instance_types"}
    assert loaded.isdisjoint(engines | {"karptui.disruption.analysis_steps"})


def test_there_are_no_import_circles() -> None:
    """Imports inside functions and for type checking count as well: they hide a circle, they do not end it."""
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
