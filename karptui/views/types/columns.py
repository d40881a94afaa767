"""The table of one NodePool's types: amounts of a type, why it is excluded, and its columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from karptui.aws.ledger import rounded_up
from karptui.aws.prices import Price
from karptui.kube import resources
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, MEMORY, PODS, ResourceList
from karptui.kube.units import cpu_text, mebibytes_text, memory_text
from karptui.provisioning.pool_types import Filter, TypeVerdict
from karptui.session.types import PoolEntry, TypeEntry, TypeFit
from karptui.views.column import (
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    count_column,
    lifted,
    text_column,
)
from karptui.views.nodes.cells import CAPACITY_SHORT
from karptui.views.prices import amount_cell, per_hour_of
from karptui.views.row import NOT_APPLICABLE, ZERO, Cell, Tone
from karptui.views.sanitize import clean, short_zone
from karptui.views.table import Sort, TableSpec
from karptui.views.usage import shortages_text


def carries_text(carried: TypeVerdict) -> str:
    """Return the DaemonSet requests on a node: ``11 ds 490m 938Mi``."""
    if not carried.daemon_pods:
        return "no DaemonSets"
    return f"{carried.daemon_pods} ds {requests_text(carried.daemons)}"


def requests_text(requests: ResourceList, separator: str = " ") -> str:
    """Return cpu and memory requests: ``490m 938Mi``."""
    cpu, memory = resources.cpu_millis(requests), resources.memory_bytes(requests)
    return f"{cpu_text(cpu)}{separator}{memory_text(memory)}"


def reported_bytes(entry: TypeEntry) -> int | None:
    """Return the smallest memory capacity reported by nodes of the type; None without such nodes."""
    spread = entry.observed.capacity.get(MEMORY) if entry.observed is not None else None
    return spread.smallest.units if spread is not None else None


def matching_percent(entry: TypeEntry) -> float | None:
    """Return the overhead percent that matches the type's nodes, rounded up to four decimals."""
    percent = entry.matching_overhead_percent
    return rounded_up(percent) if percent is not None else None


def safe_percent(pool: PoolEntry) -> float | None:
    """Return the overhead percent that overestimates no type of the pool that has nodes, raised to four decimals."""
    return rounded_up(pool.safe_overhead_percent) if pool.safe_overhead_percent is not None else None


WORDS: Final = {
    Filter.REQUIREMENTS: "requirements",
    Filter.OFFERINGS: "not available",
    Filter.RESERVED: "reserved > node",
    Filter.DAEMONSETS: "DaemonSets",
    Filter.POD: "no pod fits",
    Filter.LIMITS: "limits",
}
"""Words for excluded types, by filter."""


def memory_bytes(entry: TypeEntry) -> int:
    """Return the memory advertised by EC2, or the capacity if unknown."""
    return entry.memory_mib << 20 if entry.memory_mib is not None else _bytes_of(entry.capacity)


def _allocatable_bytes(entry: TypeEntry) -> int:
    """Return the allocatable memory; negative if reservations exceed the capacity."""
    return _bytes_of(entry.allocatable)


def _bytes_of(amounts: resources.ResourceList) -> int:
    return resources.nano(amounts, MEMORY) // NANO


def pod_slots(entry: TypeEntry) -> int:
    """Return the pod capacity of a node."""
    return resources.nano(entry.allocatable, PODS) // NANO


def memory_cell(entry: TypeEntry, _: int) -> Cell:
    """Return the advertised and the allocatable memory."""
    return Cell(f"{memory_text(memory_bytes(entry))}/{mebibytes_text(_allocatable_bytes(entry))}", Tone.NORMAL)


def _largest_cell(entry: TypeEntry, _: int) -> Cell:
    if not entry.is_wanted or entry.removed_by in (Filter.OFFERINGS, Filter.RESERVED):
        return NOT_APPLICABLE
    largest = entry.largest_pod
    if not resources.nano(largest, PODS):
        return Cell("no slot", Tone.WARNING)
    cpu, memory = resources.nano(largest, "cpu") // 1_000_000, mebibytes_text(_bytes_of(largest))
    return Cell(f"{cpu_text(cpu)} {memory}", Tone.NORMAL, memory)


