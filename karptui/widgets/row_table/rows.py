"""Rows of a table, and the cursor and marks that follow them through changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from karptui.views.row import Row


class RowSequence(Protocol):
    """Rows in order, cheap to hold and built when asked for."""

    @property
    def keys(self) -> Sequence[str]:
        """The row keys in order."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Row: ...


class NoRows:
    """An empty list of rows."""

    keys: Sequence[str] = ()

    def __len__(self) -> int:
        return 0

    def __getitem__(self, index: int, /) -> Row:
        raise IndexError(index)


class Cursor:
    """The row under the cursor and the marked rows, kept by key across changes of the list."""

    def __init__(self) -> None:
        self.keys: Sequence[str] = ()
        """The keys of the list in order."""
        self.index = 0
        """Position of the cursor; 0 in an empty list."""
        self.marked: frozenset[str] = frozenset()
        """Keys of the marked rows."""
        self.has_moved = False
        """Whether the reader chose a row; until then the cursor stays on the first."""

    @property
    def key(self) -> str | None:
        """The key under the cursor, or None in an empty list."""
        return self.keys[self.index] if self.keys else None

    def replace(self, keys: Sequence[str]) -> int:
        """Take over a new list and return by how many rows the cursor went down.

        A row that is gone leaves the cursor at its place; marks of rows that are gone go with them.
        """
        before, key = self.index, self.key
        self.keys = keys
        if self.marked:
            self.marked &= frozenset(keys)
        if not self.has_moved or not keys:
            self.index = 0
        elif key is not None and not (before < len(keys) and keys[before] == key):
            self.index = self._find(key, before)
        return self.index - before

    def move_to(self, index: int) -> bool:
        """Put the cursor on a row, as near as the list allows, and return whether it moved."""
        target = max(0, min(index, len(self.keys) - 1))
        self.has_moved = True
        moved, self.index = target != self.index, target
        return moved

    def move_to_key(self, key: str) -> bool:
        """Put the cursor on a key and return whether the list has it."""
        try:
            self.move_to(self.keys.index(key))
        except ValueError:
            return False
        return True

    def toggle_mark(self) -> None:
        """Mark the row under the cursor, or take its mark away."""
        if (key := self.key) is not None:
            self.marked ^= {key}

    def _find(self, key: str, fallback: int) -> int:
        try:
            return self.keys.index(key)
        except ValueError:
            return min(fallback, len(self.keys) - 1)
