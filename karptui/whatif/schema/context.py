"""Find the path at a cursor in half-typed YAML by indentation and brackets, because such text cannot be parsed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from karptui.whatif.field_path import Path
from karptui.whatif.schema.flow_context import FlowScan, flow_start, scan_flow

_LINE = re.compile(r"( *)((?:-[ ]+)*(?:-\Z)?)(.*)", re.DOTALL)


@dataclass(slots=True)
class _Level:
    column: int
    step: str | int


class Levels:
    """A stack of them, followed line by line."""

    def __init__(self) -> None:
        self._open: list[_Level] = []

    @property
    def path(self) -> Path:
        """The field or item that is open."""
        return tuple(level.step for level in self._open)

    @property
    def column(self) -> int:
        """Column at which it begins."""
        return self._open[-1].column

    def at(self, column: int) -> list[str | int]:
        """Return the fields and items that begin at a column."""
        return [level.step for level in self._open if level.column == column]

    def open_dashes(self, line: str, *, is_cursor: bool = False) -> tuple[int, str, int]:
        """Open the items whose dashes a line begins with.

        Returns:
            The line's indentation, the text after the dashes, and its column.
        """
        match = _LINE.match(line)
        assert match is not None
        indent = len(match[1])
        column = indent
        for dash in re.finditer(r"-[ ]*", match[2]):
            self._open_item(indent + dash.start())
            column = indent + dash.end()
        if is_cursor and match[2].endswith("-"):
            column += 1
        return indent, match[3], column

    def _open_item(self, column: int) -> None:
        while self._open and self._open[-1].column > column:
            self._open.pop()
        top = self._open[-1] if self._open else None
        if top is not None and top.column == column and isinstance(top.step, int):
            top.step += 1
        else:
            self._open.append(_Level(column, 0))

    def open_key(self, column: int, name: str) -> None:
        """Open the field of a name that begins at a column."""
        self.close_to(column)
        self._open.append(_Level(column, name))

    def close_to(self, column: int) -> None:
        """Close everything that does not begin before a column."""
        while self._open and self._open[-1].column >= column:
            self._open.pop()


def without_comment(text: str) -> str:
    """Return a line without its comment; quotes may contain ``#``."""
    quote = ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and (position == 0 or text[position - 1] in " [{,:"):
            quote = character
        elif character == "#" and (position == 0 or text[position - 1] in " \t"):
            return text[:position].rstrip()
    return text.rstrip() if not quote else text


def unquoted(text: str) -> str:
    """Return the text between quotes, if there are any."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


_MARKER = re.compile(r"---(?=\s|\Z)")
_KEY = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#:{\['"&*!|>%@`,][^:#]*?|[^\s#:]*?[^\s:]:[^\s:][^\s]*?)\s*:(?:\s+(.*)|\Z)""",
    re.DOTALL,
)
_BLOCK_SCALAR = re.compile(r"(?:^|[\s:-])[|>][+-]?\d?[+-]?\s*(?:#.*)?\Z")


class Mode(StrEnum):
    """Kind of text that is being typed."""

    KEY = "key"
    """A field's name, or the dash or value of a list item."""
    VALUE = "value"
    """A field's value, on its line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorContext:
    """A cursor's place."""

    mode: Mode
    path: Path
    """Of the mapping or list a name is typed in; of the field a value is typed for."""
    prefix: str
    """The half-typed word before the cursor."""
    start_column: int
    indent: int
    """Column of the line's content, for lines inserted below."""
    in_flow: bool = False
    rest: str = ""
    """The line behind the cursor."""
    is_tight: bool = False
    """The colon or dash before the cursor has no space behind it yet."""
    open_key: str = ""
    """The field above at the cursor's column whose list may begin or go on here."""
    taken: dict[Path, dict[str, str]] = field(default_factory=dict)
    """Fields of every mapping of the document that are on separate lines, with their values."""
    items: dict[Path, list[str]] = field(default_factory=dict)
    """Scalar items of lists."""


def context_at(text: str, line: int, column: int) -> CursorContext | None:
    """Find the place of a cursor; None inside comments and block texts."""
    lines = text.split("\n")
    if not 0 <= line < len(lines):
        return None
    first = next((at + 1 for at in range(line, -1, -1) if _MARKER.match(lines[at])), 0)
    last = next((at for at in range(line + 1, len(lines)) if _MARKER.match(lines[at])), len(lines))
    if first > line:
        return None
    return _Scan(lines[first:last], line - first, column).context()


