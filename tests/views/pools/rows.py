"""Story A as rows, and rows of any cluster."""

from __future__ import annotations

from typing import Any

from karptui.aws.evidence import Evidence
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.session.pools import PoolRow, pool_rows
from karptui.views.pools.columns import COLUMNS
from tests import story_a
from tests.builders import NOW_NS

VIEW = story_a.story_view()
ROWS = {row.name: row for row in pool_rows(VIEW)}
COUNTED = story_a.story_view(known=story_a.evidence(has_metrics=True))


def text_of(line: Any) -> str:
    return "".join(text for text, _ in line)


def rows_of(*pools: Any, types: tuple[InstanceType, ...] = story_a.TYPES, **inventory: Any) -> dict[str, PoolRow]:
    """Return the rows of a cluster by name."""
    held = Inventory(nodepools=pools, **inventory)
    known = Evidence(instance_types=types, taken_at_ns=NOW_NS)
    return {row.name: row for row in pool_rows(story_a.story_view(held, known=known))}


def cells(row: PoolRow) -> dict[str, str]:
    return {column.heading.id: column.cell(row, NOW_NS).text for column in COLUMNS}
