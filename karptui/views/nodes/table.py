"""The table of the Nodes screen: its columns, what filters can ask, and which rows are notable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.costs import held_per_hour
from karptui.session.nodes import NodeEntry
from karptui.views.column import Column
from karptui.views.fields import Field, FieldKind
from karptui.views.nodes.cells import delta_text
from karptui.views.nodes.columns import COLUMNS, label_column
from karptui.views.nodes.status import is_faulty, node_status
from karptui.views.nodes.told import told_columns
from karptui.views.query import Subject
from karptui.views.row import Tone
from karptui.views.table import Sort, TableSpec
from karptui.views.why.codes import is_held, why_words

RESOURCE_COLUMNS: Final[Mapping[str, str]] = {
    "cpu": "cpu",
    "memory": "mem",
    "pods": "pods",
    "ephemeral-storage": "ephemeral",
    "nvidia.com/gpu": "gpu",
    "gpu": "gpu",
}
"""Column by the resource's name."""

FIELDS: Final[Mapping[str, Field[NodeEntry]]] = {
    "name": Field(FieldKind.TEXT, lambda entry, _: entry.name, help="node or claim"),
    "pool": Field(FieldKind.TEXT, lambda entry, _: entry.pool, help="NodePool"),
    "type": Field(FieldKind.TEXT, lambda entry, _: entry.instance_type, help="instance type"),
    "cap": Field(
        FieldKind.TEXT,
        lambda entry, _: (entry.capacity_type, "od") if entry.capacity_type == "on-demand" else entry.capacity_type,
        help="spot, on-demand, reserved",
    ),
    "zone": Field(FieldKind.TEXT, lambda entry, _: entry.zone, help="zone"),
    "status": Field(FieldKind.TEXT, lambda entry, _: node_status(entry).word, help="Ready, NotReady, Launching…"),
    "arch": Field(FieldKind.TEXT, lambda entry, _: entry.architecture, help="architecture"),
    "image": Field(
        FieldKind.TEXT, lambda entry, _: entry.claim.image_id if entry.claim is not None else "", help="machine image"
    ),
    "taint": Field(
        FieldKind.TEXT,
        lambda entry, _: tuple(taint.key for taint in entry.node.taints) if entry.node is not None else (),
        help="key of a taint",
    ),
    "delta": Field(
        FieldKind.TEXT,
        lambda entry, _: delta_text(entry.delta) if entry.delta is not None else "",
        help="claim and node differ: delta=−*",
    ),
    "cpu": Field(FieldKind.CPU, lambda entry, _: entry.cpu.requested, lambda entry: entry.cpu.percent, "cpu requested"),
    "mem": Field(
        FieldKind.BYTES, lambda entry, _: entry.memory.requested, lambda entry: entry.memory.percent, "memory requested"
    ),
    "pods": Field(FieldKind.COUNT, lambda entry, _: entry.pods.requested, lambda entry: entry.pods.percent, "pods"),
    "gpu": Field(FieldKind.COUNT, lambda entry, _: entry.accelerators.capacity, help="accelerators there are"),
    "free.cpu": Field(FieldKind.CPU, lambda entry, _: entry.cpu.free, help="cpu that is left"),
    "free.mem": Field(FieldKind.BYTES, lambda entry, _: entry.memory.free, help="memory that is left"),
    "$": Field(
        FieldKind.MONEY,
        lambda entry, _: entry.price.per_hour if entry.price is not None else None,
        help="price per hour",
    ),
    "why": Field(FieldKind.TEXT, why_words, help="code of the WHY column: DND, PDB, BUDGET, OK*…"),
    "held": Field(FieldKind.MONEY, lambda entry, _: held_per_hour(entry), help="what its blockers cost per hour"),
    "age": Field(
        FieldKind.DURATION,
        lambda entry, now_ns: (now_ns - entry.created_ns) / NS_PER_SECOND if entry.created_ns else None,
        help="since it was created",
    ),
}


def _text(entry: NodeEntry) -> str:
    words = (
        entry.name,
        entry.pool,
        entry.instance_type,
        entry.capacity_type,
        entry.zone,
        node_status(entry).word,
        entry.claim.name if entry.claim is not None else "",
    )
    return " ".join(words).lower()


def _is_notable(entry: NodeEntry, _: int) -> bool:
    over = any(share.free < 0 and share.capacity for share in (entry.cpu, entry.memory, entry.pods))
    return over or is_faulty(node_status(entry)) or is_held(entry)


def _tone(entry: NodeEntry) -> Tone:
    return Tone.MUTED if entry.node is None else Tone.NORMAL


def _always(column: Column[NodeEntry]) -> Column[NodeEntry]:
    return msgspec.structs.replace(column, heading=msgspec.structs.replace(column.heading, is_wide_only=False))


def nodes_table(
    extra_labels: tuple[str, ...] = (), *, has_prices: bool = True, resources: tuple[str, ...] = ()
) -> TableSpec[NodeEntry]:
    """Return the table of the Nodes screen.

    Args:
        extra_labels: node labels that get a column before the age.
        has_prices: whether there is a column of prices.
        resources: names of ``RESOURCE_COLUMNS`` that have a column, also where room is short; empty for the usual ones.
    """
    age = next(place for place, column in enumerate(COLUMNS) if column.heading.id == "age")
    columns = (*COLUMNS[:age], *(label_column(key) for key in extra_labels), *COLUMNS[age:])
    if not has_prices:
        columns = tuple(column for column in columns if column.heading.id != "price")
    if resources:
        chosen = {RESOURCE_COLUMNS[name] for name in resources}
        columns = tuple(
            _always(column) if column.heading.id in chosen else column
            for column in columns
            if column.heading.id in chosen or column.heading.id not in RESOURCE_COLUMNS.values()
        )
    return TableSpec(
        noun="nodes",
        columns=columns,
        subject=Subject(text=_text, fields=FIELDS, labels=lambda entry: entry.labels),
        key=lambda entry: entry.key,
        default_sort=Sort("name"),
        tone=_tone,
        is_notable=_is_notable,
        told=told_columns(extra_labels),
    )
