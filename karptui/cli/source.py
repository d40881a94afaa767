"""From flags to the source they name: a live cluster, a snapshot or the demo."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from karptui.cli.errors import UsageError
from karptui.cli.options import refuse_live, refuse_unused

if TYPE_CHECKING:
    from karptui.clock import Clock
    from karptui.sources.cluster.connection import Connection
    from karptui.sources.source import Source


def open_source(args: argparse.Namespace, *, is_still: bool = False, is_large: bool = False) -> tuple[Source, Clock]:
    """Return the source that the flags name, and its clock, which is frozen for a snapshot.

    Raises:
        UsageError: The flags are invalid.
    """
    from karptui.clock import FrozenClock, SystemClock

    if args.demo and args.snapshot:
        raise UsageError("--demo and --snapshot exclude each other")
    if not args.snapshot:
        refuse_unused(args, ("now",), "needs --snapshot")
    if args.demo or args.snapshot:
        refuse_live(args)
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
        from karptui.sources.snapshot.reader import SnapshotReader
        from karptui.sources.snapshot.source import SnapshotSource
        from karptui.sources.snapshot.text import SnapshotError

        try:
            reader = SnapshotReader(karpenter_version=args.karpenter_version or "")
            snapshot = reader.read(args.snapshot, now_ns=args.now, keeps_manifests=True)
        except SnapshotError as error:
            raise UsageError(str(error)) from error
        return SnapshotSource(snapshot), FrozenClock(snapshot.captured_at_ns)
    return connect(args, args.context), SystemClock()


def connect(args: argparse.Namespace, context: str | None) -> Source:
    """Return the source of a live cluster; same arguments and errors as ``resolve``."""
    from karptui.sources.cluster.source import ClusterSource

    return ClusterSource(resolve(args, context), request_seconds=args.request_timeout)


def resolve(args: argparse.Namespace, context: str | None) -> Connection:
    """Return the connection to the cluster that the flags name.

    Raises:
        UsageError: The kubeconfig is invalid; the message names file and field.
    """
    from karptui.sources.cluster.connection import Impersonation, load_connection
    from karptui.sources.source import SourceError

    impersonation = Impersonation(args.as_user, tuple(args.as_group)) if args.as_user else None
    if args.as_group and not args.as_user:
        raise UsageError("--as-group needs --as")
    try:
        return load_connection(kubeconfig=args.kubeconfig, context=context, impersonation=impersonation)
    except SourceError as error:
        raise UsageError(str(error)) from error
