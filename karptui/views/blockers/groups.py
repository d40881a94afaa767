"""Blockers in groups: by owner, namespace, NodePool or kind, the dearest group first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from karptui.views.blockers.entry import BlockerEntry, BlockerLine, GroupEntry


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
        case Grouping.NOTHING:
            return ""


def grouped(
    entries: Iterable[BlockerEntry], grouping: Grouping, folded: frozenset[str], *, is_folded: bool
) -> list[BlockerLine]:
    """Return headings and rows: groups by the money they hold, rows in the order they come in.

    Args:
        entries: The rows, in order.
        grouping: What groups have in common; without any the rows come back as they are.
        folded: Names of the groups that differ from ``is_folded``.
        is_folded: Whether groups show their heading only.
    """
    if grouping is Grouping.NOTHING:
        return list(entries)
    members: dict[str, list[BlockerEntry]] = {}
    for entry in entries:
        members.setdefault(group_name(entry, grouping), []).append(entry)
    groups = [GroupEntry(name, tuple(own), is_folded is not (name in folded)) for name, own in members.items()]
    groups.sort(key=lambda group: (-group.held.per_hour, -len(group.members), group.name))
    lines: list[BlockerLine] = []
    for group in groups:
        lines.append(group)
        if not group.is_folded:
            lines.extend(group.members)
    return lines


def only_blockers(lines: Sequence[BlockerLine]) -> list[BlockerEntry]:
    """Return the rows without the headings."""
    return [line for line in lines if isinstance(line, BlockerEntry)]
