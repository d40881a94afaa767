"""What the commands of studies have in common: one cluster, records printed as table, JSON or CSV."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from karptui.cli.errors import UsageError
from karptui.cli.listing import json_text, print_csv
from karptui.cli.options import add_cluster_flags, add_output_flag, add_price_flags
from karptui.views.row import Row
from karptui.views.sanitize import clean

if TYPE_CHECKING:
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.views.column import ItemT
    from karptui.views.table import TableSpec
    from karptui.whatif.situation import WhatIfBase


def add_study_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of a command that looks at one cluster."""
    add_output_flag(parser)
    add_cluster_flags(parser, takes_several=False)
    add_price_flags(parser)
    parser.set_defaults(snapshots=[])


def one_base(args: argparse.Namespace) -> tuple[NamedBase, WhatIfBase]:
    """Return the cluster that the flags name.

    Raises:
        UsageError: where none can be had.
    """
    from karptui.cli.whatif_scenarios import bases

    (named,) = bases(args)
    if named.base is None:
        raise UsageError(f"{named.name}: {named.problem}")
    return named, named.base


def table_lines(spec: TableSpec[ItemT], items: Sequence[ItemT]) -> Iterator[str]:
    """Yield records as aligned columns, in the order they are in."""
    from karptui.views.table import as_text

    rows = [
        Row(spec.key(item), tuple(column.cell(item, 0) for column in spec.columns), spec.tone(item)) for item in items
    ]
    if rows:
        yield from as_text(spec.headings(), rows, range(len(spec.columns))).splitlines()


def print_study(documents: Sequence[dict[str, Any]], columns: Sequence[str], lines: Iterable[str], form: str) -> None:
    """Print records in the form asked for.

    Args:
        documents: the records, as JSON has them.
        columns: of CSV, which has the numbers of lists.
        lines: the text.
        form: of ``-o``.
    """
    if form == "json":
        sys.stdout.write(json_text(list(documents)) + "\n")
    elif form == "csv":
        print_csv(columns, map(_flat, documents))
    else:
        sys.stdout.write("".join(f"{clean(line)}\n" for line in lines))


def print_document(document: dict[str, Any], rows: tuple[str, Sequence[str]], lines: Iterable[str], form: str) -> None:
    """Print one document in the form asked for.

    Args:
        document: as JSON has it.
        rows: of CSV: the part of the document that holds them, and their columns.
        lines: the text.
        form: of ``-o``.
    """
    if form == "json":
        sys.stdout.write(json_text(document) + "\n")
    else:
        part, columns = rows
        print_study(document[part], columns, lines, form)


def _flat(document: dict[str, Any]) -> dict[str, Any]:
    return {key: len(value) if isinstance(value, list) else value for key, value in document.items()}


def say(command: str, sentence: str) -> None:
    """Say something on standard error."""
    print(clean(f"karptui {command}: {sentence}"), file=sys.stderr)
