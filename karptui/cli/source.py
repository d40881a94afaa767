"""From flags to the source they name: a live cluster, a snapshot or the demo; and the tap that records its history."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from karptui.cli.options import LIVE_FLAGS, cluster_words, refuse_live, refuse_unused
from karptui.cli.streams import UsageError

if TYPE_CHECKING:
    from karptui.clock import Clock
    from karptui.config import Config
    from karptui.sources.cluster.connection import Connection
    from karptui.sources.history.tap import HistoryTap
    from karptui.sources.snapshot.reader import Snapshot
    from karptui.sources.source import Source


def open_source(args: argparse.Namespace, *, is_still: bool = False, is_large: bool = False) -> tuple[Source, Clock]:
    """Return the source that the flags name, and its clock, which is frozen for a snapshot.

    Raises:
        RequestError: The flags are invalid.
    """
    from karptui.clock import FrozenClock, SystemClock

    if args.demo and args.snapshot:
        raise UsageError("--demo and --snapshot cannot be combined")
    check_times(args)
    if args.demo or args.snapshot:
        refuse_live(args)
    if args.at is not None and not args.snapshot:
        return _open_snapshot(args, [local_history(args)])
    if args.demo:
        from karptui.sources.demo.source import DemoSource
        from karptui.sources.source import Phase

        if is_large:
            from karptui.sources.demo.source import LargeDemo

            large = LargeDemo()
            return large, large.clock
        if not is_still:
            demo = DemoSource()
            return demo, demo.clock
        clock = FrozenClock(SystemClock().now_ns())
        return DemoSource(clock=clock, is_stepped=True, phase=Phase.OFFLINE), clock
    if args.snapshot:
        return _open_snapshot(args, args.snapshot)
    return connect(args, args.context), SystemClock()


@contextmanager
def history_of_pod(args: argparse.Namespace) -> Iterator[None]:
    """Copy the history that ``--from-watch`` names, and make it the snapshot while the command runs.

    Raises:
        RequestError: It cannot be copied, or flags conflict.
    """
    from karptui.sources.history.watch_pod import copy_history

    others = [name for name in ("snapshot", "snapshots", "demo", "contexts") if name in args.flags]
    refuse_unused(args, others, "cannot be combined with --from-watch")
    with TemporaryDirectory(prefix="karptui-") as folder:
        args.snapshot = [str(copy_history(args.from_watch, cluster_words(args, LIVE_FLAGS), Path(folder)))]
        args.from_watch = None
        for name in LIVE_FLAGS:
            setattr(args, name, [] if name == "as_group" else None)
        yield


def check_times(args: argparse.Namespace) -> None:
    """Refuse ``--now`` without files, and with ``--at``."""
    if not args.snapshot:
        refuse_unused(args, ("now",), "needs --snapshot")
    if args.at is not None and args.now is not None:
        raise UsageError("--at and --now cannot be combined: a moment of a history has its own time")


def _open_snapshot(args: argparse.Namespace, paths: Sequence[str | Path]) -> tuple[Source, Clock]:
    from karptui.clock import FrozenClock
    from karptui.sources.snapshot.source import SnapshotSource

    snapshot = read_snapshot(args, paths)
    return SnapshotSource(snapshot), FrozenClock(snapshot.captured_at_ns)


def read_snapshot(args: argparse.Namespace, paths: Sequence[str | Path]) -> Snapshot:
    """Return the snapshot in files; of a history, the moment of ``--at``.

    Raises:
        SnapshotError: A file cannot be read.
    """
    from karptui.sources.snapshot.reader import SnapshotReader

    reader = SnapshotReader(karpenter_version=args.karpenter_version or "")
    return reader.read(paths, now_ns=args.now, at=args.at, keeps_manifests=True)


def chosen_history(args: argparse.Namespace) -> Path:
    """Return the history that the flags name: the file of ``--snapshot``, or that of the cluster on this machine.

    Raises:
        RequestError: There is none, or flags conflict.
    """
    refuse_unused(args, ("now", "at"), "names a moment, and a history has --from and --to")
    return history_of(args)


def history_of(args: argparse.Namespace) -> Path:
    """Return the history that the flags name, whatever moment of it; raises as ``chosen_history``."""
    from karptui.sources.history.store import is_history

    if not args.snapshot:
        return local_history(args)
    if args.demo:
        raise UsageError("--demo and --snapshot cannot be combined")
    refuse_live(args)
    path = Path(args.snapshot[0])
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    if len(args.snapshot) > 1:
        raise UsageError("--snapshot: this command reads one history")
    if not is_history(path):
        raise UsageError(f"{path}: is not a history that karptui has recorded")
    return path


def local_history(args: argparse.Namespace) -> Path:
    """Return the file with the history of the live cluster, or of the demo, that the flags name.

    Raises:
        RequestError: The kubeconfig is invalid, or this machine has no history of the cluster.
    """
    from karptui.paths import history_file

    title, server = "demo", "demo"
    if not args.demo:
        connection = resolve(args, args.context)
        title, server = connection.context, connection.server
    try:
        path = history_file(title, server)
    except OSError as error:
        raise UsageError(f"{title}: its history cannot be read: {error.strerror or error}") from error
    if not path.exists():
        raise UsageError(f"{title}: this machine has no history of it; karptui records one while it runs")
    return path


def connect(args: argparse.Namespace, context: str | None) -> Source:
    """Return the source of a live cluster; same arguments and errors as ``resolve``."""
    from karptui.sources.cluster.source import ClusterSource

    return ClusterSource(resolve(args, context), request_seconds=args.request_timeout)


def resolve(args: argparse.Namespace, context: str | None) -> Connection:
    """Return the connection to the cluster that the flags name.

    Raises:
        RequestError: The kubeconfig is invalid; the message names file and field.
    """
    from karptui.sources.cluster.connection import Impersonation, load_connection

    impersonation = Impersonation(args.as_user, tuple(args.as_group)) if args.as_user else None
    if args.as_group and not args.as_user:
        raise UsageError("--as-group needs --as")
    return load_connection(kubeconfig=args.kubeconfig, context=context, impersonation=impersonation)


def history_tap(source: Source | None, config: Config, clock: Clock, path: Path | None = None) -> HistoryTap | None:
    """Return the recorder of a live cluster's or the demo's history; None if it is not recorded."""
    from karptui.clock import FrozenClock
    from karptui.files import files_are_forbidden
    from karptui.paths import history_file
    from karptui.sources.cluster.source import ClusterSource
    from karptui.sources.history.tap import HistoryTap, Limits

    if isinstance(source, ClusterSource):
        server = source.connection.server
    elif source is not None and source.title == "demo" and not isinstance(clock, FrozenClock):
        server = "demo"
    else:
        return None
    if not config.history or files_are_forbidden():
        return None
    try:
        path = path or history_file(source.title, server)
    except OSError:
        return None
    limits = Limits(config.history_days, int(config.history_megabytes * 1e6))
    return HistoryTap(path, source.title, clock, limits)
