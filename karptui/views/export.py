"""Rows as text and CSV, for saving what is on screen."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from karptui.views.column import Heading
from karptui.views.row import Row


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
    writer.writerows([row.cells[index].text for index in shown] for row in rows)
    return buffer.getvalue()


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
