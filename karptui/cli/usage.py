"""Live usage for a command that looks once."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from karptui.kube.live_usage import LiveUsage
    from karptui.sources.base import Source


def add_usage_flag(parser: argparse.ArgumentParser) -> None:
    """Add what asks metrics-server."""
    parser.add_argument("--usage", action="store_true", help="ask metrics-server once for what is really used")


def measured_once(args: argparse.Namespace, source: Source) -> LiveUsage:
    """Return one measurement where ``--usage`` asks for it; why there is none is its sentence.

    Args:
        args: the flags; commands without ``--usage`` ask nobody.
        source: the cluster, while it still answers.
    """
    from karptui.kube.live_usage import NO_LIVE_USAGE, LiveUsage
    from karptui.sources.cluster.source import ClusterSource
    from karptui.sources.usage import UsageSource

    if not getattr(args, "usage", False):
        return NO_LIVE_USAGE
    if not isinstance(source, ClusterSource):
        return LiveUsage(sentence=f"--usage: {source.title} has no metrics-server to ask")
    usage = UsageSource(source)
    usage.want()
    usage.read()
    return usage.latest()
