"""What a table takes: rows that are cheap to hold."""

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
