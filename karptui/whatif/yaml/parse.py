"""Part text into documents: the object each is about, its value and its nodes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from karptui.whatif.edits import ObjectRef
from karptui.whatif.field_path import Path
from karptui.whatif.yaml.tree import Fault, NodeKind, Problem, YamlNode, read

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
