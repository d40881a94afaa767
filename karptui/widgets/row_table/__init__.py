"""The one table of karptui: rows drawn line by line, as quick with a hundred thousand of them as with ten."""

from __future__ import annotations

from karptui.widgets.row_table.messages import (
    ColumnsChanged,
    MarksChanged,
    RowHighlighted,
    RowSelected,
    SortRequested,
)
from karptui.widgets.row_table.table import RowTable

__all__ = ["ColumnsChanged", "MarksChanged", "RowHighlighted", "RowSelected", "RowTable", "SortRequested"]
