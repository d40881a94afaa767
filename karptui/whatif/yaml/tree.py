"""Parse YAML into documents, and these into nodes with text positions; report problems."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from karptui.kube.yaml_reader import OpenCollection, YamlError, YamlReader
from karptui.whatif.edits import ObjectRef
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


def trail(root: YamlNode, path: Path) -> list[tuple[YamlNode, YamlNode | None]]:
    """Return the nodes on the way to a path, as far as there are any.

    With each comes the key node that names it: None for the top and for list items.
    """
    nodes: list[tuple[YamlNode, YamlNode | None]] = [(root, None)]
    for step in path:
        node = nodes[-1][0]
        if isinstance(step, str):
            entry = node.entry(step)
            if entry is None:
                break
            nodes.append((entry.node, entry.key))
        elif 0 <= step < len(node.items):
            nodes.append((node.items[step], None))
        else:
            break
    return nodes


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


_MARKER = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_BARE_MARKER = re.compile(r"---[ \t]*(?:#.*)?(?:\r?\n|\Z)")
_NOTHING = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z))*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of a buffer; equality compares content and position."""

    index: int
    """Position among the documents of the buffer."""
    first_line: int
    """The first line of its text, from 0; a ``---`` on a separate line is not part of it."""
    last_line: int
    kind: str
    """Empty while it is not typed yet, like the next three."""
    api_version: str
    name: str
    namespace: str
    body: dict[str, Any] | None
    """Content as in JSON; None if the text cannot be read. Shared between calls: read it only."""
    text: str
    """Its text as typed, including comments."""
    offset: int
    """Position of its first character in the buffer."""
    root: YamlNode | None
    """The nodes of ``text`` with their positions."""

    @property
    def ref(self) -> ObjectRef:
        """Names the object that the document describes."""
        return ObjectRef(self.kind, self.name, self.namespace)


class Parsed(NamedTuple):
    """A buffer, taken apart."""

    text: str
    documents: tuple[Document, ...]
    """Those with content, in order."""
    problems: tuple[Problem, ...]
    """What YAML itself objects to, by line."""

    def find(self, ref: ObjectRef) -> Document | None:
        """Find the document of an object; an empty namespace in one of them is any namespace."""
        for document in self.documents:
            if (document.kind, document.name) == (ref.kind, ref.name) and (
                document.namespace == ref.namespace or not document.namespace or not ref.namespace
            ):
                return document
        return None

    def at_line(self, line: int) -> Document | None:
        """Find the document that a line belongs to."""
        for document in self.documents:
            if document.first_line <= line <= document.last_line:
                return document
        return None


class Lines:
    """Turns character positions of a buffer into lines and columns."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, position: int) -> tuple[int, int]:
        """Give line and column of a position, both from 0."""
        line = bisect_right(self._starts, position) - 1
        return line, position - self._starts[line]

    def problem(self, fault: Fault, document: int, path: Path = ()) -> Problem:
        """Place a fault; what runs over several lines is underlined on the first."""
        line, column = self.place(fault.start)
        end_line, end_column = self.place(fault.end)
        if end_line > line:
            stop = self._starts[line + 1] - 1
            end_column = stop - self._starts[line] - (self._text[stop - 1 : stop] == "\r")
        return Problem(line, column, max(end_column, column + 1), fault.severity, fault.message, document, path)


def parse(text: str) -> Parsed:
    """Parse every document of a buffer; unreadable documents do not affect the others."""
    lines = Lines(text)
    documents: list[Document] = []
    problems: list[Problem] = []
    for start, end in _chunks(text):
        chunk = text[start:end]
        if _NOTHING.match(chunk):
            continue
        reading = read(chunk)
        index = len(documents)
        faults = list(reading.faults)
        root = reading.root
        if root is not None and root.kind is not NodeKind.MAPPING:
            faults.append(
                Fault(root.start, root.end, "a document has fields at its top: apiVersion, kind, metadata, …")
            )
            root = None
        for fault in faults:
            moved = fault._replace(start=fault.start + start, end=fault.end + start)
            problems.append(lines.problem(moved, index))
        last = lines.place(start + len(chunk.rstrip()))[0]
        documents.append(_document(index, (lines.place(start)[0], last), chunk, start, root))
    problems.sort(key=lambda problem: (problem.line, problem.column))
    return Parsed(text, tuple(documents), tuple(problems))


def _chunks(text: str) -> Iterator[tuple[int, int]]:
    start = 1 if text.startswith("\ufeff") else 0
    has_directives = text.startswith("%", start)
    for marker in _MARKER.finditer(text):
        # Directives (%YAML 1.1) precede the marker of their document.
        if has_directives:
            has_directives = False
            continue
        yield start, marker.start()
        bare = _BARE_MARKER.match(text, marker.start())
        start = bare.end() if bare else marker.start()
    yield start, len(text)


def _document(index: int, lines: tuple[int, int], text: str, offset: int, root: YamlNode | None) -> Document:
    body: dict[str, Any] | None = root.value if root is not None else None
    metadata = body.get("metadata") if body else None
    if not isinstance(metadata, dict):
        metadata = {}
    return Document(
        index=index,
        first_line=lines[0],
        last_line=lines[1],
        kind=_word(body, "kind"),
        api_version=_word(body, "apiVersion"),
        name=_word(metadata, "name"),
        namespace=_word(metadata, "namespace"),
        body=body,
        text=text,
        offset=offset,
        root=root,
    )


def _word(mapping: dict[str, Any] | None, field: str) -> str:
    value = mapping.get(field) if mapping else None
    return value if isinstance(value, str) else ""
