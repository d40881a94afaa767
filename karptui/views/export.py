"""Rows as text and CSV, for saving what is on screen."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Final

from karptui.views.column import Heading
from karptui.views.row import Row

_FORMULA: Final = re.compile(r"[=@\t\r]|[+-](?!$|[\d.,]+ ?[A-Za-z%$/µ]{0,10}$)")
"""Signed amounts are none, and neither is a dash alone."""


def as_csv(headings: Sequence[Heading], rows: Iterable[Row], shown: Sequence[int]) -> str:
    """Return rows as CSV with the columns' ids as header.

    Args:
        headings: every column.
        rows: the rows, each with a cell per heading.
        shown: which columns to write, by index.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([headings[index].id for index in shown])
    writer.writerows([without_formula(row.cells[index].text) for index in shown] for row in rows)
    return buffer.getvalue()


def without_formula(text: str) -> str:
    """Return the text of a cell, with an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def as_text(headings: Sequence[Heading], rows: Iterable[Row], shown: Sequence[int]) -> str:
    """Return rows as aligned columns of text; the arguments are those of ``as_csv``."""
    lines = [[headings[index].title for index in shown]]
    lines += [[row.cells[index].text for index in shown] for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(shown))]
    aligned = [
        "  ".join(
            text.rjust(width) if headings[index].is_right_aligned else text.ljust(width)
            for index, text, width in zip(shown, line, widths, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join(aligned) + "\n"
