"""Helpers that return rows and texts of NodePools, by default of story A."""

from __future__ import annotations

from typing import Any

from karptui.aws.evidence import Evidence
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.session.cluster_view import ClusterView
from karptui.session.pools import PoolRow, pool_rows, pools_around
from karptui.session.row_server import overview_of
from karptui.views.pools.columns import COLUMNS
from karptui.views.pools.overlap import check_line, cluster_lines, overlap_lines
from karptui.views.row import Pieces
from tests import story_a
from tests.builders import NOW_NS

VIEW = story_a.story_view()
ROWS = {row.name: row for row in pool_rows(VIEW)}
COUNTED = story_a.story_view(read_evidence=story_a.evidence(has_metrics=True))


def view_of(*pools: Any, types: tuple[InstanceType, ...] = story_a.TYPES, **inventory: Any) -> ClusterView:
    held = Inventory(nodepools=pools, **inventory)
    return story_a.story_view(held, read_evidence=Evidence(instance_types=types, taken_at_ns=NOW_NS))


def rows_of(*pools: Any, types: tuple[InstanceType, ...] = story_a.TYPES, **inventory: Any) -> dict[str, PoolRow]:
    return {row.name: row for row in pool_rows(view_of(*pools, types=types, **inventory))}


def cells(row: PoolRow) -> dict[str, str]:
    return {column.heading.id: column.cell(row, NOW_NS).text for column in COLUMNS}


def lines_of(view: ClusterView, *, is_short: bool = False) -> tuple[Pieces, ...]:
    """Return the text about all NodePools together."""
    return cluster_lines(pools_around(view, NOW_NS), overview_of(view), NOW_NS, is_short=is_short)


def overlap_of(view: ClusterView, *, is_short: bool = False) -> tuple[Pieces, ...]:
    """Return the text about pods that match several NodePools."""
    return overlap_lines(pools_around(view, NOW_NS).overlap, overview_of(view), is_short=is_short)


def check_of(view: ClusterView) -> Pieces:
    """Return the text about created NodeClaims."""
    return check_line(pools_around(view, NOW_NS), NOW_NS)
