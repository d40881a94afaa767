"""Commands that ask the same of many clusters, or many things of one: in processes here, or on a Dask cluster."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from karptui.cli.errors import UsageError
from karptui.cli.streams import say_progress
from karptui.cli.whatif_scenarios import NamedBase, base_of_snapshot, bases, check_snapshots
from karptui.workers.places import workers_at
from karptui.workers.workers import Workers, WorkersError, in_order

if TYPE_CHECKING:
    from karptui.provisioning.reporter import Ask as AskOne
    from karptui.provisioning.reporter import Each, Reporter

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
    """Start the workers.

    Raises:
        UsageError: They cannot be started, or are lost.
    """
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
    command: str,
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
        yield from _counted(answers, len(args.snapshots), command)
        return
    for cluster in bases(args):
        found: Sequence[Any] = ()
        if cluster.base is not None:
            answers = in_order(workers.run(_of_part, (ask, given, cluster), parts))
            found = tuple(_counted(answers, len(parts), command))
            found = merge(cluster, given, found) if merge is not None else found
        yield ClusterAnswers(cluster._replace(base=None), tuple(found))


def ask_whole(
    args: argparse.Namespace,
    workers: Workers,
    ask: AskWhole,
    given: object,
    *,
    command: str,
    reporter: Reporter,
) -> Iterator[ClusterAnswers]:
    """Ask one question of every cluster; yield the clusters in order, with an answer each.

    Several snapshots run in parallel; of one cluster the parts of the question do.

    Raises:
        UsageError: The flags name no readable cluster.
        WorkersError: The workers are lost.
    """
    if len(args.snapshots) > 1:
        yield from ask_parts(args, workers, _of_whole, (ask, given), (None,), command=command)
        return
    for cluster in bases(args):
        found = (ask(cluster, given, each_of(workers), reporter),) if cluster.base is not None else ()
        yield ClusterAnswers(cluster._replace(base=None), found)


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

    def report(done: int, total: int) -> None:  # noqa: ARG001 - progress shows in what is ready
        if is_stopped():
            raise Cancelled

    return report


def _of_whole(cluster: NamedBase, given: Any, _part: object, is_stopped: Callable[[], bool]) -> Any:
    from karptui.provisioning.reporter import one_by_one

    ask, own = given
    return ask(cluster, own, one_by_one, ends_when(is_stopped))


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
    found: Sequence[Any] = ()
    if cluster.base is not None:
        found = [ask(cluster, given, part, is_stopped) for part in parts]
        found = merge(cluster, given, found) if merge is not None else found
    return ClusterAnswers(cluster._replace(base=None), tuple(found))


def _of_part(common: Any, part: object, is_stopped: Callable[[], bool]) -> Any:
    ask, given, cluster = common
    return ask(cluster, given, part, is_stopped)


def _counted(answers: Iterator[Any], total: int, command: str) -> Iterator[Any]:
    """Yield answers, and show their number on a terminal until something else is printed."""
    done = 0
    while True:
        is_shown = 1 < total > done
        if is_shown:
            say_progress(f"karptui {command}: {done} of {total}")
        answer = next(answers, None)
        if is_shown:
            say_progress("")
        if answer is None:
            return
        done += 1
        yield answer
