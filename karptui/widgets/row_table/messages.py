"""What the reader did to a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from karptui.widgets.row_table.table import RowTable


@dataclass
class TableMessage(Message):
    """Something happened in a table."""

    table: RowTable

    @property
    def control(self) -> RowTable:
        """The table, for ``@on`` selectors."""
        return self.table


@dataclass
class RowHighlighted(TableMessage):
    """The cursor came to another row, or the row under it changed."""

    key: str | None
    """The row's key; None when the table is empty."""


@dataclass
class RowSelected(TableMessage):
    """The reader asked for a row: enter, or a double click."""

    key: str


@dataclass
class ColumnsChanged(TableMessage):
    """Other columns are drawn than before."""


@dataclass
class SortRequested(TableMessage):
    """The reader asked for another order; the rows are sorted by whoever owns them."""

    column_id: str


@dataclass
class MarksChanged(TableMessage):
    """Rows were marked or unmarked."""

    keys: frozenset[str]
