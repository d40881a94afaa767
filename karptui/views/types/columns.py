"""The table of one NodePool's types: its columns, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from karptui.aws.prices import Price
from karptui.kube import resources
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, MEMORY, PODS
from karptui.kube.units import count_text, cpu_text
from karptui.session.types import TypeEntry, TypeFit
from karptui.views.column import Column, Field, FieldKind, Heading, NumberHeading, Value
from karptui.views.prices import amount_cell
from karptui.views.row import Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec, natural_key
from karptui.views.types.cells import (
    allocatable_bytes,
    bytes_of,
    daemons_cell,
    largest_cell,
    matching_percent,
    memory_bytes,
    memory_cell,
    nodes_cell,
    offered_cell,
    pod_slots,
    rank_cell,
    why_cell,
    why_text,
)


def _per_hour(price: Price | None) -> float | None:
    return price.per_hour if price is not None else None


def _price_column(
    id_: str,
    price_of: Callable[[TypeEntry], Price | None],
    *,
    title: str,
    name: str,
    field: str,
    about: str,
    drop_order: int = 0,
) -> Column[TypeEntry]:
    def source(entry: TypeEntry, _: int) -> str | None:
        price = price_of(entry)
        return price.origin.label if price is not None else None

    def per_hour(entry: TypeEntry, _: int = 0) -> float | None:
        return _per_hour(price_of(entry))

    return Column(
        NumberHeading(id_, title, about, 6, drop_order=drop_order),
        lambda entry, _: amount_cell(price_of(entry)),
        per_hour,
        values=(
            Value(f"{name}_price_per_hour", per_hour, float | None),
            Value(f"{name}_price_source", source, str | None),
        ),
        filters={field: Field(FieldKind.MONEY, per_hour, help=f"{name.replace('_', '-')} price per hour")},
    )


COLUMNS: Final[tuple[Column[TypeEntry], ...]] = (
    Column(
        Heading("name", "NAME", "The instance type.", min_width=12, max_width=24),
        lambda entry, _: Cell(clean(entry.name), Tone.STRONG),
        lambda entry: natural_key(entry.name),
        values=(Value("name", lambda entry, _: entry.name, str),),
        filters={
            "name": Field(FieldKind.TEXT, lambda entry, _: entry.name, help="instance type"),
            "family": Field(FieldKind.TEXT, lambda entry, _: entry.name.partition(".")[0], help="part before the dot"),
        },
    ),
    Column(
        Heading(
            "rank",
            "#",
            "Rank by the price Karpenter uses; only remaining types have one.",
            min_width=2,
            drop_order=3,
            is_right_aligned=True,
        ),
        rank_cell,
        lambda entry: float(entry.rank) if entry.rank is not None else None,
        values=(Value("rank", lambda entry, _: entry.rank, int | None, "Rank by price among the remaining types."),),
        filters={"rank": Field(FieldKind.COUNT, lambda entry, _: entry.rank, help="rank by price")},
    ),
    Column(
        NumberHeading("vcpu", "VCPU", "Processors.", min_width=4),
        lambda entry, _: Cell(cpu_text(resources.cpu_millis(entry.capacity)).removesuffix("000m")),
        lambda entry: float(resources.cpu_millis(entry.capacity)),
        values=(Value("vcpu_millis", lambda entry, _: resources.cpu_millis(entry.capacity), int | None),),
        filters={"cpu": Field(FieldKind.CPU, lambda entry, _: resources.cpu_millis(entry.capacity), help="processors")},
    ),
    Column(
        NumberHeading(
            "mem", "MEM adv/alloc", "Memory that EC2 advertises, and the part that pods may request.", min_width=13
        ),
        memory_cell,
        lambda entry: float(allocatable_bytes(entry)),
        values=(
            Value(
                "mem_advertised_bytes",
                lambda entry, _: memory_bytes(entry) if entry.memory_mib is not None else None,
                int | None,
            ),
            Value(
                "mem_capacity_bytes",
                lambda entry, _: resources.memory_bytes(entry.capacity),
                int | None,
                "As planned, or as a node has reported it.",
            ),
            Value("mem_allocatable_bytes", lambda entry, _: allocatable_bytes(entry), int | None),
            Value(
                "cpu_allocatable_millis",
                lambda entry, _: resources.nano(entry.allocatable, CPU) // NANO_PER_MILLI,
                int | None,
            ),
        ),
        filters={
            "mem": Field(
                FieldKind.BYTES, lambda entry, _: allocatable_bytes(entry), help="memory that pods may request"
            )
        },
    ),
    Column(
        NumberHeading("pods", "PODS", "Pod capacity of a node.", min_width=4),
        lambda entry, _: Cell(count_text(pod_slots(entry))),
        lambda entry: float(pod_slots(entry)),
        values=(Value("pods", lambda entry, _: pod_slots(entry), int | None),),
        filters={"pods": Field(FieldKind.COUNT, lambda entry, _: pod_slots(entry), help="pod capacity")},
    ),
    Column(
        NumberHeading(
            "daemons",
            "DAEMONSETS",
            "DaemonSet pods of a new node, their requests, and their share of the memory.",
            min_width=8,
            drop_order=4,
        ),
        daemons_cell,
        lambda entry: float(bytes_of(entry.daemons)),
        values=(
            Value("daemonset_pods", lambda entry, _: entry.daemon_pods, int),
            Value("daemonset_cpu_millis", lambda entry, _: resources.cpu_millis(entry.daemons), int),
            Value("daemonset_mem_bytes", lambda entry, _: resources.memory_bytes(entry.daemons), int),
        ),
    ),
    Column(
        NumberHeading("largest", "LARGEST POD", "Largest requests of one pod next to the DaemonSets.", min_width=9),
        largest_cell,
        lambda entry: float(bytes_of(entry.largest_pod)) if entry.is_wanted else None,
        values=(
            Value(
                "largest_pod_cpu_millis",
                lambda entry, _: resources.nano(entry.largest_pod, CPU) // NANO_PER_MILLI,
                int | None,
            ),
            Value(
                "largest_pod_mem_bytes", lambda entry, _: resources.nano(entry.largest_pod, MEMORY) // NANO, int | None
            ),
            Value("largest_pod_slots", lambda entry, _: resources.nano(entry.largest_pod, PODS) // NANO, int | None),
        ),
    ),
    Column(
        Heading(
            "offered",
            "OFFERED",
            "Available zones by capacity type: od on-demand, sp spot, rsv reserved.",
            min_width=9,
            drop_order=5,
        ),
        offered_cell,
        lambda entry: float(sum(map(len, entry.offered.values()))),
        values=(
            Value(
                "offered",
                lambda entry, _: {name: list(zones) for name, zones in entry.offered.items()},
                {"type": "object", "additionalProperties": list[str]},
                "Available zones, by capacity type.",
            ),
        ),
        filters={
            "zone": Field(
                FieldKind.TEXT,
                lambda entry, _: tuple({zone for zones in entry.offered.values() for zone in zones}),
                help="available zone",
            ),
            "cap": Field(FieldKind.TEXT, lambda entry, _: tuple(entry.offered), help="available capacity type"),
        },
    ),
    _price_column(
        "od",
        lambda entry: entry.on_demand,
        title="OD $/H",
        name="on_demand",
        field="$",
        about="The on-demand price per hour.",
    ),
    _price_column(
        "spot",
        lambda entry: entry.spot,
        title="SPOT $/H",
        name="spot",
        field="spot$",
        about="Lowest known spot price per hour; never derived from the on-demand price.",
        drop_order=6,
    ),
    Column(
        NumberHeading(
            "nodes", "NODES", "Nodes of the type in this cluster, of any NodePool.", min_width=5, drop_order=7
        ),
        nodes_cell,
        lambda entry: float(entry.observed.node_count) if entry.observed is not None else 0.0,
        values=(Value("nodes", lambda entry, _: entry.observed.node_count if entry.observed is not None else 0, int),),
        filters={
            "nodes": Field(
                FieldKind.COUNT,
                lambda entry, _: entry.observed.node_count if entry.observed is not None else 0,
                help="nodes of the type here",
            )
        },
    ),
    Column(
        Heading("why", "LEFT?", "✔ a new node may have it; ✘ what rules it out.", min_width=13, max_width=60),
        why_cell,
        lambda entry: "" if entry.is_left else why_text(entry),
        values=(
            Value("is_left", lambda entry, _: entry.is_left, bool),
            Value(
                "removed_by",
                lambda entry, _: entry.removed_by.value if entry.removed_by is not None else None,
                str | None,
            ),
            Value("why", lambda entry, _: why_text(entry) or None, str | None),
        ),
        filters={
            "why": Field(FieldKind.TEXT, lambda entry, _: why_text(entry), help="what rules it out: why=*daemonsets*")
        },
    ),
)
"""Every column in order."""


def _no_fit(_entry: TypeEntry) -> TypeFit | None:
    return None


def types_table(
    pool: str | None = None, fit: Callable[[TypeEntry], TypeFit | None] = _no_fit, *, has_prices: bool = True
) -> TableSpec[TypeEntry]:
    """Return the table of one NodePool's types.

    Args:
        pool: The NodePool, for values of scripts; None for a table on screen.
        fit: Returns how the largest pending pod fits a type.
    """
    first = Value[TypeEntry]("pool", lambda _entry, _now: pool, str)
    name = msgspec.structs.replace(COLUMNS[0], values=(first, *COLUMNS[0].values))
    table = TableSpec(
        noun="types",
        columns=(name, *COLUMNS[1:]),
        more_values=_fit_values(fit),
        text=lambda entry: f"{entry.name} {why_text(entry)}".lower(),
        key=lambda entry: entry.name,
        default_sort=Sort("rank"),
        tone=lambda entry: Tone.NORMAL if entry.is_left else Tone.MUTED,
        is_notable=lambda entry, _: not entry.is_left,
    )
    return table if has_prices else table.without("od", "spot")


def _fit_values(fit_in: Callable[[TypeEntry], TypeFit | None]) -> tuple[Value[TypeEntry], ...]:
    """Return how the largest pending pod fits each type."""
    return (
        Value("pending_pod", lambda entry, _: fit.pod.key if (fit := fit_in(entry)) is not None else None, str | None),
        Value(
            "pending_pod_short_mem_bytes",
            lambda entry, _: resources.memory_bytes(fit.short) if (fit := fit_in(entry)) is not None else None,
            int | None,
        ),
        Value(
            "fits_with_overhead_percent",
            lambda entry, _: fit.overhead_percent if (fit := fit_in(entry)) is not None else None,
            float | None,
        ),
        Value(
            "next_type",
            lambda entry, _: (
                fit.next_type.name if (fit := fit_in(entry)) is not None and fit.next_type is not None else None
            ),
            str | None,
        ),
        Value("matching_overhead_percent", lambda entry, _: matching_percent(entry), float | None),
    )