class _Scan:
    """Goes through the lines of one document once, with the levels that are open."""

    def __init__(self, lines: Sequence[str], line: int, column: int) -> None:
        self._lines = [line.rstrip("\r") for line in lines]
        self._line = line
        self._before = self._lines[line][:column]
        self._rest = self._lines[line][column:]
        self._levels = Levels()
        self._taken: dict[Path, dict[str, str]] = {}
        self._items: dict[Path, list[str]] = {}
        self._cursor_context: CursorContext | None = None

    def context(self) -> CursorContext | None:
        flow_until = literal_until = -1
        literal_column = 0
        for at, line in enumerate(self._lines):
            if at == self._line:
                if literal_until >= 0 and self._is_deeper(self._before, literal_column):
                    return None
                if at > flow_until:
                    self._cursor_context = self._at_cursor(at)
                    if self._cursor_context is None:
                        return None
                elif self._cursor_context is None:
                    return None
                literal_until = -1
                continue
            if at <= flow_until or not line.strip() or line.lstrip().startswith("#"):
                continue
            if literal_until >= 0 and self._is_deeper(line, literal_column):
                continue
            literal_until = -1
            flow_until, literal = self._take(at, line)
            if literal is not None:
                literal_until, literal_column = at, literal
        return self._cursor_context

    @staticmethod
    def _is_deeper(line: str, column: int) -> bool:
        return not line.strip() or len(line) - len(line.lstrip(" ")) > column

    def _take(self, at: int, line: str) -> tuple[int, int | None]:
        """Open the levels of a line.

        Returns:
            The last line of a flow value that starts on it, and the column of a block text's field.
        """
        indent, content, column = self._levels.open_dashes(line)
        match = _KEY.match(content)
        path = self._levels.path
        value, value_column = content, column
        if match:
            name = unquoted(match[1])
            self._levels.open_key(column, name)
            value = match[2] or ""
            value_column = column + (match.start(2) if match[2] else len(content))
            self._taken.setdefault(self._levels.path[:-1], {})[name] = unquoted(without_comment(value))
        elif path and isinstance(path[-1], int):
            self._items.setdefault(path[:-1], []).append(unquoted(without_comment(value)))
        if _BLOCK_SCALAR.search(value):
            return -1, self._levels.column if match else indent
        if value[:1] in ("{", "["):
            return self._take_flow(at, value_column), None
        return -1, None

    def _take_flow(self, at: int, column: int) -> int:
        scan = scan_flow(self._lines, (at, column), (self._line, len(self._before)))
        base = self._levels.path
        for path, fields in scan.fields.items():
            self._taken.setdefault((*base, *path), {}).update(fields)
        for path, items in scan.items.items():
            self._items.setdefault((*base, *path), []).extend(items)
        if scan.cursor is not None and at < self._line:
            self._cursor_context = self._in_flow(scan, base)
        return scan.last_line

    def _at_cursor(self, at: int) -> CursorContext | None:
        before = self._before
        if "#" in before and without_comment(before) != before:
            return None
        whole = self._lines[at]
        indent, content, column = self._levels.open_dashes(before, is_cursor=True)
        has_dash = before[indent : indent + 1] == "-"
        match = _KEY.match(content)
        opening = flow_start(content if not match else match[2] or "")
        if opening is not None:
            return self._flow_at_cursor(at, column, match)
        if match:
            name = unquoted(match[1])
            self._levels.open_key(column, name)
            prefix = match[2] or ""
            is_tight = match[2] is None and not content.endswith(" ")
            path = self._levels.path
            self._note_rest(whole[column:])
            return self._context(Mode.VALUE, path, prefix, indent=column, is_tight=is_tight)
        above = self._levels.at(column) if not has_dash else []
        self._levels.close_to(column)
        path = self._levels.path
        return self._context(
            Mode.KEY,
            path,
            content,
            indent=column,
            is_tight=before.endswith("-") and not content,
            open_key=self._open_list(above, path),
        )

    def _open_list(self, above: Sequence[str | int], path: Path) -> str:
        """Name the field at the cursor's column whose list may begin or go on there."""
        match list(above):
            case [str(key)] if not self._taken.get(path, {}).get(key):
                return key
            case [str(key), int()]:
                return key
        return ""

    def _flow_at_cursor(self, at: int, column: int, match: re.Match[str] | None) -> CursorContext | None:
        if match:
            self._levels.open_key(column, unquoted(match[1]))
            column += match.start(2)
        base = self._levels.path
        scan = scan_flow(self._lines, (at, column), (self._line, len(self._before)))
        if scan.cursor is None:
            return None
        for path, fields in scan.fields.items():
            self._taken.setdefault((*base, *path), {}).update(fields)
        for path, items in scan.items.items():
            self._items.setdefault((*base, *path), []).extend(items)
        return self._in_flow(scan, base)

    def _in_flow(self, scan: FlowScan, base: Path) -> CursorContext:
        assert scan.cursor is not None
        path, is_value, prefix = scan.cursor
        mode = Mode.VALUE if is_value else Mode.KEY
        return self._context(mode, (*base, *path), prefix, indent=0, in_flow=True)

    def _context(
        self,
        mode: Mode,
        path: Path,
        prefix: str,
        *,
        indent: int,
        in_flow: bool = False,
        is_tight: bool = False,
        open_key: str = "",
    ) -> CursorContext:
        return CursorContext(
            mode=mode,
            path=path,
            prefix=prefix,
            start_column=len(self._before) - len(prefix),
            indent=indent,
            in_flow=in_flow,
            rest=self._rest,
            is_tight=is_tight,
            open_key=open_key,
            taken=self._taken,
            items=self._items,
        )

    def _note_rest(self, content: str) -> None:
        if match := _KEY.match(content):
            path = self._levels.path
            self._taken.setdefault(path[:-1], {})[str(path[-1])] = unquoted(without_comment(match[2] or ""))
