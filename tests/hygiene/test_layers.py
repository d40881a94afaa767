"""Every module of the package stands in an import contract."""

from __future__ import annotations

import pkgutil
import tomllib
from pathlib import Path

import karptui

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def in_layers() -> set[str]:
    [layers] = [contract for contract in CONTRACTS if contract["type"] == "layers"]
    assert layers["exhaustive"]
    return {name.strip() for layer in layers["layers"] for name in layer.split("|")}


def test_a_new_package_or_module_needs_a_layer() -> None:
    there = {info.name for info in pkgutil.iter_modules(karptui.__path__)}
    assert there - in_layers() == set()


def test_a_layer_that_is_gone_is_not_named() -> None:
    there = {info.name for info in pkgutil.iter_modules(karptui.__path__)}
    assert in_layers() - there == set()


def test_what_contracts_forbid_is_there() -> None:
    for contract in CONTRACTS:
        for name in (*contract.get("source_modules", ()), *contract.get("forbidden_modules", ())):
            path = ROOT / Path(*name.split("."))
            assert not name.startswith("karptui") or path.is_dir() or path.with_suffix(".py").is_file(), name
