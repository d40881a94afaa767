"""Read YAML into nodes that know where in the text they stand, and tell what is wrong with it."""

from __future__ import annotations

import math
import re
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import yaml

from karptui.kube.yaml_scalars import key_text, resolve_plain
from karptui.whatif.field_path import Path


class ProblemSeverity(StrEnum):
    """Whether the API server would refuse the document."""

    ERROR = "error"
    """It would."""
    WARNING = "warning"
    """It would not, yet it is hardly what is meant."""


class Problem(msgspec.Struct, frozen=True):
    """One sentence about one place of the text; lines and columns count from 0, columns in characters."""

    line: int
    column: int
    end_column: int
    """Where the underlined part of the line ends; always greater than ``column``."""
    severity: ProblemSeverity
    message: str
    document: int
    """Position in ``Parsed.documents``; -1 where the text belongs to none."""
    path: Path = ()
    """The field it is about; empty for the document as a whole."""


class NodeKind(StrEnum):
    """Shape of a node."""

    MAPPING = "mapping"
    SEQUENCE = "sequence"
    SCALAR = "scalar"


class YamlNode:
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
        self.entries: list[YamlEntry] = []
        """Of a mapping, in the order of the text."""
        self.items: list[YamlNode] = []
        """Of a sequence."""
        self.value: Any = None
        """As JSON would give it, merge keys and aliases resolved; shared, so read only."""
        self.alias = False
        """Stands for the value of an anchor elsewhere."""
        self.size = 1
        """Nodes in it once aliases are written out."""

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


MAX_DEPTH = 100
"""Levels of nesting; Kubernetes' own kinds stay below 30."""
MAX_NODES = 200_000
"""Values in a document once its aliases are written out."""
_TABS = re.compile(r"^ *\t", re.MULTILINE)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAGS = {"str": str, "int": int, "float": float, "bool": bool, "null": None}


class Fault(NamedTuple):
    """Something wrong between two character positions of the document's text."""

    start: int
    end: int
    message: str
    severity: ProblemSeverity = ProblemSeverity.ERROR


class Reading(NamedTuple):
    """What was found in a document's text."""

    root: YamlNode | None
    """None where the text is empty or cannot be read."""
    faults: tuple[Fault, ...]


