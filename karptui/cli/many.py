"""Commands that ask the same of many clusters, or many things of one: in processes here, or on a Dask cluster."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from karptui.cli.fail_on import FAILED
from karptui.cli.listing import json_text, print_csv, print_rows, report, rows_of
from karptui.cli.streams import UsageError, put, say, show_percent, show_progress
from karptui.cli.whatif_scenarios import NamedBase, base_of_snapshot, bases, check_snapshots
from karptui.errors import RequestError
from karptui.views.sanitize import clean, page
from karptui.workers.near import workers_at
from karptui.workers.workers import Workers, WorkersError, in_order

if TYPE_CHECKING:
    from karptui.provisioning.reporter import Ask as AskOne
    from karptui.provisioning.reporter import Each, Reporter
    from karptui.views.column import ItemT
    from karptui.views.table import Rows, TableSpec
    from karptui.whatif.situation import WhatIfBase

Ask = Callable[[NamedBase, Any, "Each", "Reporter"], Any]
"""Called with a cluster, the command's arguments, an executor of many parts, and a reporter."""


@contextmanager
def opened(address: str) -> Iterator[Workers]:
    """Start the workers. Raises UsageError: they cannot be started, or are lost."""
    workers: Workers | None = None
    try:
        workers = workers_at(address)
        yield workers
    except WorkersError as error:
        raise UsageError(f"--workers: {error}") from None
    finally:
        if workers is not None:
            workers.close()


def ask_clusters(
    args: argparse.Namespace, ask: Ask, arguments: object, reporter: Reporter | None = None, *, workers: str = "1"
) -> Iterator[tuple[NamedBase, Any]]:
    """Ask one question of every cluster; yield the clusters in order, each with its answer.

    Several snapshots run in parallel; of one cluster the parts of the question do.

    Args:
        ask: a function of a module, so that other processes find it.
        reporter: shows the progress of a single cluster; None to count the parts that are answered.
        workers: the workers without ``--workers``.

    Yields:
        The cluster without what was computed from it, and the answer; None if the cluster's ``problem`` says why
        there is none.

    Raises:
        RequestError: The flags name no readable cluster, the workers are lost, or a single cluster has no answer.
    """
    from karptui.provisioning.reporter import silent

    with opened(args.workers or workers) as running:
        if len(args.snapshots) > 1:
            check_snapshots(args)
            _import_engine()
            answers = in_order(running.run(_of_cluster, (ask, arguments, args), _clusters(args, running)))
            yield from _counted(answers, len(args.snapshots))
            return
        each = each_of(running)
        for cluster in bases(args):
            answer = None
            if cluster.base is not None:
                answer = ask(cluster, arguments, each if reporter is not None else _counting(each), reporter or silent)
            yield cluster._replace(base=None), answer


def each_of(workers: Workers) -> Each:
    """Return an executor that uses the workers."""
    from karptui.provisioning.reporter import one_by_one

    def each(ask: AskOne, common: object, items: Iterable[object], _reporter: Reporter) -> Iterator[Any]:
        return in_order(workers.run(_of_item, (ask, common), items))

    return each if workers.count > 1 else one_by_one


def _of_item(common: Any, item: object, _: object) -> Any:
    from karptui.provisioning.reporter import silent

    ask, arguments = common
    return ask(arguments, item, silent)


def _counting(each: Each) -> Each:
    def counting(ask: AskOne, common: object, items: Iterable[object], reporter: Reporter) -> Iterator[Any]:
        parts = tuple(items)
        return _counted(each(ask, common, parts, reporter), len(parts))

    return counting


def _import_engine() -> None:
    """Import the engine, so that forked processes have it."""
    import karptui.cli.evidence
    import karptui.session.prepare
    import karptui.sources.snapshot.reader
    import karptui.studies.forecasts
    import karptui.whatif.sweep  # noqa: F401


def _clusters(args: argparse.Namespace, workers: Workers) -> Iterator[str | NamedBase]:
    """Yield clusters as they are sent to workers: a path that is read there, or the complete cluster."""
    for path in args.snapshots:
        yield path if workers.sees_files and path != "-" else base_of_snapshot(path, args)


def _of_cluster(common: Any, item: str | NamedBase, _: object) -> tuple[NamedBase, Any]:
    from karptui.provisioning.reporter import one_by_one, silent

    ask, arguments, args = common
    cluster = base_of_snapshot(item, args) if isinstance(item, str) else item
    if cluster.base is None:
        return cluster, None
    try:
        return cluster._replace(base=None), ask(cluster, arguments, one_by_one, silent)
    except RequestError as error:
        return cluster._replace(base=None, problem=str(error)), None


def _counted(answers: Iterator[Any], total: int) -> Iterator[Any]:
    """Yield answers, and show their number on a terminal until something else is printed."""
    for done in range(total):
        if total > 1:
            show_progress(f"{done} of {total}")
        answer = next(answers, None)
        if answer is None:
            return
        yield answer


