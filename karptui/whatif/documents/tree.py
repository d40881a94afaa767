"""A YAML document as nodes that know where they stand in the text."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from karptui.whatif.path import Path


class NodeKind(StrEnum):
    """Shape of a node."""

    MAPPING = "mapping"
    SEQUENCE = "sequence"
    SCALAR = "scalar"


class Node:
    """A value of the text and its place; ``start`` and ``end`` are character positions in the document's text.

    ``end`` is where the value's own last character stands: comments and blank lines behind it are not part of it.
    """

    __slots__ = ("alias", "end", "entries", "flow", "items", "kind", "size", "start", "style", "value")

    def __init__(self, kind: NodeKind, start: int, end: int, *, flow: bool = False, style: str = "") -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.flow = flow
        """Written in brackets or braces."""
        self.style = style
        """Of a scalar: empty for plain, else its quote or block character."""
        self.entries: list[Entry] = []
        """Of a mapping, in the order of the text."""
        self.items: list[Node] = []
        """Of a sequence."""
        self.value: Any = None
        """As JSON would give it, merge keys and aliases resolved; shared, so read only."""
        self.alias = False
        """Stands for the value of an anchor elsewhere."""
        self.size = 1
        """Nodes in it once aliases are written out."""

    def entry(self, key: str) -> Entry | None:
        """Finds the field that counts: of two with one name the later one."""
        for entry in reversed(self.entries):
            if entry.name == key:
                return entry
        return None


class Entry(NamedTuple):
    """A field of a mapping."""

    name: str
    key: Node
    node: Node


def find(root: Node, path: Path) -> Node | None:
    """Finds the node at a path, or None if the text has none there."""
    node: Node | None = root
    for step in path:
        if node is None:
            return None
        node = _child(node, step)
    return node


def nearest(root: Node, path: Path) -> tuple[Node, Node | None, int]:
    """Finds the deepest node on the way to a path.

    Returns:
        The node, the key node that names it (None for the top and for list items), and how many steps were found.
    """
    node, key = root, None
    for depth, step in enumerate(path):
        entry = node.entry(step) if isinstance(step, str) else None
        child = entry.node if entry else _child(node, step)
        if child is None:
            return node, key, depth
        node, key = child, entry.key if entry else None
    return node, key, len(path)


def _child(node: Node, step: str | int) -> Node | None:
    if isinstance(step, str):
        entry = node.entry(step)
        return entry.node if entry else None
    return node.items[step] if 0 <= step < len(node.items) else None
