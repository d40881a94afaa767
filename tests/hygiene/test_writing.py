"""Files are written in one place, which leaves nothing half-written and replaces nothing but regular files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

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
"""What stands in the text of every module that does."""


def writes(tree: ast.AST) -> bool:
    """Return whether a module may make a file or write into one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in NAMES | FLAGS:
            return True
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "open":
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            modes = [expr.value for expr in given if isinstance(expr, ast.Constant) and isinstance(expr.value, str)]
            if any(set(mode) <= set("rwaxbt+") and set(mode) & set("wax+") for mode in modes):
                return True
    return False


def test_files_are_written_in_one_place() -> None:
    texts = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if WORDS.search(text := path.read_text(encoding="utf-8")) and writes(ast.parse(text))
    }
    assert texts == set(WRITERS)


def test_other_ways_are_seen() -> None:
    for text in ("open(p, 'w')", "p.open(mode='xb')", "p.write_text(t)", "os.open(p, os.O_CREAT)", "open(p, 'r+')"):
        assert WORDS.search(text), text
        assert writes(ast.parse(text)), text
    for text in ("open(p)", "p.open('rb')", "os.open(p, os.O_RDONLY)", "webbrowser.open(url)"):
        assert not writes(ast.parse(text)), text
