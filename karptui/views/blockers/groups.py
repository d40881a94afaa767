"""Blockers in groups: by owner, namespace, NodePool or kind, the dearest group first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karptui.views.blockers.entry import BlockerEntry, BlockerGroup, BlockerLine
from karptui.views.grouping import Folding, Grouping, members_by_name

FEWEST_IDLE: Final = 2
"""Budgets in the way of so many nodes that nothing wants share a row."""


class BlockerGrouping(Grouping):
    """What the blockers of a group have in common."""

    OWNER = "owner"
    NAMESPACE = "namespace"
    POOL = "pool"
    KIND = "kind"
    NOTHING = "nothing"


def group_name(entry: BlockerEntry, grouping: BlockerGrouping) -> str:
    """Return the group that a blocker belongs to."""
    match grouping:
        case BlockerGrouping.OWNER:
            return entry.owner
        case BlockerGrouping.NAMESPACE:
            return entry.namespace or "(no namespace)"
        case BlockerGrouping.POOL:
            return entry.blocker.pool_name or "(no NodePool)"
        case BlockerGrouping.KIND:
            return entry.kind
        case _:
            return ""


def grouped(entries: Sequence[BlockerEntry], grouping: BlockerGrouping, folding: Folding) -> list[BlockerLine]:
    """Return headings and rows: groups by the money they hold, rows in the order they come in.

    Args:
        entries: The rows, in order.
        grouping: What groups have in common; without any there are no headings.
        folding: Which groups show their heading only.
    """
    if not grouping.has_groups:
        return without_idle(entries, "idle", folding)
    members = members_by_name(entries, lambda entry: group_name(entry, grouping))
    groups = [BlockerGroup(name, own, folding.hides(name)) for name, own in members.items()]
    groups.sort(key=lambda group: (-group.held.per_hour, -len(group.members), group.name))
    lines: list[BlockerLine] = []
    for group in groups:
        lines.append(group)
        if not group.is_folded:
            lines.extend(without_idle(group.members, f"{group.name} idle", folding))
    return lines


def without_idle(entries: Sequence[BlockerEntry], name: str, folding: Folding) -> list[BlockerLine]:
    """Return rows with all budgets in the way of nodes that nothing wants as one row, the last.

    Args:
        entries: The rows, in order.
        name: Of the row; where it is an exception to the folding the rows follow one by one.
        folding: Which groups are not as they are at first.
    """
    idle = tuple(entry for entry in entries if entry.is_idle)
    if len(idle) < FEWEST_IDLE:
        return list(entries)
    is_folded = name not in folding.exceptions
    lines: list[BlockerLine] = [entry for entry in entries if not entry.is_idle]
    lines.append(BlockerGroup(name, idle, is_folded, is_idle=True))
    return lines if is_folded else [*lines, *idle]


def only_blockers(lines: Sequence[BlockerLine]) -> list[BlockerEntry]:
    """Return the rows without the headings."""
    return [line for line in lines if isinstance(line, BlockerEntry)]
