"""Print figures about the code: files, lines, import cycles, private names of libraries, contracts.

`python tools/house_figures.py [ROOT]`: ROOT is a checkout, by default the current folder.
"""

from __future__ import annotations

import ast
import importlib
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import grimp

LIBRARIES = ("textual", "rich")


def circles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Return the strongly connected components of more than one module, the largest first, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for root in sorted(graph.modules):
        if root in index:
            continue
        work: list[tuple[str, Iterator[str]]] = [(root, iter(sorted(graph.find_modules_directly_imported_by(root))))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            module, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[module])
                if low[module] == index[module]:
                    component: list[str] = []
                    while not component or component[-1] != module:
                        component.append(stack.pop())
                    on_stack.difference_update(component)
                    if len(component) > 1:
                        found.append(sorted(component))
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(sorted(graph.find_modules_directly_imported_by(following)))))
            elif following in on_stack:
                low[module] = min(low[module], index[following])
    return sorted(found, key=len, reverse=True)


def late_imports(tree: ast.Module) -> int:
    """Return the number of imports of karptui inside functions."""
    return sum(
        isinstance(inner, ast.ImportFrom) and (inner.module or "").startswith("karptui")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
    )


def private_definitions(trees: Iterable[ast.Module]) -> set[str]:
    """Return the private names (one leading underscore) that classes or modules define."""
    found: set[str] = set()
    for tree in trees:
        for node in ast.walk(tree):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    found.add(node.name)
                case ast.Attribute(ctx=ast.Store()):
                    found.add(node.attr)
                case ast.Name(ctx=ast.Store()):
                    found.add(node.id)
                case _:
                    pass
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def private_uses(tree: ast.Module, theirs: set[str], ours: set[str]) -> int:
    """Return the number of uses of private names of a library: imports, attributes, and calls of ``super()``."""
    uses = 0
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in LIBRARIES:
                uses += any(part.startswith("_") for part in module.split("."))
                uses += sum(alias.name.startswith("_") for alias in node.names)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
                uses += name in theirs and name not in ours
            case ast.Attribute(attr=name):
                uses += name in theirs and name not in ours
            case _:
                pass
    return uses


def main() -> None:
    """Print the figures."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    sys.path.insert(0, str(root))
    files = sorted((root / "karptui").rglob("*.py"))
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    packages: Counter[str] = Counter()
    for path in files:
        parts = path.relative_to(root / "karptui").parts
        packages[parts[0] if len(parts) > 1 else "(root)"] += 1
    print(f"files {len(files)}, lines {sum(lines.values())}, longest {max(lines.values())}")
    print("by package: " + ", ".join(f"{name} {count}" for name, count in sorted(packages.items())))
    graph = grimp.build_graph("karptui", cache_dir=None)
    all_circles = circles(graph)
    print(f"import circles, with imports for typing: {len(all_circles)}, of {sum(map(len, all_circles))} modules")
    running = grimp.build_graph("karptui", exclude_type_checking_imports=True, cache_dir=None)
    run_circles = circles(running)
    print(f"import circles, without imports for typing: {len(run_circles)}, of {sum(map(len, run_circles))} modules")
    for circle in run_circles[:8]:
        print("  " + " ".join(name.removeprefix("karptui.") for name in circle[:8]) + (" …" if len(circle) > 8 else ""))
    print(f"imports of ours inside functions: {sum(map(late_imports, trees.values()))}")
    theirs = private_definitions(
        ast.parse(path.read_text(encoding="utf-8"))
        for library in LIBRARIES
        for path in Path(*importlib.import_module(library).__path__).rglob("*.py")
    )
    ours = private_definitions(trees.values())
    private = {path: count for path, tree in trees.items() if (count := private_uses(tree, theirs, ours))}
    print(f"uses of private names of {' and '.join(LIBRARIES)}: {sum(private.values())} in {len(private)} files")
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    named = {
        f"{container}.{name.strip()}" if container else name.strip()
        for contract in contracts
        for container in contract.get("containers") or ("",)
        for key in ("layers", "source_modules", "modules")
        for entry in contract.get(key, ())
        for name in entry.replace(":", "|").split("|")
    }
    outside = [
        name
        for name in sorted(graph.modules)
        if name != "karptui" and not any(name == known or name.startswith(f"{known}.") for known in named)
    ]
    print(f"contracts {len(contracts)}, modules in none of them: {len(outside)} {' '.join(outside[:20])}")


if __name__ == "__main__":
    main()
