"""Blockers in groups: by owner, namespace, NodePool or kind, the dearest group first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from karptui.views.blockers.entry import BlockerEntry, BlockerLine, GroupEntry

FEWEST_IDLE: Final = 2
"""Budgets in the way of so many nodes that nothing wants share a row."""


class Grouping(StrEnum):
    """What the blockers of a group have in common."""

    OWNER = "owner"
    NAMESPACE = "namespace"
    POOL = "pool"
    KIND = "kind"
    NOTHING = "nothing"

    @property
    def next(self) -> Grouping:
        """The grouping that comes after this one."""
        every = list(Grouping)
        return every[(every.index(self) + 1) % len(every)]


def group_name(entry: BlockerEntry, grouping: Grouping) -> str:
    """Return the group that a blocker belongs to."""
    match grouping:
        case Grouping.OWNER:
            return entry.owner
        case Grouping.NAMESPACE:
            return entry.namespace or "(no namespace)"
        case Grouping.POOL:
            return entry.blocker.pool_name or "(no NodePool)"
        case Grouping.KIND:
            return entry.kind
        case _:
            return ""


def grouped(
    entries: Iterable[BlockerEntry], grouping: Grouping, folded: frozenset[str], *, is_folded: bool
) -> list[BlockerLine]:
    """Return headings and rows: groups by the money they hold, rows in the order they come in.

    Args:
        entries: The rows, in order.
        grouping: What groups have in common; without any there are no headings.
        folded: Names of the groups that differ from ``is_folded``.
        is_folded: Whether groups show their heading only.
    """
    if grouping is Grouping.NOTHING:
        return without_idle(list(entries), "idle", folded)
    members: dict[str, list[BlockerEntry]] = {}
    for entry in entries:
        members.setdefault(group_name(entry, grouping), []).append(entry)
    groups = [GroupEntry(name, tuple(own), is_folded is not (name in folded)) for name, own in members.items()]
    groups.sort(key=lambda group: (-group.held.per_hour, -len(group.members), group.name))
    lines: list[BlockerLine] = []
    for group in groups:
        lines.append(group)
        if not group.is_folded:
            lines.extend(without_idle(group.members, f"{group.name} idle", folded))
    return lines


def without_idle(entries: Sequence[BlockerEntry], name: str, folded: frozenset[str]) -> list[BlockerLine]:
    """Return rows with all budgets in the way of nodes that nothing wants as one row, the last.

    Args:
        entries: The rows, in order.
        name: Of the row; where ``folded`` has it the rows follow one by one.
        folded: Names of the groups that differ from how they are at first.
    """
    idle = tuple(entry for entry in entries if entry.is_idle)
    if len(idle) < FEWEST_IDLE:
        return list(entries)
    is_folded = name not in folded
    lines: list[BlockerLine] = [entry for entry in entries if not entry.is_idle]
    lines.append(GroupEntry(name, idle, is_folded, is_idle=True))
    return lines if is_folded else [*lines, *idle]


def only_blockers(lines: Sequence[BlockerLine]) -> list[BlockerEntry]:
    """Return the rows without the headings."""
    return [line for line in lines if isinstance(line, BlockerEntry)]
