"""Only one package uses private names of Textual and Rich, because any release may change them."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import textual

import karptui

ROOT = Path(karptui.__file__).parent
ROOM = ROOT / "widgets" / "textual_compat"
OTHERS = frozenset({"textual", "rich"})
TUPLES = frozenset({"_asdict", "_fields", "_make", "_replace"})
"""Methods of every NamedTuple."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in TUPLES


def is_foreign(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] in OTHERS


@cache
def classes_of(module: str) -> dict[str, ast.ClassDef]:
    """Return the class definitions of a module by name."""
    path = getattr(importlib.import_module(module), "__file__", None)
    if path is None:
        return {}
    return {node.name: node for node in ast.parse(Path(path).read_text()).body if isinstance(node, ast.ClassDef)}


@cache
def private_names(cls: type) -> frozenset[str]:
    """Return the private names of a Textual class: those of its body and of its instances."""
    names = {name for name in vars(cls) if is_private(name)}
    written = classes_of(cls.__module__).get(cls.__name__)
    for node in ast.walk(written) if written is not None else ():
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_private(node.attr):
            names.add(node.attr)
    return frozenset(names)


@cache
def all_private_names() -> frozenset[str]:
    names: set[str] = set()
    for info in pkgutil.walk_packages(textual.__path__, "textual."):
        if info.name.split(".")[1] in {"app", "screen", "widget", "dom", "_compositor", "strip", "css", "driver"} or (
            info.name.startswith("textual.widgets._")
        ):
            module = importlib.import_module(info.name)
            classes: list[type] = [item for item in vars(module).values() if inspect.isclass(item)]
            names.update(*(private_names(cls) for cls in classes if is_foreign(cls.__module__)))
    return frozenset(names)


def own_names(tree: ast.Module) -> set[str]:
    """Return a module's own names: functions, and attributes set on self."""
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def is_itself(value: ast.expr) -> bool:
    name = value.func if isinstance(value, ast.Call) else value
    return isinstance(name, ast.Name) and name.id in {"self", "cls", "super"}


def used_in_class(node: ast.ClassDef, private: frozenset[str], foreign: frozenset[str]) -> Iterator[tuple[int, str]]:
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name in private:
            yield part.lineno, f"overrides {part.name}"
        elif isinstance(part, ast.Assign | ast.AnnAssign):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id in private:
                    yield part.lineno, f"sets {target.id}"
        elif isinstance(part, ast.Attribute) and part.attr in (private if is_itself(part.value) else foreign):
            yield part.lineno, ast.unparse(part)


def used(tree: ast.Module, module: str) -> Iterator[tuple[int, str]]:
    """Yield line and source of every use in a module."""
    foreign = all_private_names() - own_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and is_foreign(node.module or ""):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            if any(is_private(name) for name in names):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Import) and any(
            is_foreign(alias.name) and any(is_private(part) for part in alias.name.split(".")) for alias in node.names
        ):
            yield node.lineno, ast.unparse(node)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = getattr(importlib.import_module(module), node.name).__mro__
            private = frozenset().union(*(private_names(base) for base in bases if is_foreign(base.__module__)))
            yield from used_in_class(node, private, foreign)
        else:
            for part in ast.walk(node):
                if isinstance(part, ast.Attribute) and part.attr in foreign:
                    yield part.lineno, ast.unparse(part)


def uses(path: Path) -> list[str]:
    tree = ast.parse(path.read_text())
    module = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    where = path.relative_to(ROOT.parent).as_posix()
    return [f"{where}:{line}: {words}" for line, words in used(tree, module)]


def drawing() -> Iterator[Path]:
    """Yield the modules outside the allowed package that import Textual or something built on it."""
    for path in sorted(ROOT.rglob("*.py")):
        folder = path.relative_to(ROOT).parts[0]
        if ROOM not in path.parents and (folder in {"widgets", "screens"} or "textual" in path.read_text()):
            yield path


def test_private_names_are_used_in_one_package_only() -> None:
    assert [line for path in drawing() for line in uses(path)] == []


def test_every_use_of_a_private_name_is_found_but_no_own_name() -> None:
    """One test, because collecting Textual's private names takes long."""
    texts = (
        "from textual._compositor import Compositor",
        "import textual._xterm_parser",
        "def f(app):\n    return app._batch_count",
        "class PromptInput:\n    def _on_key(self, event): ...",
        "class PromptInput:\n    def f(self):\n        return self._suggestion",
        "class PromptInput:\n    _value = 1",
        "class PromptInput:\n    def f(self):\n        return self.screen._compositor",
    )
    assert [text for text in texts if not list(used(ast.parse(text), "karptui.widgets.prompt"))] == []
    text = "class PromptInput:\n    def _mine(self):\n        self._ours = 1\n        return self._mine() + self._ours"
    assert not list(used(ast.parse(text), "karptui.widgets.prompt"))


def test_modules_with_private_names_document_the_reason() -> None:
    for path in sorted(ROOM.glob("*.py")):
        if path.name != "__init__.py":
            told = ast.get_docstring(ast.parse(path.read_text())) or ""
            assert "Measured" in told, f"the docstring of {path.name} names no benefit"
            assert "upstream" in told, f"the docstring of {path.name} names no alternative"
