"""The table of one NodePool's types: its columns, and what filters can ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.kube import resources
from karptui.session.types import TypeEntry
from karptui.views.fields import Field, FieldKind
from karptui.views.row import Tone
from karptui.views.table import Sort, TableSpec
from karptui.views.types.columns import COLUMNS, allocatable_bytes, pod_slots, why_text

FIELDS: Final[Mapping[str, Field[TypeEntry]]] = {
    "name": Field(FieldKind.TEXT, lambda entry, _: entry.name, help="instance type"),
    "family": Field(FieldKind.TEXT, lambda entry, _: entry.name.partition(".")[0], help="part before the dot"),
    "zone": Field(
        FieldKind.TEXT,
        lambda entry, _: tuple({zone for zones in entry.offered.values() for zone in zones}),
        help="zone where it is to be had",
    ),
    "cap": Field(FieldKind.TEXT, lambda entry, _: tuple(entry.offered), help="capacity type to be had"),
    "why": Field(FieldKind.TEXT, lambda entry, _: why_text(entry), help="what rules it out: why=*daemonsets*"),
    "cpu": Field(FieldKind.CPU, lambda entry, _: resources.cpu_millis(entry.instance_type.capacity), help="processors"),
    "mem": Field(FieldKind.BYTES, lambda entry, _: allocatable_bytes(entry), help="memory that pods may request"),
    "pods": Field(FieldKind.COUNT, lambda entry, _: pod_slots(entry), help="pods that a node takes"),
    "nodes": Field(
        FieldKind.COUNT,
        lambda entry, _: entry.observed.node_count if entry.observed is not None else 0,
        help="nodes of the type here",
    ),
    "rank": Field(FieldKind.COUNT, lambda entry, _: entry.verdict.rank, help="place in the order of prices"),
    "$": Field(
        FieldKind.MONEY,
        lambda entry, _: entry.on_demand.per_hour if entry.on_demand is not None else None,
        help="on-demand price per hour",
    ),
    "spot$": Field(
        FieldKind.MONEY,
        lambda entry, _: entry.spot.per_hour if entry.spot is not None else None,
        help="spot price per hour",
    ),
}


def types_table(*, has_prices: bool = True) -> TableSpec[TypeEntry]:
    """Return the table of one NodePool's types."""
    columns = COLUMNS if has_prices else tuple(one for one in COLUMNS if one.heading.id not in ("od", "spot"))
    return TableSpec(
        noun="types",
        columns=columns,
        text=lambda entry: f"{entry.name} {why_text(entry)}".lower(),
        more_filters=FIELDS,
        key=lambda entry: entry.name,
        default_sort=Sort("rank"),
        tone=lambda entry: Tone.NORMAL if entry.is_left else Tone.MUTED,
        is_notable=lambda entry, _: not entry.is_left,
    )
