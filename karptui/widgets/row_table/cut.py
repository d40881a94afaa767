"""Texts that are longer than their column: cut at the end, or inside where the end is what tells them apart."""

from __future__ import annotations

from typing import Final

from rich.cells import set_cell_size

from karptui.views.sanitize import ELLIPSIS
from karptui.widgets.row_table.layout import text_width

LEAST_END: Final = 6
"""Cells of the end that stay: the dash and five characters that Kubernetes gives to names it makes."""


def cut_end(text: str, width: int) -> str:
    """Return the beginning of a text, and an ellipsis, in as many cells as there are."""
    return set_cell_size(set_cell_size(text, max(width - 1, 0)) + ELLIPSIS, width) if width else ""


def cut_inside(text: str, width: int) -> str:
    """Return both ends of a name with an ellipsis between: ``checkout-api-7c…-x2x4q``.

    The last part, from its dash on, stays whole unless that is more than half of the column.
    """
    room = (width - 1) // 2
    end = text[-max(LEAST_END, len(text) - max(text.rfind("-"), 0)) :]
    while end and text_width(end) > room:
        end = end[1:]
    return f"{cut_end(text, width - text_width(end))}{end}"
