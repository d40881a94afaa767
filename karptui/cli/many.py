"""Commands that ask the same of many clusters, or many things of one: in processes here, or on a Dask cluster."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from karptui.cli.errors import UsageError, say, show_percent, show_progress
from karptui.cli.listing import json_text, print_csv, print_rows, rows_of
from karptui.cli.streams import put
from karptui.cli.whatif_scenarios import FAILED, NamedBase, base_of_snapshot, bases, check_snapshots
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

Ask = Callable[[NamedBase, Any, Any, Callable[[], bool]], Any]
"""Called with a cluster, the command's arguments, a part of the question, and a check for cancellation."""
AskWhole = Callable[[NamedBase, Any, "Each", "Reporter"], Any]
"""Called with a cluster, the command's arguments, an executor of many parts, and a reporter."""
Merge = Callable[[NamedBase, Any, Sequence[Any]], Sequence[Any]]
"""Merges the answers to all parts; called with the cluster and the command's arguments first."""


class ClusterAnswers(NamedTuple):
    """Answers of one cluster."""

    cluster: NamedBase
    """The cluster, without values computed in another process."""
    answers: tuple[Any, ...]
    """An answer for each part; none without a cluster."""


@contextmanager
def opened(wanted: str) -> Iterator[Workers]:
    """Start the workers. Raises UsageError: they cannot be started, or are lost."""
    workers: Workers | None = None
    try:
        workers = workers_at(wanted)
        yield workers
    except WorkersError as error:
        raise UsageError(f"--workers: {error}") from None
    finally:
        if workers is not None:
            workers.close()


def ask_parts(
    args: argparse.Namespace,
    workers: Workers,
    ask: Ask,
    given: object,
    parts: Sequence[object],
    *,
    merge: Merge | None = None,
) -> Iterator[ClusterAnswers]:
    """Ask every part of a question of every cluster; yield the clusters in order.

    Several snapshots run in parallel; of one cluster the parts do.

    Raises:
        UsageError: The flags name no readable cluster.
        WorkersError: The workers are lost.
    """
    if len(args.snapshots) > 1:
        check_snapshots(args)
        _import_engine()
        common = ask, given, tuple(parts), args, merge
        answers = in_order(workers.run(_of_cluster, common, _clusters(args, workers)))
        yield from _counted(answers, len(args.snapshots))
        return
    for cluster in bases(args):
        cluster_answers: Sequence[Any] = ()
        if cluster.base is not None:
            answers = in_order(workers.run(_of_part, (ask, given, cluster), parts))
            cluster_answers = tuple(_counted(answers, len(parts)))
            cluster_answers = merge(cluster, given, cluster_answers) if merge is not None else cluster_answers
        yield ClusterAnswers(cluster._replace(base=None), tuple(cluster_answers))


def ask_whole(
    args: argparse.Namespace, ask: AskWhole, given: object, reporter: Reporter
) -> Iterator[tuple[NamedBase, StudyAnswer]]:
    """Ask one question of every cluster; yield the clusters in order, with their answers.

    Several snapshots run in parallel; of one cluster the parts of the question do.

    Raises:
        RequestError: The flags name no readable cluster, the workers are lost, or a single cluster has no answer.
    """
    with opened(args.workers or "1") as workers:
        if len(args.snapshots) > 1:
            answers = ask_parts(args, workers, _of_whole, (ask, given), (None,))
        else:
            answers = (
                ClusterAnswers(
                    cluster._replace(base=None),
                    () if cluster.base is None else (ask(cluster, given, each_of(workers), reporter),),
                )
                for cluster in bases(args)
            )
        for named, replies in answers:
            yield named, replies[0] if replies else StudyAnswer(problem=f"{named.name}: {named.problem}")


def each_of(workers: Workers) -> Each:
    """Return an executor that uses the workers."""
    from karptui.provisioning.reporter import one_by_one

    def each(ask: AskOne, common: object, items: Iterable[object], _reporter: Reporter) -> Iterator[Any]:
        return in_order(workers.run(_of_item, (ask, common), items))

    return each if workers.count > 1 else one_by_one


def _of_item(common: Any, item: object, is_stopped: Callable[[], bool]) -> Any:
    ask, given = common
    return ask(given, item, ends_when(is_stopped))


