"""Commands that ask the same of many clusters, or many things of one: in processes here, or on a Dask cluster."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from karptui.cli.errors import UsageError
from karptui.cli.streams import say_progress
from karptui.cli.whatif_scenarios import NamedBase, base_of_snapshot, bases, check_snapshots
from karptui.workers.places import workers_at
from karptui.workers.workers import Workers, WorkersError, in_order

Ask = Callable[[NamedBase, Any, Any, Callable[[], bool]], Any]
"""Called with a cluster, what is given, one part of the question, and whether nobody waits any more."""


class Told(NamedTuple):
    """What was found of one cluster."""

    cluster: NamedBase
    """Without what was worked out in another process."""
    answers: tuple[Any, ...]
    """One for each part of the question; none where there is no cluster."""


def add_workers_flag(parser: argparse.ArgumentParser, *, default: str) -> None:
    """Add ``--workers``; ``default`` is said of it."""
    parser.add_argument(
        "--workers",
        metavar="N|ADDRESS",
        help=f"processes to work in (default: {default}), or the address of a Dask scheduler, tcp://scheduler:8786"
        " (pip install 'karptui[dask]')",
    )


@contextmanager
def opened(wanted: str) -> Iterator[Workers]:
    """Give the workers that were asked for.

    Raises:
        UsageError: when they cannot be had, or are lost.
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


def told(
    args: argparse.Namespace, workers: Workers, ask: Ask, given: object, parts: Sequence[object], *, command: str
) -> Iterator[Told]:
    """Ask every part of a question of every cluster that the arguments name; yield the clusters in their order.

    Several snapshots are asked side by side, of one cluster the parts.

    Raises:
        UsageError: where the flags name no cluster that can be had.
        WorkersError: where the workers are lost.
    """
    if len(args.snapshots) > 1:
        check_snapshots(args)
        _import_engine()
        answers = in_order(workers.run(_of_cluster, (ask, given, tuple(parts), args), _clusters(args, workers)))
        yield from _counted(answers, len(args.snapshots), command)
        return
    for cluster in bases(args):
        found: Sequence[Any] = ()
        if cluster.base is not None:
            answers = in_order(workers.run(_of_part, (ask, given, cluster), parts))
            found = tuple(_counted(answers, len(parts), command))
        yield Told(cluster._replace(base=None), tuple(found))


def _import_engine() -> None:
    """Import here what is needed there: processes that are forked have it then."""
    for name in ("cli.evidence", "session.sweeper", "session.whatif_base", "sources.snapshot.reader", "whatif.sweep"):
        import_module(f"karptui.{name}")


def _clusters(args: argparse.Namespace, workers: Workers) -> Iterator[str | NamedBase]:
    """Yield what clusters are known by where they are asked: a path that is read there, or all there is in it."""
    for path in args.snapshots:
        yield path if workers.sees_files and path != "-" else base_of_snapshot(path, args)


def _of_cluster(common: Any, item: str | NamedBase, is_stopped: Callable[[], bool]) -> Told:
    ask, given, parts, args = common
    cluster = base_of_snapshot(item, args) if isinstance(item, str) else item
    found = [ask(cluster, given, part, is_stopped) for part in parts] if cluster.base is not None else ()
    return Told(cluster._replace(base=None), tuple(found))


def _of_part(common: Any, part: object, is_stopped: Callable[[], bool]) -> Any:
    ask, given, cluster = common
    return ask(cluster, given, part, is_stopped)


def _counted(answers: Iterator[Any], total: int, command: str) -> Iterator[Any]:
    """Yield answers, and say on a terminal how many there are: on a line that is gone when anything else is said."""
    done = 0
    while True:
        is_told = 1 < total > done
        if is_told:
            say_progress(f"karptui {command}: {done} of {total}")
        answer = next(answers, None)
        if is_told:
            say_progress("")
        if answer is None:
            return
        done += 1
        yield answer
