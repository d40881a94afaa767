"""Parse YAML into nodes with text positions, and report problems."""

from __future__ import annotations

import math
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from karptui.kube.yaml_reader import OpenCollection, YamlError, YamlReader
from karptui.whatif.field_path import Path


class ProblemSeverity(StrEnum):
    """Severity of a problem."""

    ERROR = "error"
    """The API server would reject the document."""
    WARNING = "warning"
    """The API server would accept it, but it is probably a mistake."""


class Problem(msgspec.Struct, frozen=True):
    """A message about a part of the text; lines and columns count from 0, columns in characters."""

    line: int
    column: int
    end_column: int
    """Where the underlined part of the line ends; always greater than ``column``."""
    severity: ProblemSeverity
    message: str
    document: int
    """Position in ``Parsed.documents``; -1 if the text belongs to none."""
    path: Path = ()
    """The field it is about; empty for the document as a whole."""


class NodeKind(StrEnum):
    """Shape of a node."""

    MAPPING = "mapping"
    SEQUENCE = "sequence"
    SCALAR = "scalar"


class YamlNode:
    """A value of the text; ``start`` and ``end`` are character positions in the document's text.

    ``end`` is after the value's last character, before trailing comments and blank lines.
    """

    __slots__ = ("alias", "end", "entries", "flow", "items", "kind", "start", "style", "value")

    def __init__(self, kind: NodeKind, start: int, end: int, *, flow: bool = False, style: str = "") -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.flow = flow
        """Written in brackets or braces."""
        self.style = style
        """Of a scalar: empty for plain, else its quote or block character."""
        self.entries: list[YamlEntry] = []
        """Of a mapping, in the order of the text."""
        self.items: list[YamlNode] = []
        """Of a sequence."""
        self.value: Any = None
        """As JSON would give it, merge keys and aliases resolved; shared, so read only."""
        self.alias = False
        """Whether it refers to an anchor elsewhere."""

    def entry(self, key: str) -> YamlEntry | None:
        """Find the field that counts: of two with one name the later one."""
        for entry in reversed(self.entries):
            if entry.name == key:
                return entry
        return None


class YamlEntry(NamedTuple):
    """A field of a mapping."""

    name: str
    key: YamlNode
    node: YamlNode


def find(root: YamlNode, path: Path) -> YamlNode | None:
    """Find the node at a path, or None if the text has none there."""
    node: YamlNode | None = root
    for step in path:
        if node is None:
            return None
        node = _child(node, step)
    return node


def nearest(root: YamlNode, path: Path) -> tuple[YamlNode, YamlNode | None, int]:
    """Find the deepest node on the way to a path.

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


def _child(node: YamlNode, step: str | int) -> YamlNode | None:
    if isinstance(step, str):
        entry = node.entry(step)
        return entry.node if entry else None
    return node.items[step] if 0 <= step < len(node.items) else None


class Fault(NamedTuple):
    """Something wrong between two character positions of the document's text."""

    start: int
    end: int
    message: str
    severity: ProblemSeverity = ProblemSeverity.ERROR


class Reading(NamedTuple):
    """Result of parsing a document's text."""

    root: YamlNode | None
    """None if the text is empty or cannot be read."""
    faults: tuple[Fault, ...]


@lru_cache(maxsize=256)
def read(text: str) -> Reading:
    """Read the text of one document; the same text gives the same nodes, so that unchanged documents cost nothing."""
    reader = _NodeReader(text)
    try:
        root = next(iter(list(reader.documents())), None)
    except YamlError as error:
        reader.faults.append(Fault(error.start, error.end, error.problem))
        root = None
    return Reading(root, tuple(reader.faults))


class _NodeReader(YamlReader):
    """Reads a document as nodes, and notes faults that leave the rest readable."""

    max_values = 200_000

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._source = text
        self.faults: list[Fault] = []

    def scalar(self, event: Any, value: Any) -> YamlNode:
        start, end = event.start_mark.index, event.end_mark.index
        node = YamlNode(NodeKind.SCALAR, start, end, style=event.style or "")
        if event.style in ("|", ">"):
            keeps_breaks = "+" in self._source[start : self._source.find("\n", start)]
            node.end = start + len(self._source[start:end].rstrip(None if not keeps_breaks else "")) - keeps_breaks
        if isinstance(value, float) and not math.isfinite(value):
            self.problem(event, "infinity and not-a-number are not allowed in JSON")
            value = str(value)
        node.value = value
        return node

    def collection(self, opened: OpenCollection, end: Any, value: Any) -> YamlNode:
        event, children = opened.event, opened.items
        kind = NodeKind.SEQUENCE if opened.names is None else NodeKind.MAPPING
        # A block collection's first token may start with its anchor or tag; a flow one's with its bracket.
        node = YamlNode(kind, event.start_mark.index, event.end_mark.index, flow=bool(event.flow_style))
        if opened.names is None:
            node.items = children
        else:
            names = (name or "<<" for name in opened.names)
            node.entries = list(map(YamlEntry, names, children[::2], children[1::2]))
        node.value = value
        # The parser ends a block collection at the next token, behind comments that are not its own.
        node.end = end.end_mark.index if node.flow or not children else children[-1].end
        return node

    def alias(self, event: Any, target: YamlNode) -> YamlNode:
        node = YamlNode(target.kind, event.start_mark.index, event.end_mark.index, flow=True)
        node.alias = True
        node.entries, node.items, node.value = target.entries, target.items, target.value
        return node

    def value_of(self, item: YamlNode) -> Any:
        return item.value

    def duplicate(self, event: Any, name: str, key: YamlNode | None) -> None:  # noqa: ARG002
        if key is not None:
            self.faults.append(Fault(key.start, key.end, f"{name} is given twice"))

    def problem(self, event: Any, message: str) -> None:
        self.faults.append(Fault(event.start_mark.index, event.end_mark.index, message))

    def misplaced_merge(self, event: Any, item: YamlNode) -> None:  # noqa: ARG002
        self.faults.append(Fault(item.start, max(item.end, item.start + 1), "<< merges mappings only"))
