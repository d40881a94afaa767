"""Common parts of study commands: clusters, workers, and output as table, JSON or CSV."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from karptui.cli.errors import UsageError, fail, say
from karptui.cli.listing import json_text, print_csv, print_rows, rows_of
from karptui.cli.many import AskWhole, ask_whole, opened
from karptui.cli.streams import put, say_progress
from karptui.views.sanitize import clean, page

if TYPE_CHECKING:
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.views.column import ItemT
    from karptui.views.table import Rows, TableSpec
    from karptui.whatif.situation import WhatIfBase


class StudyAnswer(NamedTuple):
    """Output for one cluster."""

    rows: tuple[dict[str, Any], ...] = ()
    """The rows by name, in the form of ``-o``."""
    lines: tuple[str, ...] = ()
    """The text."""
    failures: tuple[str, ...] = ()
    """Conditions that are met, as messages."""
    notes: tuple[str, ...] = ()
    """More messages."""
    problem: str = ""
    """Why there is no answer."""


def run_study(args: argparse.Namespace, command: str, ask: AskWhole, given: object, spec: TableSpec[ItemT]) -> int:
    """Ask a question of every cluster, and print the answers in the form asked for.

    Args:
        args: parsed arguments.
        command: name of the command.
        ask: a function of a module that returns a `StudyAnswer`.
        given: its argument.
        spec: the table; with several clusters, ``cluster`` precedes its values.

    Returns:
        The exit status: 1 if something is missing, 3 if a condition is met.
    """
    from karptui.cli.whatif_scenarios import FAILED

    is_of_several = len(args.snapshots) > 1
    status, rows, lines, sentences = 0, list[dict[str, Any]](), list[str](), list[str]()

    def progress(done: int, total: int) -> None:
        say_progress(f"karptui {command}: {done * 100 // max(total, 1)} %")

    try:
        rows_of(spec, (), args, 0)  # refuses a filter or an order before anything is simulated
        with opened(args.workers or "1") as workers:
            for named, found in ask_whole(args, workers, ask, given, command=command, reporter=progress):
                say_progress("")
                answer = found[0] if found else StudyAnswer(problem=f"{named.name}: {named.problem}")
                if answer.problem and not is_of_several:
                    fail(answer.problem, command)
                own = {"cluster": named.name} if is_of_several else {}
                rows += [{**own, **row} for row in answer.rows]
                lines += ["", *answer.lines] if lines else answer.lines
                of = f"{named.name}: " if is_of_several else ""
                sentences += [answer.problem] if answer.problem else [f"{of}{one}" for one in answer.notes]
                sentences += [f"{of}{one}" for one in answer.failures]
                status = max(status, named.report(command), bool(answer.problem), FAILED * bool(answer.failures))
    except UsageError as error:
        say_progress("")
        fail(str(error), command)
    if args.output == "json":
        put(json_text(rows))
    elif args.output == "csv":
        names = (*(["cluster"] if is_of_several else ()), *(value.name for value in spec.csv_values()))
        print_csv(names, rows, has_header=not args.no_headers)
    else:
        _print_lines(lines)
    for sentence in dict.fromkeys(sentences):
        say(sentence, command)
    return status


def one_base(args: argparse.Namespace) -> tuple[NamedBase, WhatIfBase]:
    """Return the cluster that the flags name.

    Raises:
        UsageError: It cannot be read.
    """
    from karptui.cli.whatif_scenarios import bases

    (named,) = bases(args)
    if named.base is None:
        raise UsageError(f"{named.name}: {named.problem}")
    return named, named.base


def chosen(spec: TableSpec[ItemT], items: Sequence[ItemT], args: argparse.Namespace) -> Rows[ItemT]:
    """Return the rows that ``--filter`` and ``--sort-by`` ask for, else in the order of the items.

    Raises:
        UsageError: when a filter or an order cannot be read.
    """
    return rows_of(spec, items, args, 0, keeps_order=True)


def written(rows: Rows[Any], args: argparse.Namespace) -> tuple[dict[str, Any], ...]:
    """Return rows as JSON or CSV holds them; nothing for a table."""
    if args.output == "json":
        return tuple(rows.values())
    return tuple(rows.flat_values()) if args.output == "csv" else ()


def table_lines(rows: Rows[Any], args: argparse.Namespace) -> Iterator[str]:
    """Yield rows as aligned columns."""
    from karptui.views.table import as_text

    if rows:
        lines = as_text(rows.spec.headings(), rows, range(len(rows.spec.columns))).splitlines()
        yield from lines[1:] if args.no_headers else lines


def print_document(
    head: dict[str, Any],
    rows: tuple[str, Rows[Any]],
    tail: dict[str, Any],
    lines: Iterable[str],
    args: argparse.Namespace,
) -> None:
    """Print one document in the form asked for.

    Args:
        head: values before its rows.
        rows: their name in JSON, and the rows, which are all of CSV.
        tail: values after its rows.
        lines: the text.
        args: parsed arguments.
    """
    if args.output == "json":
        put(json_text({**head, rows[0]: rows[1].values(), **tail}))
    elif args.output == "csv":
        print_rows(rows[1], args)
    else:
        _print_lines(lines)


def _print_lines(lines: Iterable[str]) -> None:
    put(page("".join(f"{clean(line)}\n" for line in lines)), end="")
