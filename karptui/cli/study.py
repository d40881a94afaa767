"""What the commands of studies have in common: clusters, workers, records printed as table, JSON or CSV."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from karptui.cli.errors import UsageError, fail, say
from karptui.cli.listing import json_text, print_csv
from karptui.cli.many import AskWhole, ask_whole, opened
from karptui.cli.streams import put, say_progress
from karptui.views.row import Row
from karptui.views.sanitize import clean, page

if TYPE_CHECKING:
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.views.column import ItemT
    from karptui.views.table import TableSpec
    from karptui.whatif.situation import WhatIfBase


class StudyAnswer(NamedTuple):
    """What is printed of one cluster."""

    documents: tuple[dict[str, Any], ...] = ()
    """The records, as JSON has them."""
    lines: tuple[str, ...] = ()
    """The text."""
    failures: tuple[str, ...] = ()
    """Conditions that are met, in words."""
    notes: tuple[str, ...] = ()
    """What is said beside it."""
    problem: str = ""
    """Why there is no answer."""


def run_study(args: argparse.Namespace, command: str, ask: AskWhole, given: object, columns: Sequence[str]) -> int:
    """Ask a question of every cluster, and print what is found in the form asked for.

    Args:
        args: those of the command.
        command: its name.
        ask: a function of a module that returns a `StudyAnswer`.
        given: what it is given.
        columns: of CSV; of several clusters ``cluster`` stands before them, in every record.

    Returns:
        The exit status: 1 where something is missing, 3 where a condition is met.
    """
    from karptui.cli.whatif_scenarios import FAILED

    is_of_several = len(args.snapshots) > 1
    status, documents, lines, sentences = 0, list[dict[str, Any]](), list[str](), list[str]()

    def progress(done: int, total: int) -> None:
        say_progress(f"karptui {command}: {done * 100 // max(total, 1)} %")

    try:
        with opened(args.workers or "1") as workers:
            for named, found in ask_whole(args, workers, ask, given, command=command, reporter=progress):
                say_progress("")
                answer = found[0] if found else StudyAnswer(problem=f"{named.name}: {named.problem}")
                if answer.problem and not is_of_several:
                    fail(answer.problem, command)
                own = {"cluster": named.name} if is_of_several else {}
                documents += [{**own, **one} for one in answer.documents]
                lines += ["", *answer.lines] if lines else answer.lines
                of = f"{named.name}: " if is_of_several else ""
                sentences += [answer.problem] if answer.problem else [f"{of}{one}" for one in answer.notes]
                sentences += [f"{of}{one}" for one in answer.failures]
                status = max(status, named.report(command), bool(answer.problem), FAILED * bool(answer.failures))
    except UsageError as error:
        say_progress("")
        fail(str(error), command)
    print_study(documents, ("cluster", *columns) if is_of_several else columns, lines, args.output)
    for sentence in dict.fromkeys(sentences):
        say(sentence, command)
    return status


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
        put(json_text(list(documents)))
    elif form == "csv":
        print_csv(columns, map(_flat, documents))
    else:
        put(page("".join(f"{clean(line)}\n" for line in lines)), end="")


def print_document(document: dict[str, Any], rows: tuple[str, Sequence[str]], lines: Iterable[str], form: str) -> None:
    """Print one document in the form asked for.

    Args:
        document: as JSON has it.
        rows: of CSV: the part of the document that holds them, and their columns.
        lines: the text.
        form: of ``-o``.
    """
    if form == "json":
        put(json_text(document))
    else:
        part, columns = rows
        print_study(document[part], columns, lines, form)


def _flat(document: dict[str, Any]) -> dict[str, Any]:
    """Return a record with the numbers of its lists, and what parts of it hold under a name made of both."""
    parts = {
        f"{key}{name[0].upper()}{name[1:]}": value
        for key, part in document.items()
        if isinstance(part, dict)
        for name, value in part.items()
    }
    return {key: len(value) if isinstance(value, list) else value for key, value in {**parts, **document}.items()}
