"""Rows as a table, as JSON and as comma-separated values, and the flags that choose them."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from karptui.cli.streams import UsageError, put, say
from karptui.errors import no_such
from karptui.views.sanitize import SafeText, clean, page

if TYPE_CHECKING:
    from karptui.cli.loading import Loaded
    from karptui.decode.kinds import Kind
    from karptui.views.row import Pieces
    from karptui.views.table import Rows, TableSpec


_NOT_PLAIN: Final = re.compile(r"[^\x20-\x7e]")


def json_text(document: Any) -> SafeText:
    """Return a document on one line."""
    import msgspec

    text: str = msgspec.json.encode(document).decode()
    return SafeText(_NOT_PLAIN.sub(_escaped, text))


def _escaped(match: re.Match[str]) -> str:
    # Outside of strings JSON is plain already, so this is always within one.
    units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


class _Output:
    def write(self, text: str) -> None:
        put(page(text), end="")


def print_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, has_header: bool = True) -> None:
    import csv

    writer = csv.writer(_Output(), lineterminator="\n")
    if has_header:
        writer.writerow(columns)
    writer.writerows([cell(row.get(name)) for name in columns] for row in rows)


def cell(value: object) -> object:
    """Return a value as a CSV cell.

    Members of lists are separated by blanks, objects are ``name=value`` with names of nested objects joined by dots,
    and objects in a list are separated by ``; ``. Control characters are made visible, and formulas are escaped.
    """
    from karptui.views.table import without_formula

    if isinstance(value, dict):
        return without_formula(clean(_pairs(value, "")))
    if isinstance(value, list | tuple):
        has_objects = any(isinstance(element, dict) for element in value)
        return without_formula(clean(("; " if has_objects else " ").join(_text(element) for element in value)))
    return without_formula(clean(value)) if isinstance(value, str) else value


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


ItemT = TypeVar("ItemT")


def item_named(what: str, name: str, by_name: Mapping[str, ItemT]) -> ItemT:
    """Return what has a name. Raises RequestError: nothing has it."""
    if name not in by_name:
        raise no_such(what, name, by_name)
    return by_name[name]


def rows_of(
    spec: TableSpec[ItemT],
    items: Sequence[ItemT],
    args: argparse.Namespace,
    now_ns: int,
    *,
    keeps_order: bool = False,
) -> Rows[ItemT]:
    """Return the rows that the flags ask for, in order.

    Args:
        args: the flags of ``add_row_flags``.
        keeps_order: whether the rows stay in the items' order without ``--sort-by``.

    Raises:
        RequestError: A filter, a selector or an order is invalid.
    """
    from karptui.config import parse_node_sort
    from karptui.views.filters import parse_label_query, parse_query
    from karptui.views.table import Rows, Sort, build_rows

    try:
        parse_label_query(args.selector)
    except ValueError as error:
        raise UsageError(f"-l: {error}") from error
    selector = f"-l '{args.selector}'" if args.selector else ""
    query = parse_query(" ".join(filter(None, (args.filter, selector))), spec.subject)
    sort = Sort(*parse_node_sort(args.sort_by, "--sort-by")) if args.sort_by else spec.default_sort
    ids = [heading.id for heading in spec.headings()]
    if sort.column_id not in ids:
        raise UsageError(f"--sort-by: {no_such('column', sort.column_id, ids)}")
    rows = build_rows(spec, items, query=query, sort=sort, now_ns=now_ns)
    if not keeps_order or args.sort_by:
        return rows
    chosen = set(map(id, rows.items))
    return Rows(spec, [item for item in items if id(item) in chosen], total=len(items), now_ns=now_ns)


def print_rows(rows: Rows[ItemT], args: argparse.Namespace, *, total: int = 0) -> None:
    """Print rows in the form asked for."""
    if args.output == "json":
        print_json(rows.values())
    elif args.output == "csv":
        names = [value.name for value in rows.spec.csv_values()]
        print_csv(names, rows.flat_values(), has_header=not args.no_headers)
    else:
        _print_table(rows, is_wide=args.output == "wide", has_header=not args.no_headers, total=total)


def print_json(document: Any) -> None:
    """Print a document over several lines, in ASCII only: names from a cluster may hold control characters."""
    import json

    put(page(json.dumps(document, indent=2)))


def print_lines(lines: Iterable[Pieces], *, is_error: bool = False) -> None:
    """Print lines of a view as plain text."""
    for line in lines:
        put(page("".join(clean(text) for text, _ in line).rstrip()), is_error=is_error)


def has_lines_above(args: argparse.Namespace) -> bool:
    """Return whether lines above a table are printed."""
    return args.output in ("table", "wide") and not args.no_headers


def _print_table(rows: Rows[Any], *, is_wide: bool, has_header: bool, total: int) -> None:
    from karptui.views.table import as_text

    headings = rows.spec.headings()
    shown = [index for index, heading in enumerate(headings) if is_wide or not heading.is_wide_only]
    if not rows:
        total = total or rows.total
        put(page(f"none of {total} {rows.spec.noun} match" if total else f"no {rows.spec.noun}"), is_error=True)
        return
    text = as_text(headings, rows, shown)
    put(page(text if has_header else text.partition("\n")[2]), end="")


def versions_json(running: str, modelled: str) -> dict[str, str | None]:
    """Return Karpenter's versions for a document."""
    return {"karpenterFound": running or None, "karpenterModelled": modelled}


_MOST_NOTES = 10
"""Notes that are printed: there may be one for each NodePool."""


class WithNotes(Protocol):
    """A cluster, with messages for standard error."""

    @property
    def notes(self) -> Sequence[str]:
        """About assumptions and skipped objects."""

    @property
    def complaints(self) -> Sequence[str]:
        """About missing objects."""


def report(loaded: WithNotes) -> int:
    """Print notes and missing objects to standard error, and return the exit status."""
    more = len(loaded.notes) - _MOST_NOTES
    rest = (f"{more:,} more notes are left out",) if more > 0 else ()
    for sentence in (*loaded.notes[:_MOST_NOTES], *rest, *loaded.complaints):
        say(sentence)
    return 1 if loaded.complaints else 0


def refuse_unseen(loaded: Loaded, *kinds: Kind) -> None:
    """Exit without an answer if some kinds are empty because they cannot be read.

    An empty table or list would look like an empty cluster. The reason is printed to standard error.

    Raises:
        SystemExit: with status 1.
    """
    from karptui.sources.source import Phase

    statuses = [status for status in map(loaded.view.statuses.get, kinds) if status is not None]
    absent = (Phase.NOT_INSTALLED, Phase.CONNECTING)
    is_hidden = any(status.is_unread or (status.phase not in absent and status.last_error) for status in statuses)
    if is_hidden and not any(status.count for status in statuses):
        raise SystemExit(report(loaded))


def refuse_unsimulated(loaded: Loaded) -> None:
    """Refuse a cluster of which kinds were not read that every simulation rests on."""
    from karptui.session.readiness import unsimulated_because

    if reason := unsimulated_because(loaded.view.state.unread):
        raise UsageError(reason)


def width_of_terminal() -> int:
    """Return the width of a line in cells."""
    import shutil

    return max(shutil.get_terminal_size((WIDTH, 40)).columns, 60) if sys.stdout.isatty() else WIDTH


WIDTH = 120
"""Width of a line without a terminal."""