def ends_when(is_stopped: Callable[[], bool]) -> Reporter:
    """Return a reporter that cancels a run."""
    from karptui.provisioning.reporter import Cancelled

    def report(done: int, total: int) -> None:  # noqa: ARG001 - answers show the progress
        if is_stopped():
            raise Cancelled

    return report


def _of_whole(cluster: NamedBase, given: Any, _part: object, is_stopped: Callable[[], bool]) -> Any:
    from karptui.provisioning.reporter import one_by_one

    ask, arguments = given
    try:
        return ask(cluster, arguments, one_by_one, ends_when(is_stopped))
    except RequestError as error:
        return StudyAnswer(problem=f"{cluster.name}: {error}")


def _import_engine() -> None:
    """Import the engine, so that forked processes have it."""
    names = ("cli.evidence", "session.sweeper", "session.prepare", "sources.snapshot.reader", "whatif.sweep")
    for name in (*names, "plan.rollout"):
        import_module(f"karptui.{name}")


def _clusters(args: argparse.Namespace, workers: Workers) -> Iterator[str | NamedBase]:
    """Yield clusters as they are sent to workers: a path that is read there, or the complete cluster."""
    for path in args.snapshots:
        yield path if workers.sees_files and path != "-" else base_of_snapshot(path, args)


def _of_cluster(common: Any, item: str | NamedBase, is_stopped: Callable[[], bool]) -> ClusterAnswers:
    ask, given, parts, args, merge = common
    cluster = base_of_snapshot(item, args) if isinstance(item, str) else item
    answers: Sequence[Any] = ()
    if cluster.base is not None:
        answers = [ask(cluster, given, part, is_stopped) for part in parts]
        answers = merge(cluster, given, answers) if merge is not None else answers
    return ClusterAnswers(cluster._replace(base=None), tuple(answers))


def _of_part(common: Any, part: object, is_stopped: Callable[[], bool]) -> Any:
    ask, given, cluster = common
    return ask(cluster, given, part, is_stopped)


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


def run_texts(args: argparse.Namespace, ask: AskWhole, given: object, reporter: Reporter) -> int:
    """Ask a question of every cluster, and print each answer at once.

    Args:
        ask: a function of a module that returns a `StudyAnswer` with a text.

    Returns:
        The exit status: 1 if something is missing, 3 if a condition is met.
    """
    status, is_of_several = 0, len(args.snapshots) > 1
    for named, answer in ask_whole(args, ask, given, reporter):
        if answer.problem and not is_of_several:
            raise UsageError(answer.problem)
        put(page(answer.text), end="")
        status = max(status, named.report(), bool(answer.problem), FAILED * answer.is_failed)
        if answer.problem:
            say(answer.problem)
        for failure in answer.failures:
            say(f"{named.name}: {failure}" if is_of_several else failure)
            status = FAILED
    return status


def run_study(args: argparse.Namespace, ask: AskWhole, given: object, spec: TableSpec[ItemT]) -> int:
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
    for named, answer in ask_whole(args, ask, given, show_percent):
        if answer.problem and not is_of_several:
            raise UsageError(answer.problem)
        cluster_field = {"cluster": named.name} if is_of_several else {}
        rows += [{**cluster_field, **row} for row in answer.rows]
        lines += ["", *answer.lines] if lines else answer.lines
        of = f"{named.name}: " if is_of_several else ""
        sentences += [answer.problem] if answer.problem else [f"{of}{note}" for note in answer.notes]
        sentences += [f"{of}{failure}" for failure in answer.failures]
        status = max(status, named.report(), bool(answer.problem), FAILED * bool(answer.failures))
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


def print_document(
    head: dict[str, Any],
    rows: tuple[str, Rows[Any]],
    tail: dict[str, Any],
    lines: Iterable[str],
    args: argparse.Namespace,
) -> None:
    """Print one document in the form asked for."""
    if args.output == "json":
        put(json_text({**head, rows[0]: rows[1].values(), **tail}))
    elif args.output == "csv":
        print_rows(rows[1], args)
    else:
        put(page(text_of(lines)), end="")


def text_of(lines: Iterable[str]) -> str:
    """Return lines as text to print."""
    return "".join(f"{clean(line)}\n" for line in lines)
