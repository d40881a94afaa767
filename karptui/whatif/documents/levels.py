"""The mappings and lists that are open at a line of half-typed YAML, by the columns they begin at."""

from __future__ import annotations

import re
from dataclasses import dataclass

from karptui.whatif.path import Path

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
        """Where it begins."""
        return self._open[-1].column

    def at(self, column: int) -> list[str | int]:
        """Returns the fields and items that begin at a column."""
        return [level.step for level in self._open if level.column == column]

    def open_dashes(self, line: str, *, is_cursor: bool = False) -> tuple[int, str, int]:
        """Opens the items whose dashes a line begins with.

        Returns:
            The line's indentation, what stands behind the dashes, and the column of that.
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
        """Opens the field of a name that begins at a column."""
        self.close_to(column)
        self._open.append(_Level(column, name))

    def close_to(self, column: int) -> None:
        """Closes everything that does not begin before a column."""
        while self._open and self._open[-1].column >= column:
            self._open.pop()


def without_comment(text: str) -> str:
    """Returns what stands before a comment, which a quote may hide."""
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
    """Returns the text between quotes, if there are any."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
