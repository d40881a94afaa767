"""Where the capacity is: nodes, pods, resources and dollars of each zone, NodePool or instance type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from karptui.disruption.churn.last_hour import BINS
from karptui.disruption.churn.life import Life, Removal, alive
from karptui.disruption.churn.report import Churn
from karptui.disruption.joint_saving import JointFigures
from karptui.kube.group import group_by
from karptui.session.costs import Held, Total, held_of, total_of
from karptui.session.nodes import NodeEntry, PodAccess
from karptui.state.usage import NO_SHARE, Share, total_share

GROUPINGS: Final = ("zone", "pool", "type")
"""Properties that nodes can be grouped by; zones are split by capacity type."""


class CapacityEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that share a zone, a NodePool or a type."""

    name: str
    """The zone, NodePool or type; empty if nodes have none."""
    capacity_type: str = ""
    """Of a zone's nodes; empty in other groupings."""
    nodes: int = 0
    starting: int = 0
    """NodeClaims without a node."""
    cpu: Share = NO_SHARE
    memory: Share = NO_SHARE
    pods: Share = NO_SHARE
    free_cpu_millis: int = 0
    """Of the nodes that have some left."""
    free_memory_bytes: int = 0
    access: PodAccess = PodAccess.KNOWN
    total: Total
    held: Held
    all_nodes: int
    """Of every group together."""
    sees_nodes: bool = True
    """Whether nodes could be listed."""
    all_per_hour: float
    alive: tuple[int | None, ...] = ()
    """NodeClaims at the end of each step of the last hour; None if unknown."""

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return f"{self.name}/{self.capacity_type}"


_Place = tuple[str, str]
_PLACES: Final[Mapping[str, Callable[[NodeEntry | Life], _Place]]] = {
    "zone": lambda node: (node.zone, node.capacity_type),
    "pool": lambda node: (node.pool, ""),
    "type": lambda node: (node.instance_type, ""),
}


def capacity_entries(
    entries: Iterable[NodeEntry],
    grouping: str,
    churn: Churn | None = None,
    joint: JointFigures | None = None,
    *,
    sees_nodes: bool = True,
) -> tuple[CapacityEntry, ...]:
    """Return the groups, by name.

    Args:
        grouping: One of ``GROUPINGS``.
        churn: Created and removed NodeClaims; None if unknown.
        joint: Joint removals; without it what several nodes hold is an upper bound.
        sees_nodes: Whether nodes could be listed.
    """
    groups = group_by(entries, _PLACES[grouping])
    living = _living(churn, grouping, groups) if churn is not None else {}
    totals = {place: total_of(group) for place, group in groups.items()}
    all_nodes = sum(entry.node is not None for group in groups.values() for entry in group)
    all_per_hour = sum(total.per_hour for total in totals.values())
    return tuple(
        CapacityEntry(
            name=place[0],
            capacity_type=place[1],
            nodes=sum(entry.node is not None for entry in group),
            starting=sum(entry.node is None for entry in group),
            cpu=total_share(entry.cpu for entry in group),
            memory=total_share(entry.memory for entry in group),
            pods=total_share(entry.pods for entry in group),
            free_cpu_millis=sum(max(entry.cpu.free, 0) for entry in group),
            free_memory_bytes=sum(max(entry.memory.free, 0) for entry in group),
            access=next((n.access for n in group if n.access is not PodAccess.KNOWN), PodAccess.KNOWN),
            total=totals[place],
            held=held_of(group, joint),
            all_nodes=all_nodes,
            sees_nodes=sees_nodes,
            all_per_hour=all_per_hour,
            alive=living.get(place, ()),
        )
        for place, group in sorted(groups.items())
    )


def _living(churn: Churn, grouping: str, places: Iterable[_Place]) -> dict[_Place, tuple[int | None, ...]]:
    """Return the NodeClaims of each place over the last hour; unknown if a removed one may have been in any."""
    lives, window = group_by(churn.lives, _PLACES[grouping]), churn.window
    unplaced = [
        life
        for (name, capacity_type), of_place in lives.items()
        if not name or (grouping == "zone" and not capacity_type)
        for life in of_place
        if life.why is not None and life.why is not Removal.LAUNCH_FAILED
    ]
    if any(alive(unplaced, window.since_ns, window.now_ns)):
        return dict.fromkeys(places, (None,) * BINS)
    return {place: alive(lives.get(place, ()), window.since_ns, window.now_ns) for place in places}