def _daemons_cell(entry: TypeEntry, _: int) -> Cell:
    if not entry.daemon_pods:
        return ZERO
    room = _allocatable_bytes(entry)
    share = f"{100 * _bytes_of(entry.daemons) // room}%" if 0 < _bytes_of(entry.daemons) <= room else "over"
    return Cell(f"{carries_text(entry)} {share}", Tone.DAEMON, f"{entry.daemon_pods} ds {share}")


def _offered_cell(entry: TypeEntry, _: int) -> Cell:
    offered = entry.offered
    if not offered:
        return Cell("none", Tone.WARNING if entry.is_wanted else Tone.MUTED)
    parts = []
    for capacity_type, zones in sorted(offered.items()):
        word = CAPACITY_SHORT.get(capacity_type) or clean(capacity_type)
        parts.append((word, " ".join(short_zone(clean(zone)) for zone in zones), len(zones)))
    long = " · ".join(f"{word} {zones}" for word, zones, _ in parts)
    return Cell(long, Tone.NORMAL, " ".join(f"{word}×{count}" for word, _, count in parts))


def why_text(entry: TypeEntry) -> str:
    """Return the reason why a type is excluded: ``DaemonSets: pods 8 of 11``; empty if it is left."""
    if entry.removed_by is None:
        return ""
    if entry.removed_by is Filter.REQUIREMENTS:
        return clean(entry.reason)
    if entry.removed_by is Filter.OFFERINGS:
        document = dict.fromkeys(offer.availability for offer in entry.offers)
        return entry.ruled_out or f"{WORDS[Filter.OFFERINGS]}: {', '.join(document) or 'no zone'}"
    return f"{WORDS[entry.removed_by]}: {shortages_text(entry.shortages)}"


def why_cell(entry: TypeEntry, _: int) -> Cell:
    """Return the reason why the type is excluded, or that it is left."""
    if entry.is_left:
        return Cell("✔", Tone.GOOD)
    word = WORDS[entry.removed_by] if entry.removed_by is not None else ""
    return Cell(f"✘ {why_text(entry)}", Tone.MUTED if not entry.is_wanted else Tone.WARNING, f"✘ {word}")


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

    def read(entry: TypeEntry, _: int = 0) -> float | None:
        return per_hour_of(price_of(entry))

    return Column(
        NumberHeading(id_, title, about, 6, drop_order=drop_order),
        lambda entry, _: amount_cell(price_of(entry)),
        read,
        values=(Value(f"{name}_price_per_hour", read, float | None), Value(f"{name}_price_source", source, str | None)),
        filters={field: Field(FieldKind.MONEY, read, f"{name.replace('_', '-')} price per hour")},
    )