class StudyAnswer(NamedTuple):
    """Output for one cluster."""

    rows: tuple[dict[str, Any], ...] = ()
    """The rows by name, in the form of ``-o``."""
    lines: tuple[str, ...] = ()
    """The text, for answers that are printed together."""
    failures: tuple[str, ...] = ()
    """Conditions that are met, as messages."""
    notes: tuple[str, ...] = ()
    """More messages."""
    problem: str = ""
    """Why there is no answer."""
    text: str = ""
    """The output, for answers that are printed one by one."""
    is_failed: bool = False
    """Whether a condition is met that the text contains already."""


def _study_answers(
    args: argparse.Namespace, ask: Ask, arguments: object, reporter: Reporter
) -> Iterator[tuple[NamedBase, StudyAnswer]]:
    """Yield the clusters in order, each with its answer. Raises UsageError: the only cluster has none."""
    for named, answer in ask_clusters(args, ask, arguments, reporter):
        problem = f"{named.name}: {named.problem}"
        if answer is None and len(args.snapshots) <= 1:
            raise UsageError(problem)
        yield named, StudyAnswer(problem=problem) if answer is None else answer


def run_texts(args: argparse.Namespace, ask: Ask, arguments: object, reporter: Reporter) -> int:
    """Ask a question of every cluster, and print each answer at once.

    Args:
        ask: a function of a module that returns a `StudyAnswer` with a text.

    Returns:
        The exit status: 1 if something is missing, 3 if a condition is met.
    """
    status, is_of_several = 0, len(args.snapshots) > 1
    for named, answer in _study_answers(args, ask, arguments, reporter):
        put(page(answer.text), end="")
        status = max(status, report(named), bool(answer.problem), FAILED * answer.is_failed)
        if answer.problem:
            say(answer.problem)
        for failure in answer.failures:
            say(f"{named.name}: {failure}" if is_of_several else failure)
            status = FAILED
    return status


def run_study(args: argparse.Namespace, ask: Ask, arguments: object, spec: TableSpec[ItemT]) -> int:
    """Ask a question of every cluster, and print all answers as one table, or in the form asked for.

    Args:
        ask: a function of a module that returns a `StudyAnswer`.
        spec: the table; with several clusters, ``cluster`` precedes its values.

    Returns:
        The exit status: 1 if something is missing, 3 if a condition is met.
    """
    is_of_several = len(args.snapshots) > 1
    status, rows, lines, sentences = 0, list[dict[str, Any]](), list[str](), list[str]()
    rows_of(spec, (), args, 0)  # refuses a filter or an order before anything is simulated
    for named, answer in _study_answers(args, ask, arguments, show_percent):
        cluster_field = {"cluster": named.name} if is_of_several else {}
        rows += [{**cluster_field, **row} for row in answer.rows]
        lines += ["", *answer.lines] if lines else answer.lines
        of = f"{named.name}: " if is_of_several else ""
        sentences += [answer.problem] if answer.problem else [f"{of}{note}" for note in answer.notes]
        sentences += [f"{of}{failure}" for failure in answer.failures]
        status = max(status, report(named), bool(answer.problem), FAILED * bool(answer.failures))
    if args.output == "json":
        put(json_text(rows))
    elif args.output == "csv":
        names = (*(["cluster"] if is_of_several else ()), *(value.name for value in spec.csv_values()))
        print_csv(names, rows, has_header=not args.no_headers)
    else:
        put(page(text_of(lines)), end="")
    for sentence in dict.fromkeys(sentences):
        say(sentence)
    return status


def one_base(args: argparse.Namespace) -> tuple[NamedBase, WhatIfBase]:
    """Return the cluster that the flags name. Raises UsageError: it cannot be read."""
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


def blocks(*parts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of several parts, with an empty line between those that have any."""
    is_first = True
    for lines in filter(None, map(tuple, parts)):
        yield from lines if is_first else ("", *lines)
        is_first = False


def assumption_lines(assumed: Iterable[str], not_modelled: Iterable[str] = ()) -> Iterator[str]:
    """Yield the assumptions of an answer."""
    yield from (f"  assumed: {sentence}" for sentence in assumed)
    yield from (f"  not modelled: {sentence}" for sentence in not_modelled)


def print_report(
    named: NamedBase,
    values: dict[str, Any],
    rows: tuple[str, Rows[Any]],
    answer: Iterable[str],
    *parts: Iterable[str],
    args: argparse.Namespace,
) -> int:
    """Print the answer about one cluster in the form asked for, and its notes; return the exit status.

    Args:
        values: Values of the answer.
        rows: The table's name in JSON, and its rows.
        answer: The answer as text, then its details.
        parts: Further lines of the text, each after an empty line.
    """
    if args.output == "json":
        put(json_text({"name": named.name, **values, rows[0]: rows[1].values(), **named.versions}))
    elif args.output == "csv":
        print_rows(rows[1], args)
    else:
        first, *more = answer
        put(page(text_of(blocks([f"{named.name}: {first}", *(f"  {line}" for line in more)], *parts))), end="")
    return report(named)


def text_of(lines: Iterable[str]) -> str:
    return "".join(f"{clean(line)}\n" for line in lines)
