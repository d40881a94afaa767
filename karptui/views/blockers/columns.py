"""The table of blockers: its columns, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.blockers import BlockerEntry, BlockerGroup, BlockerLine
from karptui.views.blockers.cells import (
    NOTHING,
    OBJECT_WIDTH,
    group_held,
    group_nodes,
    group_object,
    group_owner,
    group_recent,
    group_value,
    group_without,
    held_cell,
    kind_cell,
    left_cell,
    left_words,
    object_cell,
    owner_words,
    recent_cell,
    recent_words,
    since_cell,
    since_words,
    value_cell,
    value_words,
    without_cell,
)
from karptui.views.column import Column, Field, FieldKind, Heading, SortKey, Words
from karptui.views.row import Cell, Tone, text_cell
from karptui.views.sanitize import short_name
from karptui.views.table import Sort, TableSpec, natural_key


def _on_blockers(
    read: Callable[[BlockerEntry, int], Cell], of_group: Callable[[BlockerGroup], Cell] = lambda _: NOTHING
) -> Callable[[BlockerLine, int], Cell]:
    return lambda line, now_ns: of_group(line) if isinstance(line, BlockerGroup) else read(line, now_ns)


def _sort(read: Callable[[BlockerEntry], SortKey]) -> Callable[[BlockerLine], SortKey]:
    return lambda line: None if isinstance(line, BlockerGroup) else read(line)


def _text_field(read: Callable[[BlockerEntry], str], help_: str) -> Field[BlockerLine]:
    return Field(FieldKind.TEXT, lambda line, _: "" if isinstance(line, BlockerGroup) else read(line), help=help_)


def _seconds(read: Callable[[BlockerEntry, int], int | None]) -> Callable[[BlockerLine, int], float | None]:
    def value(line: BlockerLine, now_ns: int) -> float | None:
        span = None if isinstance(line, BlockerGroup) else read(line, now_ns)
        return None if span is None else span / NS_PER_SECOND

    return value


COLUMNS: Final[tuple[Column[BlockerLine], ...]] = (
    Column(
        Heading(
            "kind",
            "GROUP · KIND",
            "The group, or the node's blocker: see the codes below.",
            min_width=16,
            max_width=34,
        ),
        kind_cell,
        _sort(lambda one: one.kind),
        filters={"kind": _text_field(lambda one: one.kind, "POD-DND, PDB, BUDGET…")},
    ),
    Column(
        Heading(
            "object",
            "OBJECT",
            "The pod, node or NodePool that has it; of a group how many, and the kind of the first.",
            min_width=OBJECT_WIDTH,
            max_width=46,
            is_name=True,
        ),
        _on_blockers(object_cell, group_object),
        _sort(lambda one: natural_key(one.object_name)),
        filters={
            "object": _text_field(lambda one: one.object_name, "pod, node or NodePool"),
            "ns": _text_field(lambda one: one.namespace, "namespace of the pod"),
        },
    ),
    Column(
        Heading(
            "node",
            "NODE",
            "The blocked node; for a group, the number of nodes.",
            min_width=12,
            max_width=44,
            is_name=True,
        ),
        _on_blockers(
            lambda one, _: text_cell(one.blocker.node_name, short=short_name(one.blocker.node_name)), group_nodes
        ),
        _sort(lambda one: natural_key(one.blocker.node_name)),
        filters={
            "node": _text_field(lambda one: one.blocker.node_name, "node"),
            "pool": _text_field(lambda one: one.blocker.pool_name, "NodePool"),
        },
    ),
    Column(
        Heading("owner", "OWNER", "The controller behind the pod.", max_width=36, drop_order=6),
        _on_blockers(
            lambda one, _: text_cell(one.blocker.owner, short=one.blocker.owner.rpartition("/")[2]), group_owner
        ),
        _sort(lambda one: one.blocker.owner or None),
        filters={"owner": _text_field(lambda one: one.owner, "owner: Job/gitlab/runner, Deployment/web/front")},
        words=Words(3, owner_words),
    ),
    Column(
        Heading("value", "VALUE", "The annotation, budget or PodDisruptionBudget.", 5, 64, drop_order=5),
        _on_blockers(lambda one, _: value_cell(one.blocker.value), group_value),
        _sort(lambda one: one.blocker.value or None),
        filters={"value": _text_field(lambda one: one.blocker.value, "annotation, budget or PodDisruptionBudget")},
        words=Words(4, value_words),
    ),
    Column(
        Heading(
            "left", "LEFT", "Until it ends automatically; - if it never does.", is_right_aligned=True, drop_order=3
        ),
        _on_blockers(left_cell),
        _sort(lambda one: one.blocker.until_ns),
        words=Words(2, left_words),
    ),
    Column(
        Heading(
            "since",
            "SINCE",
            "How long it has been blocking; for a group, the longest.",
            5,
            is_right_aligned=True,
            drop_order=2,
        ),
        since_cell,
        _sort(lambda one: -one.blocker.since_ns if one.blocker.since_ns else None),
        filters={
            "since": Field(
                FieldKind.DURATION,
                _seconds(lambda one, now_ns: now_ns - one.blocker.since_ns if one.blocker.since_ns else None),
                help="for how long",
            )
        },
        words=Words(1, since_words),
    ),
    Column(
        Heading(
            "held",
            "$/H HELD",
            "Savings per hour without its blockers (simulated), for a group in total; ≤ marks an upper bound;"
            " -: no method wants it.",
            min_width=8,
            is_right_aligned=True,
            is_descending_first=True,
        ),
        _on_blockers(held_cell, group_held),
        _sort(lambda one: one.held),
        filters={
            "held": Field(
                FieldKind.MONEY,
                lambda line, _: None if isinstance(line, BlockerGroup) else line.held,
                help="dollars per hour",
            )
        },
    ),
    Column(
        Heading(
            "without",
            "IF REMOVED",
            "The node if this blocker is removed (simulated): freed, replaced, or also blocked by others. Of a group,"
            " the nodes that are freed, each simulated alone.",
            min_width=10,
            max_width=24,
        ),
        _on_blockers(without_cell, group_without),
        _sort(lambda one: one.without or None),
        filters={"without": _text_field(lambda one: one.without, "delete, replace, no, unknown")},
    ),
    Column(
        Heading(
            "recent_pods",
            "NEW",
            "Pods scheduled to the node in the last hour, without DaemonSet pods.",
            min_width=3,
            is_right_aligned=True,
            is_descending_first=True,
            drop_order=1,
        ),
        _on_blockers(recent_cell, group_recent),
        _sort(lambda one: float(one.recent_pods)),
        filters={
            "new": Field(
                FieldKind.COUNT,
                lambda line, _: None if isinstance(line, BlockerGroup) else line.recent_pods,
                help="pods started in the last hour",
            )
        },
        words=Words(5, recent_words),
    ),
)
"""Every column in order."""


def _text(line: BlockerLine) -> str:
    if isinstance(line, BlockerGroup):
        return line.name.lower()
    one = line.blocker
    return f"{line.kind} {one.object_key} {one.node_name} {one.pool_name} {line.owner} {one.value}".lower()


TABLE: Final[TableSpec[BlockerLine]] = TableSpec(
    noun="blockers",
    columns=COLUMNS,
    text=_text,
    key=lambda line: line.key,
    default_sort=Sort("held", is_descending=True),
    tone=lambda line: (
        Tone.MUTED if (line.is_only_idle if isinstance(line, BlockerGroup) else line.is_idle) else Tone.NORMAL
    ),
    is_notable=lambda line, _: isinstance(line, BlockerGroup) or not (line.is_passing or line.is_idle),
)