COLUMNS: Final[tuple[Column[TypeEntry], ...]] = (
    text_column(
        Heading("name", "NAME", "The instance type.", 12, 24),
        lambda entry: entry.name,
        tone=lambda _: Tone.STRONG,
        json="name",
        filters={
            "name": Field(FieldKind.TEXT, lambda entry, _: entry.name, "instance type"),
            "family": Field(FieldKind.TEXT, lambda entry, _: entry.name.partition(".")[0], "part before the dot"),
        },
    ),
    Column(
        Heading(
            "rank",
            "#",
            "Rank by the price Karpenter uses; only remaining types have one.",
            2,
            drop_order=3,
            is_right_aligned=True,
        ),
        lambda entry, _: Cell(str(entry.rank)) if entry.rank is not None else NOT_APPLICABLE,
        lambda entry: entry.rank,
        values=Value("rank", lambda entry, _: entry.rank, int | None, "Rank by price among the remaining types."),
        filters=Field(FieldKind.COUNT, lambda entry, _: entry.rank, "rank by price"),
    ),
    Column(
        NumberHeading("vcpu", "VCPU", "Processors.", 4),
        lambda entry, _: Cell(cpu_text(resources.cpu_millis(entry.capacity)).removesuffix("000m")),
        lambda entry: resources.cpu_millis(entry.capacity),
        values=Value("vcpu_millis", lambda entry, _: resources.cpu_millis(entry.capacity), int | None),
        filters={"cpu": Field(FieldKind.CPU, lambda entry, _: resources.cpu_millis(entry.capacity), "processors")},
    ),
    Column(
        NumberHeading("mem", "MEM adv/alloc", "Memory that EC2 advertises, and the part that pods may request.", 13),
        memory_cell,
        _allocatable_bytes,
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
                "As planned, or as reported by a node.",
            ),
            Value("mem_allocatable_bytes", lambda entry, _: _allocatable_bytes(entry), int | None),
            Value(
                "cpu_allocatable_millis",
                lambda entry, _: resources.nano(entry.allocatable, CPU) // NANO_PER_MILLI,
                int | None,
            ),
        ),
        filters=Field(FieldKind.BYTES, lambda entry, _: _allocatable_bytes(entry), "memory that pods may request"),
    ),
    count_column(
        NumberHeading("pods", "PODS", "Pod capacity of a node.", 4),
        pod_slots,
        zero=ZERO,
        values=Value("pods", lambda entry, _: pod_slots(entry), int | None),
    ),
    Column(
        NumberHeading(
            "daemons",
            "DAEMONSETS",
            "DaemonSet pods of a new node, their requests, and their share of the memory.",
            8,
            drop_order=4,
        ),
        _daemons_cell,
        lambda entry: _bytes_of(entry.daemons),
        values=(
            Value("daemonset_pods", lambda entry, _: entry.daemon_pods, int),
            Value("daemonset_cpu_millis", lambda entry, _: resources.cpu_millis(entry.daemons), int),
            Value("daemonset_mem_bytes", lambda entry, _: resources.memory_bytes(entry.daemons), int),
        ),
    ),
    Column(
        NumberHeading("largest", "LARGEST POD", "Largest requests of one pod next to the DaemonSets.", 9),
        _largest_cell,
        lambda entry: _bytes_of(entry.largest_pod) if entry.is_wanted else None,
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
            9,
            drop_order=5,
        ),
        _offered_cell,
        lambda entry: sum(map(len, entry.offered.values())),
        values=Value(
            "offered",
            lambda entry, _: {name: list(zones) for name, zones in entry.offered.items()},
            {"type": "object", "additionalProperties": list[str]},
            "Available zones, by capacity type.",
        ),
        filters={
            "zone": Field(
                FieldKind.TEXT,
                lambda entry, _: tuple({zone for zones in entry.offered.values() for zone in zones}),
                "available zone",
            ),
            "cap": Field(FieldKind.TEXT, lambda entry, _: tuple(entry.offered), "available capacity type"),
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
    count_column(
        NumberHeading("nodes", "NODES", "Nodes of the type in this cluster, of any NodePool.", 5, drop_order=7),
        lambda entry: entry.observed.node_count if entry.observed is not None else 0,
        zero=ZERO,
        json="nodes",
    ),
    Column(
        Heading("why", "LEFT?", "✔ a new node may have it; ✘ what rules it out.", 13, 60),
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
        filters=Field(FieldKind.TEXT, lambda entry, _: why_text(entry), "what rules it out: why=*daemonsets*"),
    ),
)


_FIT: Final[tuple[Value[TypeFit], ...]] = (
    Value("pending_pod", lambda fit, _: fit.pod.key, str | None),
    Value("pending_pod_short_mem_bytes", lambda fit, _: resources.memory_bytes(fit.short), int | None),
    Value("fits_with_overhead_percent", lambda fit, _: fit.overhead_percent, float | None),
    Value("next_type", lambda fit, _: fit.next_type.name if fit.next_type is not None else None, str | None),
)
"""How the largest pending pod fits a type."""


def types_table(
    pool: str | None = None, fit: Callable[[TypeEntry], TypeFit | None] = lambda _: None, *, has_prices: bool = True
) -> TableSpec[TypeEntry]:
    """Return the table of one NodePool's types.

    Args:
        pool: The NodePool, for values of scripts; None for a table on screen.
    """
    first = Value[TypeEntry]("pool", lambda _entry, _now: pool, str)
    name = msgspec.structs.replace(COLUMNS[0], values=(first, *COLUMNS[0].every_value()))
    table = TableSpec(
        noun="types",
        columns=(name, *COLUMNS[1:]),
        more_values=(
            *lifted(_FIT, fit),
            Value("matching_overhead_percent", lambda entry, _: matching_percent(entry), float | None),
        ),
        text=lambda entry: f"{entry.name} {why_text(entry)}".lower(),
        key=lambda entry: entry.name,
        default_sort=Sort("rank"),
        tone=lambda entry: Tone.NORMAL if entry.is_left else Tone.MUTED,
        is_notable=lambda entry, _: not entry.is_left,
    )
    return table if has_prices else table.without("od", "spot")