class _UnreadableError(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@lru_cache(maxsize=256)
def read(text: str) -> Reading:
    """Read the text of one document; the same text gives the same nodes, so that unchanged documents cost nothing."""
    reader = _TreeBuilder(text)
    try:
        root = reader.read()
    except _UnreadableError as refused:
        reader.faults.append(refused.fault)
        root = None
    except yaml.YAMLError as error:
        reader.faults.append(_syntax_fault(text, error))
        root = None
    except UnicodeEncodeError as error:
        reader.faults.append(Fault(error.start, error.end, "half of a character (a lone surrogate)"))
        root = None
    return Reading(root, tuple(reader.faults))


class _TreeBuilder:
    """Builds nodes from the parser's events with a stack, so that hostile nesting cannot exhaust the interpreter's."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._anchors: dict[str, YamlNode] = {}
        self._stack: list[tuple[YamlNode, list[YamlNode], str | None]] = []
        self._root: YamlNode | None = None
        self.faults: list[Fault] = []

    def read(self) -> YamlNode | None:
        for event in yaml.parse(self._text, Loader=_LOADER):
            if isinstance(event, yaml.ScalarEvent):
                self._add(self._scalar(event), event.anchor)
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                self._open(event)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                self._close(event)
            elif isinstance(event, yaml.AliasEvent):
                self._add(self._alias(event), None)
        return self._root

    def _open(self, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        if len(self._stack) >= MAX_DEPTH:
            raise _UnreadableError(Fault(start, end, f"nested more than {MAX_DEPTH} levels deep"))
        kind = NodeKind.MAPPING if isinstance(event, yaml.MappingStartEvent) else NodeKind.SEQUENCE
        # A block collection's first token may start with its anchor or tag; a flow one's with its bracket.
        self._stack.append((YamlNode(kind, start, end, flow=bool(event.flow_style)), [], event.anchor))

    def _close(self, event: Any) -> None:
        node, children, anchor = self._stack.pop()
        if node.kind is NodeKind.MAPPING:
            self._fill_mapping(node, children)
        else:
            node.items = children
            node.value = [child.value for child in children]
        node.size += sum(child.size for child in children)
        if node.size > MAX_NODES:
            raise _UnreadableError(
                Fault(node.start, node.start + 1, f"more than {MAX_NODES:,} values once its aliases are written out")
            )
        # The parser ends a block collection at the next token, behind comments that are not its own.
        node.end = event.end_mark.index if node.flow or not children else children[-1].end
        self._add(node, anchor)

    def _add(self, node: YamlNode, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if self._stack:
            self._stack[-1][1].append(node)
        else:
            self._root = node

    def _scalar(self, event: Any) -> YamlNode:
        start, end = event.start_mark.index, event.end_mark.index
        node = YamlNode(NodeKind.SCALAR, start, end, style=event.style or "")
        if event.style in ("|", ">"):
            keeps_breaks = "+" in self._text[start : self._text.find("\n", start)]
            node.end = start + len(self._text[start:end].rstrip(None if not keeps_breaks else "")) - keeps_breaks
        node.value = self._scalar_value(event, node)
        return node

    def _scalar_value(self, event: Any, node: YamlNode) -> Any:
        if event.tag is None or event.tag == "!":
            if event.tag is None and event.implicit[0]:
                return self._finite(resolve_plain(event.value), node)
            return event.value
        name = event.tag.rpartition(":")[2]
        if name not in _TAGS:
            self.faults.append(Fault(node.start, node.end, f"the tag {event.tag} means nothing to Kubernetes"))
            return event.value
        wanted = _TAGS[name]
        if wanted is str:
            return event.value
        value = resolve_plain(event.value)
        if wanted is float and type(value) is int:
            value = float(value)
        if (wanted is None and value is not None) or (wanted is not None and type(value) is not wanted):
            self.faults.append(Fault(node.start, node.end, f"not a {name}"))
        return value

    def _finite(self, value: Any, node: YamlNode) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            self.faults.append(Fault(node.start, node.end, "infinity and not-a-number have no place in JSON"))
            return str(value)
        return value

    def _alias(self, event: Any) -> YamlNode:
        start, end = event.start_mark.index, event.end_mark.index
        target = self._anchors.get(event.anchor)
        if target is None:
            raise _UnreadableError(Fault(start, end, f"*{event.anchor} refers to an anchor that is not above it"))
        node = YamlNode(target.kind, start, end, flow=True)
        node.alias = True
        node.entries, node.items, node.value, node.size = target.entries, target.items, target.value, target.size
        return node

    def _fill_mapping(self, node: YamlNode, children: list[YamlNode]) -> None:
        merged: dict[str, Any] = {}
        value: dict[str, Any] = {}
        for key, child in zip(children[::2], children[1::2], strict=True):
            name = self._name(key)
            if name == "<<" and not key.style:
                self._merge(merged, child)
            elif name in value:
                self.faults.append(Fault(key.start, key.end, f"{name} is given twice"))
            node.entries.append(YamlEntry(name, key, child))
            if name != "<<" or key.style:
                value[name] = child.value
        node.value = {**merged, **value} if merged else value

    def _name(self, key: YamlNode) -> str:
        name = key_text(key.value) if key.kind is NodeKind.SCALAR else None
        if name is None:
            raise _UnreadableError(Fault(key.start, max(key.end, key.start + 1), "a field name must be text"))
        return name

    def _merge(self, merged: dict[str, Any], child: YamlNode) -> None:
        sources = child.items if child.kind is NodeKind.SEQUENCE else [child]
        for source in sources:
            if source.kind is not NodeKind.MAPPING:
                self.faults.append(Fault(source.start, max(source.end, source.start + 1), "<< merges mappings only"))
                continue
            for name, value in source.value.items():
                merged.setdefault(name, value)


def _syntax_fault(text: str, error: yaml.YAMLError) -> Fault:
    problem = getattr(error, "problem", None)
    mark = getattr(error, "problem_mark", None)
    if problem in _AT_THEIR_START:
        # What was opened is at fault, not the end of the text where that shows.
        mark = getattr(error, "context_mark", None) or mark
    position = int(mark.index) if mark is not None else int(getattr(error, "position", 0))
    position = min(position, len(text))
    tab = _TABS.search(text, text.rfind("\n", 0, position) + 1, position + 1)
    if tab or text[position : position + 1] == "\t":
        return Fault(tab.end() - 1 if tab else position, position + 1, "a tab: YAML is indented with spaces")
    if mark is None:
        return Fault(position, position + 1, "a control character, which YAML does not allow")
    return Fault(position, position + 1, _sentence(error))


def _sentence(error: Any) -> str:
    problem = error.problem or error.context or "not YAML"
    plain = _PLAIN_WORDS.get(problem)
    if plain:
        return plain
    context = f" {error.context}" if error.context and error.problem else ""
    return f"{problem}{context}"


_AT_THEIR_START = frozenset(
    {
        "did not find expected ',' or ']'",
        "did not find expected ',' or '}'",
        "found unexpected end of stream",
        "found unexpected document indicator",
        "could not find expected ':'",
    }
)
_PLAIN_WORDS = {
    "mapping values are not allowed in this context": (
        "a colon is not expected here: check the indentation, or quote the value"
    ),
    "could not find expected ':'": "a colon is missing behind the field name",
    "did not find expected key": "a field name is expected here: check the indentation",
    "did not find expected '-' indicator": "a list item (-) is expected here: check the indentation",
    "did not find expected ',' or ']'": "the list that was opened with [ is not closed",
    "did not find expected ',' or '}'": "the mapping that was opened with { is not closed",
    "found unexpected end of stream": "the quote that was opened is not closed",
    "did not find expected <document start>": "another document starts here: put --- on a line before it",
    "block sequence entries are not allowed in this context": (
        "a list item (-) is not expected here: put it on a line of its own"
    ),
    "did not find expected node content": "a value is missing here",
    "found character that cannot start any token": "a value cannot start with this character: quote it",
}
