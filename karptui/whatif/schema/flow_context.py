"""The path at a cursor inside braces and brackets that may not be closed yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from karptui.kube.yaml_reader import MAX_DEPTH
from karptui.whatif.field_path import Path


def flow_start(value: str) -> str | None:
    """Give the bracket that a value opens with, if it does."""
    return value[0] if value[:1] in ("{", "[") else None


@dataclass(slots=True)
class FlowScan:
    """The content between a bracket and its end."""

    last_line: int
    """Line of its end; if it is never closed, the last line that may belong to it."""
    cursor: tuple[Path, bool, str] | None = None
    """Path below the bracket, whether a value is typed, and the half-typed word; None if the cursor is elsewhere."""
    fields: dict[Path, dict[str, str]] = field(default_factory=dict)
    items: dict[Path, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class _Frame:
    is_mapping: bool
    path: Path
    key: str | None = None
    index: int = 0
    word: str = ""

    @property
    def inner(self) -> Path:
        if self.is_mapping:
            return (*self.path, self.key) if self.key is not None else self.path
        return (*self.path, self.index)


def scan_flow(lines: Sequence[str], start: tuple[int, int], cursor: tuple[int, int]) -> FlowScan:
    """Go through a flow value from its bracket on.

    Args:
        start: Line and column of the bracket.
        cursor: Line and column of the cursor.
    """
    return _FlowScanner(start, cursor).scan(lines)


class _FlowScanner:
    def __init__(self, start: tuple[int, int], cursor: tuple[int, int]) -> None:
        self._start = start
        self._cursor = cursor
        self._stack: list[_Frame] = []
        self._scan = FlowScan(last_line=start[0])

    def scan(self, lines: Sequence[str]) -> FlowScan:
        first, column = self._start
        indent = len(lines[first]) - len(lines[first].lstrip(" "))
        for at in range(first, len(lines)):
            line = lines[at]
            # A line that is not indented deeper starts another field: the bracket was never closed.
            if (
                at > first
                and line.strip()
                and len(line) - len(line.lstrip(" ")) <= indent
                and line.strip()[0] not in "]}"
            ):
                break
            self._scan.last_line = at
            if self._line(at, line, column if at == first else 0):
                return self._scan
        return self._scan

    def _line(self, at: int, line: str, position: int) -> bool:
        quote = ""
        while True:
            if (at, position) == self._cursor:
                self._mark()
            if position == len(line):
                break
            character = line[position]
            if quote:
                quote = "" if character == quote else quote
                self._stack[-1].word += character
            elif character in "\"'" and not self._stack[-1].word.strip():
                quote = character
                self._stack[-1].word = character
            elif character == "#" and line[position - 1 : position] == " ":
                break
            elif self._structure(character, line[position + 1 : position + 2]):
                return True
            position += 1
        self._stack[-1].word += " "
        return False

    def _structure(self, character: str, following: str) -> bool:
        """Take one character outside of quotes; True once the outermost bracket is closed."""
        if character in "{[":
            if len(self._stack) >= MAX_DEPTH:
                return True
            path = self._stack[-1].inner if self._stack else ()
            self._stack.append(_Frame(character == "{", path))
        elif character in "}]":
            self._end_word()
            self._stack.pop()
            return not self._stack
        elif character == ",":
            self._end_word()
            frame = self._stack[-1]
            frame.key, frame.index = None, frame.index + 1
        elif (
            character == ":"
            and self._stack[-1].is_mapping
            and self._stack[-1].key is None
            and following in ("", " ", ",", "}", '"', "'")
        ):
            frame = self._stack[-1]
            frame.key, frame.word = frame.word.strip().strip("\"'"), ""
        else:
            self._stack[-1].word += character
        return False

    def _end_word(self) -> None:
        frame = self._stack[-1]
        word = frame.word.strip().strip("\"'")
        frame.word = ""
        if frame.is_mapping:
            name = frame.key if frame.key is not None else word
            if name:
                self._scan.fields.setdefault(frame.path, {})[name] = word if frame.key is not None else ""
        elif word:
            self._scan.items.setdefault(frame.path, []).append(word)

    def _mark(self) -> None:
        frame = self._stack[-1]
        word = frame.word.lstrip()
        is_value = not frame.is_mapping or frame.key is not None
        self._scan.cursor = (frame.inner if is_value else frame.path, is_value, word)
