"""Rows as comma-separated values: a header, then one text, number or nothing in each cell."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def print_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, has_header: bool = True) -> None:
    """Print rows to standard output.

    Args:
        columns: names, in their order. The header has them even where there are no rows.
        rows: values by name; a name that is missing leaves its cell empty.
        has_header: whether names stand above the rows.
    """
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    if has_header:
        writer.writerow(columns)
    writer.writerows([cell(row.get(name)) for name in columns] for row in rows)


def cell(value: object) -> object:
    """Return a value as one cell holds it.

    Lists are their members between blanks, objects are ``name=value`` between blanks with the names of objects
    within joined by dots, and objects in a list are parted by ``; ``. What a terminal would act on is made visible.
    """
    from karptui.views.sanitize import clean

    if isinstance(value, dict):
        return clean(_pairs(value, ""))
    if isinstance(value, list | tuple):
        has_objects = any(isinstance(one, dict) for one in value)
        return clean(("; " if has_objects else " ").join(_text(one) for one in value))
    return clean(value) if isinstance(value, str) else value


def _pairs(values: Mapping[str, Any], prefix: str) -> str:
    texts = (
        _pairs(value, f"{prefix}{name}.") if isinstance(value, dict) else f"{prefix}{name}={_text(value)}"
        for name, value in values.items()
    )
    return " ".join(texts)


def _text(value: object) -> str:
    if isinstance(value, dict):
        return _pairs(value, "")
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return "" if value is None else str(value)
