"""The table of one NodePool's types: its columns, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from karptui.aws.money import node_price_text
from karptui.aws.prices import Price
from karptui.karpenter.labels import ON_DEMAND, RESERVED, SPOT
from karptui.kube import resources
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, MEMORY, PODS
from karptui.kube.units import count_text, cpu_text, mebibytes_text, memory_text
from karptui.provisioning.type_verdict import Filter
from karptui.session.types import PoolEntry, TypeEntry
from karptui.views.column import (
    BOOLEAN,
    INTEGER,
    INTEGER_OR_NULL,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    TEXTS,
    Column,
    Field,
    FieldKind,
    Heading,
    Value,
)
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone
from karptui.views.sanitize import clean, short_zone
from karptui.views.table import Sort, TableSpec, natural_key
from karptui.views.types.fit import TypeFit, carries_text, fit_of, matching_percent
from karptui.views.usage import shortages_text

WORDS: Final = {
    Filter.REQUIREMENTS: "requirements",
    Filter.OFFERINGS: "not offered",
    Filter.RESERVED: "reserved > node",
    Filter.DAEMONSETS: "DaemonSets",
    Filter.POD: "no pod fits",
    Filter.LIMITS: "limits",
}
"""What the row says of a type that is ruled out."""
CAPACITY_WORDS: Final = {ON_DEMAND: "od", SPOT: "sp", RESERVED: "rsv"}


def memory_bytes(entry: TypeEntry) -> int:
    """Return the memory that EC2 advertises, or the capacity where that is not known."""
    return entry.facts.memory_mib << 20 if entry.facts is not None else _bytes(entry.instance_type.capacity)


def allocatable_bytes(entry: TypeEntry) -> int:
    """Return the memory that pods may request; below zero where more is kept back than there is."""
    return _bytes(entry.allocatable)


def _bytes(amounts: resources.ResourceList) -> int:
    return resources.nano(amounts, MEMORY) // NANO


def pod_slots(entry: TypeEntry) -> int:
    """Return how many pods a node takes."""
    return resources.nano(entry.allocatable, PODS) // NANO


def _rank(entry: TypeEntry, _: int) -> Cell:
    return Cell(str(entry.verdict.rank)) if entry.verdict.rank is not None else NOT_APPLICABLE


def _memory(entry: TypeEntry, _: int) -> Cell:
    return Cell(f"{memory_text(memory_bytes(entry))}/{mebibytes_text(allocatable_bytes(entry))}", Tone.NORMAL)


def _largest(entry: TypeEntry, _: int) -> Cell:
    if not entry.is_wanted or entry.verdict.removed_by in (Filter.OFFERINGS, Filter.RESERVED):
        return NOT_APPLICABLE
    largest = entry.largest_pod
    if not resources.nano(largest, PODS):
        return Cell("no slot", Tone.WARNING)
    cpu, memory = resources.nano(largest, "cpu") // 1_000_000, mebibytes_text(_bytes(largest))
    return Cell(f"{cpu_text(cpu)} {memory}", Tone.NORMAL, memory)


def _daemons(entry: TypeEntry, _: int) -> Cell:
    verdict = entry.verdict
    if not verdict.daemon_pods:
        return Cell("0", Tone.MUTED)
    room = allocatable_bytes(entry)
    share = f"{100 * _bytes(verdict.daemons) // room}%" if 0 < _bytes(verdict.daemons) <= room else "over"
    return Cell(f"{carries_text(verdict)} {share}", Tone.DAEMON, f"{verdict.daemon_pods} ds {share}")


def _offered(entry: TypeEntry, _: int) -> Cell:
    offered = entry.offered
    if not offered:
        return Cell("none", Tone.WARNING if entry.is_wanted else Tone.MUTED)
    parts = []
    for capacity_type, zones in sorted(offered.items()):
        word = CAPACITY_WORDS.get(capacity_type, capacity_type)
        parts.append((word, " ".join(short_zone(clean(zone)) for zone in zones), len(zones)))
    long = " · ".join(f"{word} {zones}" for word, zones, _ in parts)
    return Cell(long, Tone.NORMAL, " ".join(f"{word}×{count}" for word, _, count in parts))


def price_cell(price: Price | None) -> Cell:
    """Return a price of a type."""
    if price is None:
        return NOT_AVAILABLE
    text = node_price_text(price.per_hour, price.currency)
    return Cell(text, Tone.NORMAL, text.lstrip("$¥"))


def _nodes(entry: TypeEntry, _: int) -> Cell:
    return Cell(count_text(entry.observed.node_count)) if entry.observed is not None else Cell("0", Tone.MUTED)


def why_text(entry: TypeEntry) -> str:
    """Return what rules a type out: ``DaemonSets: pods 8 of 11``; empty for one that is left."""
    verdict = entry.verdict
    if verdict.removed_by is None:
        return ""
    if verdict.removed_by is Filter.REQUIREMENTS:
        return clean(verdict.reason)
    if verdict.removed_by is Filter.OFFERINGS:
        standings = dict.fromkeys(offer.standing for offer in entry.offers)
        return entry.ruled_out or f"{WORDS[Filter.OFFERINGS]}: {', '.join(standings) or 'no zone'}"
    return f"{WORDS[verdict.removed_by]}: {shortages_text(verdict.shortages)}"


def _why(entry: TypeEntry, _: int) -> Cell:
    if entry.is_left:
        return Cell("✔", Tone.GOOD)
    word = WORDS[entry.verdict.removed_by] if entry.verdict.removed_by is not None else ""
    return Cell(f"✘ {why_text(entry)}", Tone.MUTED if not entry.is_wanted else Tone.WARNING, f"✘ {word}")


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
    """Return the column of a price per hour, with its source for scripts."""

    def source(entry: TypeEntry, _: int) -> str | None:
        price = price_of(entry)
        return price.origin.label if price is not None else None

    def per_hour(entry: TypeEntry, _: int = 0) -> float | None:
        return _per_hour(price_of(entry))

    return Column(
        Heading(id_, title, about, 6, drop_order=drop_order, is_right_aligned=True, is_descending_first=True),
        lambda entry, _: price_cell(price_of(entry)),
        per_hour,
        values=(
            Value(f"{name}_price_per_hour", per_hour, NUMBER_OR_NULL),
            Value(f"{name}_price_source", source, TEXT_OR_NULL),
        ),
        filters={field: Field(FieldKind.MONEY, per_hour, help=f"{name.replace('_', '-')} price per hour")},
    )


COLUMNS: Final[tuple[Column[TypeEntry], ...]] = (
    Column(
        Heading("name", "NAME", "The instance type.", min_width=12, max_width=24),
        lambda entry, _: Cell(clean(entry.name), Tone.STRONG),
        lambda entry: natural_key(entry.name),
        values=(Value("name", lambda entry, _: entry.name, TEXT),),
        filters={
            "name": Field(FieldKind.TEXT, lambda entry, _: entry.name, help="instance type"),
            "family": Field(FieldKind.TEXT, lambda entry, _: entry.name.partition(".")[0], help="part before the dot"),
        },
    ),
    Column(
        Heading(
            "rank",
            "#",
            "Place in the order of prices that Karpenter reckons with; only types that are left have one.",
            min_width=2,
            drop_order=3,
            is_right_aligned=True,
        ),
        _rank,
        lambda entry: float(entry.verdict.rank) if entry.verdict.rank is not None else None,
        values=(Value("rank", lambda entry, _: entry.verdict.rank, INTEGER_OR_NULL, "By price among those left."),),
        filters={
            "rank": Field(FieldKind.COUNT, lambda entry, _: entry.verdict.rank, help="place in the order of prices")
        },
    ),
    Column(
        Heading("vcpu", "VCPU", "Processors.", min_width=4, is_right_aligned=True, is_descending_first=True),
        lambda entry, _: Cell(cpu_text(resources.cpu_millis(entry.instance_type.capacity)).removesuffix("000m")),
        lambda entry: float(resources.cpu_millis(entry.instance_type.capacity)),
        values=(
            Value("vcpu_millis", lambda entry, _: resources.cpu_millis(entry.instance_type.capacity), INTEGER_OR_NULL),
        ),
        filters={
            "cpu": Field(
                FieldKind.CPU, lambda entry, _: resources.cpu_millis(entry.instance_type.capacity), help="processors"
            )
        },
    ),
    Column(
        Heading(
            "mem",
            "MEM adv/alloc",
            "Memory that EC2 advertises, and what of it pods may request.",
            min_width=13,
            is_right_aligned=True,
            is_descending_first=True,
        ),
        _memory,
        lambda entry: float(allocatable_bytes(entry)),
        values=(
            Value(
                "mem_advertised_bytes",
                lambda entry, _: memory_bytes(entry) if entry.facts is not None else None,
                INTEGER_OR_NULL,
            ),
            Value(
                "mem_capacity_bytes",
                lambda entry, _: resources.memory_bytes(entry.instance_type.capacity),
                INTEGER_OR_NULL,
                "As planned, or as a node has reported it.",
            ),
            Value("mem_allocatable_bytes", lambda entry, _: allocatable_bytes(entry), INTEGER_OR_NULL),
            Value(
                "cpu_allocatable_millis",
                lambda entry, _: resources.nano(entry.allocatable, CPU) // NANO_PER_MILLI,
                INTEGER_OR_NULL,
            ),
        ),
        filters={
            "mem": Field(
                FieldKind.BYTES, lambda entry, _: allocatable_bytes(entry), help="memory that pods may request"
            )
        },
    ),
    Column(
        Heading(
            "pods", "PODS", "Pods that a node takes.", min_width=4, is_right_aligned=True, is_descending_first=True
        ),
        lambda entry, _: Cell(count_text(pod_slots(entry))),
        lambda entry: float(pod_slots(entry)),
        values=(Value("pods", lambda entry, _: pod_slots(entry), INTEGER_OR_NULL),),
        filters={"pods": Field(FieldKind.COUNT, lambda entry, _: pod_slots(entry), help="pods that a node takes")},
    ),
    Column(
        Heading(
            "daemons",
            "DAEMONSETS",
            "DaemonSet pods that a new node carries, what they ask, and how much of the memory that is.",
            min_width=8,
            drop_order=4,
            is_right_aligned=True,
            is_descending_first=True,
        ),
        _daemons,
        lambda entry: float(_bytes(entry.verdict.daemons)),
        values=(
            Value("daemonset_pods", lambda entry, _: entry.verdict.daemon_pods, INTEGER),
            Value("daemonset_cpu_millis", lambda entry, _: resources.cpu_millis(entry.verdict.daemons), INTEGER),
            Value("daemonset_mem_bytes", lambda entry, _: resources.memory_bytes(entry.verdict.daemons), INTEGER),
        ),
    ),
    Column(
        Heading(
            "largest",
            "LARGEST POD",
            "The most that one pod may ask beside the DaemonSets.",
            min_width=9,
            is_right_aligned=True,
            is_descending_first=True,
        ),
        _largest,
        lambda entry: float(_bytes(entry.largest_pod)) if entry.is_wanted else None,
        values=(
            Value(
                "largest_pod_cpu_millis",
                lambda entry, _: resources.nano(entry.largest_pod, CPU) // NANO_PER_MILLI,
                INTEGER_OR_NULL,
            ),
            Value(
                "largest_pod_mem_bytes",
                lambda entry, _: resources.nano(entry.largest_pod, MEMORY) // NANO,
                INTEGER_OR_NULL,
            ),
            Value(
                "largest_pod_slots", lambda entry, _: resources.nano(entry.largest_pod, PODS) // NANO, INTEGER_OR_NULL
            ),
        ),
    ),
    Column(
        Heading(
            "offered",
            "OFFERED",
            "Zones to be had by capacity type: od on-demand, sp spot, rsv reserved.",
            min_width=9,
            drop_order=5,
        ),
        _offered,
        lambda entry: float(sum(map(len, entry.offered.values()))),
        values=(
            Value(
                "offered",
                lambda entry, _: {name: list(zones) for name, zones in entry.offered.items()},
                {"type": "object", "additionalProperties": TEXTS},
                "Zones to be had, by capacity type.",
            ),
        ),
        filters={
            "zone": Field(
                FieldKind.TEXT,
                lambda entry, _: tuple({zone for zones in entry.offered.values() for zone in zones}),
                help="zone where it is to be had",
            ),
            "cap": Field(FieldKind.TEXT, lambda entry, _: tuple(entry.offered), help="capacity type to be had"),
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
        about="The least spot price per hour that somebody really knows; never derived from the on-demand price.",
        drop_order=6,
    ),
    Column(
        Heading(
            "nodes",
            "NODES",
            "Nodes of the type in this cluster, of any NodePool.",
            min_width=5,
            drop_order=7,
            is_right_aligned=True,
            is_descending_first=True,
        ),
        _nodes,
        lambda entry: float(entry.observed.node_count) if entry.observed is not None else 0.0,
        values=(
            Value("nodes", lambda entry, _: entry.observed.node_count if entry.observed is not None else 0, INTEGER),
        ),
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
        _why,
        lambda entry: "" if entry.is_left else why_text(entry),
        values=(
            Value("is_left", lambda entry, _: entry.is_left, BOOLEAN),
            Value(
                "removed_by",
                lambda entry, _: entry.verdict.removed_by.value if entry.verdict.removed_by is not None else None,
                TEXT_OR_NULL,
            ),
            Value("why", lambda entry, _: why_text(entry) or None, TEXT_OR_NULL),
        ),
        filters={
            "why": Field(FieldKind.TEXT, lambda entry, _: why_text(entry), help="what rules it out: why=*daemonsets*")
        },
    ),
)
"""Every column in order."""


def types_table(pool: PoolEntry | None = None, *, has_prices: bool = True) -> TableSpec[TypeEntry]:
    """Return the table of one NodePool's types.

    Args:
        pool: the NodePool, for values that scripts read; None for a table on the screen.
        has_prices: whether there are columns of prices.
    """
    first = Value[TypeEntry]("pool", lambda _entry, _now: pool.name if pool is not None else None, TEXT)
    name = msgspec.structs.replace(COLUMNS[0], values=(first, *COLUMNS[0].values))
    table = TableSpec(
        noun="types",
        columns=(name, *COLUMNS[1:]),
        more_values=_fit_values(pool),
        text=lambda entry: f"{entry.name} {why_text(entry)}".lower(),
        key=lambda entry: entry.name,
        default_sort=Sort("rank"),
        tone=lambda entry: Tone.NORMAL if entry.is_left else Tone.MUTED,
        is_notable=lambda entry, _: not entry.is_left,
    )
    return table if has_prices else table.without("od", "spot")


def _fit_values(pool: PoolEntry | None) -> tuple[Value[TypeEntry], ...]:
    """Return what the pending pod that asks most comes to on each type."""

    def fit_in(entry: TypeEntry) -> TypeFit | None:
        return fit_of(pool, entry, pool.pods[0]) if pool is not None and pool.pods else None

    return (
        Value(
            "pending_pod", lambda entry, _: fit.pod.key if (fit := fit_in(entry)) is not None else None, TEXT_OR_NULL
        ),
        Value(
            "pending_pod_short_mem_bytes",
            lambda entry, _: resources.memory_bytes(fit.short) if (fit := fit_in(entry)) is not None else None,
            INTEGER_OR_NULL,
        ),
        Value(
            "fits_with_overhead_percent",
            lambda entry, _: fit.overhead_percent if (fit := fit_in(entry)) is not None else None,
            NUMBER_OR_NULL,
        ),
        Value(
            "next_type",
            lambda entry, _: (
                fit.next_type.name if (fit := fit_in(entry)) is not None and fit.next_type is not None else None
            ),
            TEXT_OR_NULL,
        ),
        Value("matching_overhead_percent", lambda entry, _: matching_percent(entry), NUMBER_OR_NULL),
    )
