"""The cluster of stories C and D: eleven DaemonSets against types with few pod slots, and 240Gi on an r5a.8xlarge."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from karptui.aws.evidence import Evidence
from karptui.clock import FrozenClock
from karptui.session.cluster_view import ClusterView
from karptui.session.types import TypeEntry
from karptui.session.types_of_pools import TypesOfPool, types_of_pools
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from tests.builders.clusters import state_of

STORIES: Final = Path(__file__).parent / "data" / "stories-c-d.json"
AT_NS: Final = 1_795_176_000_000_000_000
"""When the snapshot was taken."""


def stories_source() -> tuple[SnapshotSource, FrozenClock]:
    snapshot = SnapshotReader().read([STORIES])
    return SnapshotSource(snapshot), FrozenClock(snapshot.captured_at_ns)


def stories_view(**evidence: Any) -> ClusterView:
    """Return the view of the snapshot, with further evidence by name."""
    snapshot = SnapshotReader().read([STORIES])
    return ClusterView(
        state_of(snapshot.inventory), {}, evidence=Evidence(settings=snapshot.evidence.settings, **evidence)
    )


def pool_of(view: ClusterView, name: str) -> TypesOfPool:
    return next(pool for pool in types_of_pools(view) if pool.name == name)


def type_of(pool: TypesOfPool, name: str) -> TypeEntry:
    entry = pool.type(name)
    assert entry is not None
    return entry


def plain_text(lines: Any) -> str:
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)
