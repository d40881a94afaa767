"""Rows of the Blockers screen: what keeps a node, and rows in groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, TypeAlias

import msgspec

from karptui.disruption.analysis import NodeFindings
from karptui.disruption.codes import HOLDS_NOBODY, Blocker, Code
from karptui.disruption.joint_saving import JointFigures
from karptui.kube.group import group_by
from karptui.session.cluster_view import ClusterView
from karptui.session.costs import Held, held_of, held_per_hour
from karptui.session.grouping import Folding, GroupHeading, Grouping
from karptui.session.nodes import NodeEntry


class BlockerEntry(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A node and one of its blockers; without a node, a blocker of the whole cluster."""

    blocker: Blocker
    index: int
    """Its place among the blockers of the node."""
    findings: NodeFindings | None = None
    node: NodeEntry | None = None

    @cached_property
    def key(self) -> str:
        """Identity across refreshes."""
        blocker = self.blocker
        owner = self.findings.key if self.findings is not None else "cluster"
        value = (
            blocker.value
            if blocker.code is Code.BUDGET_ZERO
            else ""
            if self.findings is not None
            else blocker.claim_name
        )
        return f"{owner}/{blocker.code}/{blocker.object_key}/{value}"

    @property
    def kind(self) -> str:
        """The short word of its kind."""
        return self.blocker.word

    @property
    def object_name(self) -> str:
        """``namespace/name``, or a name alone."""
        return self.blocker.object_key or self.blocker.claim_name

    @property
    def namespace(self) -> str:
        """Of the pod, empty for other objects."""
        return self.blocker.object_key.partition("/")[0] if self.blocker.object_kind == "Pod" else ""

    @property
    def owner(self) -> str:
        """The pod's origin (shared by CI jobs of one kind), or the object itself."""
        blocker = self.blocker
        if blocker.origin:
            return blocker.origin
        if blocker.object_kind == "NodePool":
            return f"NodePool/{blocker.object_key}"
        return "the nodes themselves" if self.findings is not None else "the cluster"

    @cached_property
    def held(self) -> float | None:
        """Dollars per hour that would be saved without the node's blockers; None if unknown.

        Zero if no method wants the node: then nothing is blocked.
        """
        return held_per_hour(self.node) if self.node is not None and not self.is_idle else 0.0

    @property
    def without(self) -> str:
        """Outcome for the node without this blocker, or its budgets: ``delete``, ``replace``, ``no``, ``unknown``.

        Empty until it has been simulated.
        """
        outlook = self.findings.outlook if self.findings is not None else None
        return str(outlook.without[self.index]) if outlook is not None and self.index < len(outlook.without) else ""

    @property
    def lifted(self) -> str:
        """Outcome for the node without any blocker; empty until it is simulated."""
        outlook = self.findings.outlook if self.findings is not None else None
        return str(outlook.lifted.outcome) if outlook is not None else ""

    @cached_property
    def others(self) -> tuple[Blocker, ...]:
        """What else holds the node; not the same PodDisruptionBudgets by other pods."""
        blockers = self.findings.blockers if self.findings is not None else ()
        return tuple(
            blocker
            for place, blocker in enumerate(blockers)
            if blocker.is_wanted and place != self.index and blocker.code not in HOLDS_NOBODY
            if not self.blocker.is_one_with(blocker)
        )

    @property
    def recent_pods(self) -> int:
        """Pods scheduled to the node in the last hour."""
        return self.findings.recent_pods if self.findings is not None else 0

    @property
    def is_idle(self) -> bool:
        """Whether no method that it blocks wants the node: it only would block."""
        return not self.blocker.is_wanted

    @property
    def is_passing(self) -> bool:
        """Whether it ends without any action."""
        return self.blocker.is_passing


class Without(msgspec.Struct, frozen=True, kw_only=True):
    """Outcomes for the nodes of a group without the group's blockers."""

    nodes: int
    simulated: int
    """Nodes with a known outcome."""
    unknown: int = 0
    """Nodes with an unknown outcome."""
    goes: int
    waits: int
    """How many nothing else holds but what stops the whole cluster."""


class BlockerGroup(GroupHeading[BlockerEntry], frozen=True, eq=False):
    """The heading of blockers that have something in common."""

    joint_held: Held | None = None
    """Savings if its nodes are removed together; None if unknown."""
    is_idle: bool = False
    """Whether this is the part of a group that blocks nodes which no method wants."""

    @property
    def title(self) -> str:
        """The displayed name: ``namespace/name`` of the pods' origin."""
        kind, _, key = self.name.partition("/")
        return key if "/" in key and kind else self.name

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """Controllers of its pods, each once."""
        return tuple(dict.fromkeys(entry.blocker.owner for entry in self.counted if entry.blocker.owner))

    @cached_property
    def counted(self) -> tuple[BlockerEntry, ...]:
        """The members that block a method that wants the node; all of them if there are none."""
        return tuple(member for member in self.members if not member.is_idle) or self.members

    @cached_property
    def nodes(self) -> tuple[NodeEntry, ...]:
        """The counted nodes, each once."""
        return nodes_of(self.counted)

    @cached_property
    def held(self) -> Held:
        """Savings that its nodes hold, each counted once; zero if no method wants any of them."""
        return self.joint_held or held_of(nodes_of(member for member in self.members if not member.is_idle))

    @cached_property
    def without(self) -> Without:
        """Outcomes for its nodes, each alone, without the group's blockers."""
        by_node: dict[str, list[BlockerEntry]] = {}
        for entry in self.counted:
            if entry.findings is not None and not entry.is_idle:
                by_node.setdefault(entry.findings.key, []).append(entry)
        outcomes = [_without_all(members) for members in by_node.values()]
        unknown = outcomes.count(_UNKNOWN)
        return Without(
            nodes=len(outcomes),
            simulated=sum(map(bool, outcomes)) - unknown,
            unknown=unknown,
            goes=outcomes.count(_GOES),
            waits=outcomes.count(_WAITS),
        )

    @property
    def is_only_idle(self) -> bool:
        """Whether no method wants any of its nodes."""
        return all(member.is_idle for member in self.members)

    @property
    def opens_last(self) -> bool:
        """Whether it is folded among groups that are open, until all are to be."""
        return len(self.members) > 1 and self.is_only_idle

    @property
    def objects(self) -> int:
        """Number of blocking objects."""
        return len({entry.blocker.object_ref for entry in self.counted})


