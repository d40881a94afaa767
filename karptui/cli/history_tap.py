"""The tap that records the history of the cluster that the app or `karptui watch` follows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from karptui.clock import FrozenClock
from karptui.files import files_are_forbidden

if TYPE_CHECKING:
    from karptui.clock import Clock
    from karptui.config import Config
    from karptui.sources.history.tap import HistoryTap
    from karptui.sources.source import Source


def history_tap(source: Source | None, config: Config, clock: Clock, path: Path | None = None) -> HistoryTap | None:
    """Return what records the history of a live cluster, or of the demo; None if it is not recorded."""
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
