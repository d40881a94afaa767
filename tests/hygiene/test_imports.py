"""The lower layers stay light: what reads and decides pulls in neither the screen nor the clients."""

from __future__ import annotations

import json
import subprocess
import sys

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


@pytest.mark.parametrize(
    ("package", "lower"),
    [
        ("karptui.kube", ()),
        ("karptui.karpenter", ("kube",)),
        ("karptui.decode", ("kube", "karpenter")),
    ],
)
def test_lower_layers_load_nothing_heavy_and_nothing_above(package: str, lower: tuple[str, ...]) -> None:
    loaded = modules_behind(package)
    assert package in loaded
    assert [name for name in loaded if name.partition(".")[0] in HEAVY] == []
    allowed = {package, *(f"karptui.{name}" for name in lower)}
    own = {".".join(name.split(".")[:2]) for name in loaded if name.startswith("karptui.")}
    assert own <= allowed


def test_the_check_sees_what_a_module_pulls_in() -> None:
    assert {"yaml", "json"} <= set(modules_behind("yaml"))