_GOES: Final = "goes"
_UNKNOWN: Final = "unknown"
_WAITS: Final = "waits"
_GONE: Final = frozenset({"delete", "replace"})


def _without_all(members: Sequence[BlockerEntry]) -> str:
    """Return the outcome for a node without some of its blockers; empty until it is simulated."""
    if not all(member.without for member in members):
        return ""
    if any(member.without in _GONE for member in members):
        return _GOES
    places = {member.index for member in members}
    first = members[0]
    blockers = first.findings.blockers if first.findings is not None else ()
    others = any(place not in places for place, blocker in enumerate(blockers) if blocker in first.others)
    if not others and first.lifted == _UNKNOWN:
        return _UNKNOWN
    if others or first.lifted not in _GONE:
        return "stays"
    # Several of one node: each alone changes nothing, which tells no stop of the whole cluster apart.
    return _WAITS if len(places) == 1 else _GOES


BlockerLine: TypeAlias = BlockerEntry | BlockerGroup


def nodes_of(entries: Iterable[BlockerEntry]) -> tuple[NodeEntry, ...]:
    """Return the nodes of blockers, each once."""
    return tuple({entry.node.key: entry.node for entry in entries if entry.node is not None}.values())


def blocker_entries(view: ClusterView) -> tuple[BlockerEntry, ...]:
    """Return a row for every node and blocker, blockers of the whole cluster first."""
    analysis = view.analysis
    if analysis is None:
        return ()
    whole = [BlockerEntry(blocker, index) for index, blocker in enumerate(analysis.cluster)]
    nodes = {entry.key: entry for entry in view.node_entries}
    return (
        *whole,
        *(
            BlockerEntry(blocker, index, finding, nodes.get(finding.key))
            for finding in analysis.findings.values()
            for index, blocker in enumerate(finding.blockers)
            if blocker.code not in HOLDS_NOBODY
        ),
    )


FEWEST_IDLE: Final = 2
"""Fewest blockers of unwanted nodes that share a row."""


class BlockerGrouping(Grouping):
    """The property that the blockers of a group share."""

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


def grouped(
    entries: Sequence[BlockerEntry], grouping: BlockerGrouping, folding: Folding, joint: JointFigures | None = None
) -> list[BlockerLine]:
    """Return headings and rows: groups by the money they hold, rows in the order they come in.

    Args:
        joint: Joint removals; without it what several nodes hold is an upper bound.
    """
    if not grouping.has_groups:
        return without_idle(entries, "idle", folding)
    members = group_by(entries, lambda entry: group_name(entry, grouping))
    groups = [_group(name, tuple(alike), folding, joint) for name, alike in members.items()]
    groups.sort(key=lambda group: (group.is_only_idle, -round(group.held.per_hour, 4), -len(group.counted), group.name))
    lines: list[BlockerLine] = []
    for group in groups:
        lines.append(group)
        if not group.is_folded:
            lines.extend(_of_group(group, folding))
    return lines


def _group(name: str, members: tuple[BlockerEntry, ...], folding: Folding, joint: JointFigures | None) -> BlockerGroup:
    """Return a group; one without wanted nodes is folded until the user opens it, or all groups."""
    held = held_of(nodes_of(member for member in members if not member.is_idle), joint)
    group = BlockerGroup(name, members, is_folded=True, joint_held=held)
    return msgspec.structs.replace(group, is_folded=folding.hides(name, opens_last=group.opens_last))


def _of_group(group: BlockerGroup, folding: Folding) -> list[BlockerLine]:
    """Return the rows of an open group; without wanted nodes they follow one by one."""
    return list(group.members) if group.is_only_idle else without_idle(group.members, f"{group.name} idle", folding)


def without_idle(entries: Sequence[BlockerEntry], name: str, folding: Folding) -> list[BlockerLine]:
    """Return rows with everything in the way of nodes that no method wants as one row, the last.

    Args:
        name: Of the row; its rows follow one by one if it is an exception to the folding.
    """
    idle = tuple(entry for entry in entries if entry.is_idle)
    if len(idle) < FEWEST_IDLE:
        return list(entries)
    is_folded = folding.hides(name, opens_last=True)
    lines: list[BlockerLine] = [entry for entry in entries if not entry.is_idle]
    lines.append(BlockerGroup(name, idle, is_folded, is_idle=True))
    return lines if is_folded else [*lines, *idle]


def only_blockers(lines: Sequence[BlockerLine]) -> list[BlockerEntry]:
    """Return the rows without the headings."""
    return [line for line in lines if isinstance(line, BlockerEntry)]
