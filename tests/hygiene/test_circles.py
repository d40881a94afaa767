"""No module of the lower floors imports, however far round, what imports it."""

from __future__ import annotations

import grimp
import pytest

FLOORS = ("kube", "karpenter", "decode", "aws", "provisioning", "disruption", "state")


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("karptui")


@pytest.mark.parametrize("floor", FLOORS)
def test_there_are_no_import_circles(graph: grimp.ImportGraph, floor: str) -> None:
    """Imports inside functions and for type checking count as well: they hide a circle, they do not end it."""
    package = f"karptui.{floor}"
    modules = {package, *graph.find_descendants(package)}
    assert len(modules) > 4
    open_imports = {name: graph.find_modules_directly_imported_by(name) & modules for name in modules}
    while True:
        ends = {name for name, imported in open_imports.items() if not imported}
        if not ends:
            break
        open_imports = {name: imported - ends for name, imported in open_imports.items() if name not in ends}
    assert sorted(open_imports) == []
