"""Texts that are longer than their column: cut at the end, or inside where the end is what tells them apart."""

from __future__ import annotations

import re
from typing import Final

from rich.cells import set_cell_size

from karptui.views.sanitize import ELLIPSIS
from karptui.widgets.row_table.layout import text_width

LEAST_END: Final = 6
"""Cells of the end that stay: the dash and five characters that Kubernetes gives to names it makes."""
LEAST_START: Final = 3
"""Cells of the beginning that stay before the numbers of an address."""
_NUMBERS: Final = re.compile(r"(?:-[0-9]+)+$")


def cut_end(text: str, width: int) -> str:
    """Return the beginning of a text, and an ellipsis, in as many cells as there are."""
    return set_cell_size(set_cell_size(text, max(width - 1, 0)) + ELLIPSIS, width) if width else ""


def cut_inside(text: str, width: int) -> str:
    """Return both ends of a name with an ellipsis between: ``checkout-api-7c…-x2x4q``, ``ip-1…-39-190``.

    The last part, from its dash on, stays whole unless that is more than half of the column; of an address stay as many
    numbers as there is room for.
    """
    half = (width - 1) // 2
    end = text[-max(LEAST_END, len(text) - max(text.rfind("-"), 0)) :]
    while end and text_width(end) > half:
        end = end[1:]
    end = max(end, _last_numbers(text, width - 1 - LEAST_START), key=len)
    return f"{cut_end(text, width - text_width(end))}{end}"


def _last_numbers(text: str, room: int) -> str:
    """Return as many of the numbers at the end of an address as fit, each with its dash."""
    found = _NUMBERS.search(text)
    numbers = found[0] if found is not None else ""
    while numbers and len(numbers) > room:
        _, dash, rest = numbers[1:].partition("-")
        numbers = dash + rest
    return numbers
