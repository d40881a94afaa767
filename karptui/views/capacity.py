"""Capacity tables by zone, NodePool and instance type, and their summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from karptui.kube.units import NA, count_text, counted, cpu_text, memory_text
from karptui.session.capacity import GROUPINGS, CapacityEntry
from karptui.session.nodes import PodAccess
from karptui.state.usage import Share
from karptui.views.column import Column, Field, FieldKind, Heading, NumberHeading, Value, text_column
from karptui.views.last_hour import last_hour_column
from karptui.views.nodes.cells import capacity_tone
from karptui.views.prices import known_sum_text
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, NOT_AVAILABLE, WAITING, Bar, Cell, Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec
from karptui.views.usage import CPU_TEXTS, MEMORY_TEXTS, Texts, count_cell, share_cell, share_values
from karptui.views.why.sentences import held_text

_TITLES: Final = {"zone": "ZONE", "pool": "POOL", "type": "TYPE"}
_HELP: Final = {
    "zone": "The zone.",
    "pool": "The NodePool; - are nodes that Karpenter does not manage.",
    "type": "The instance type.",
}
NOUNS: Final = {"zone": "zones and capacity types", "pool": "NodePools", "type": "instance types"}
_MICRO: Final = 1_000_000


def _nodes_cell(entry: CapacityEntry, _: int) -> Cell:
    if not entry.sees_nodes:
        return FORBIDDEN
    text = count_text(entry.nodes) + (f" +{entry.starting}" if entry.starting else "")
    return Cell(text, Tone.NORMAL, bar=Bar(0, entry.nodes, max(entry.all_nodes, 1)))


def _seen(entry: CapacityEntry, count: int) -> int | None:
    return count if entry.sees_nodes else None


def _per_hour(entry: CapacityEntry) -> float | None:
    return entry.total.per_hour if entry.total.priced else None


def _free(entry: CapacityEntry, free: int) -> int | None:
    """Return the free amount of a resource; None if pods may not be listed or no node reports its capacity."""
    return free if entry.access is PodAccess.KNOWN and entry.cpu.capacity else None


def _free_cell(entry: CapacityEntry, _: int) -> Cell:
    if entry.access is PodAccess.FORBIDDEN:
        return FORBIDDEN
    if not entry.cpu.capacity or entry.access is not PodAccess.KNOWN:
        return NOT_APPLICABLE
    return Cell(f"{cpu_text(entry.free_cpu_millis)} {memory_text(entry.free_memory_bytes)}")


def _cost_cell(entry: CapacityEntry, _: int) -> Cell:
    if not entry.total.priced:
        return NOT_AVAILABLE if entry.total.unpriced else NOT_APPLICABLE
    text = f"{entry.total.per_hour:,.2f}{'+' if entry.total.unpriced else ''}"
    whole = round(entry.all_per_hour * _MICRO)
    return Cell(text, bar=Bar(0, round(entry.total.per_hour * _MICRO), whole) if whole else None)


def _held_cell(entry: CapacityEntry, _: int) -> Cell:
    if not entry.held.nodes:
        return WAITING if entry.held.waiting else NOT_APPLICABLE
    text = held_text(entry.held, is_short=True)
    return NOT_AVAILABLE if text == NA else Cell(text, Tone.WARNING)


def _amounts(name: str, unit: str, read: Callable[[CapacityEntry], Share]) -> tuple[Value[CapacityEntry], ...]:
    return share_values(
        name,
        unit,
        lambda entry: read(entry) if entry.access is PodAccess.KNOWN else None,
        lambda entry: read(entry).capacity,
        schema=int,
    )


def _share_column(name: str, unit: str, read: Callable[[CapacityEntry], Share], texts: Texts) -> Column[CapacityEntry]:
    about = "Requested by pods / allocatable: ╍ DaemonSets ━ workload ┈ free."
    return Column(
        Heading(name, name.upper(), about, min_width=7, fill_width=34, bar_min=3, is_descending_first=True),
        lambda entry, _: share_cell(read(entry), texts, entry.access),
        lambda entry: read(entry).percent,
        values=_amounts(name, unit, read),
    )


def capacity_table(grouping: str = GROUPINGS[0], *, has_prices: bool = True) -> TableSpec[CapacityEntry]:
    """Return the table of a grouping."""
    columns = _columns(grouping)
    left_out = {"cap"} if grouping != "zone" else set()
    left_out |= set() if has_prices else {"price", "held"}
    shown = tuple(column for column in columns if column.heading.id not in left_out)
    return TableSpec(
        noun=NOUNS[grouping],
        columns=shown,
        declared=columns,
        key=lambda entry: entry.key,
        default_sort=Sort("price", is_descending=True) if has_prices else Sort("nodes", is_descending=True),
        text=lambda entry: f"{entry.name} {entry.capacity_type}".lower(),
    )


def _columns(grouping: str) -> tuple[Column[CapacityEntry], ...]:
    name: Column[CapacityEntry] = text_column(
        Heading("name", _TITLES[grouping], _HELP[grouping], min_width=8, max_width=40, is_name=True),
        lambda entry: entry.name,
        values=Value("name", lambda entry, _: entry.name or None, str | None, "Zone, NodePool or instance type."),
        filters=Field(FieldKind.TEXT, lambda entry, _: entry.name, NOUNS[grouping]),
    )
    capacity_type: Column[CapacityEntry] = text_column(
        Heading("cap", "CAP", "The capacity type: spot, on-demand or reserved.", 9),
        lambda entry: entry.capacity_type,
        tone=lambda entry: capacity_tone(entry.capacity_type),
        values=Value("cap", lambda entry, _: entry.capacity_type or None, str | None, "Capacity type, where by zone."),
        filters=Field(FieldKind.TEXT, lambda entry, _: entry.capacity_type, "capacity type"),
    )
    return (name, capacity_type, *_COLUMNS)


_COLUMNS: Final[tuple[Column[CapacityEntry], ...]] = (
    Column(
        NumberHeading(
            "nodes",
            "NODES",
            "Number of nodes; + NodeClaims that have no node yet.",
            5,
            fill_width=16,
            bar_min=3,
        ),
        _nodes_cell,
        lambda entry: entry.nodes,
        values=(
            Value("nodes", lambda entry, _: _seen(entry, entry.nodes), int | None, "null if nodes were not read."),
            Value("starting", lambda entry, _: _seen(entry, entry.starting), int | None, "NodeClaims without a node."),
        ),
        filters=Field(FieldKind.COUNT, lambda entry, _: entry.nodes, "how many nodes"),
    ),
    Column(
        NumberHeading("pods", "PODS", "Pods on these nodes / the nodes' pod capacity.", 7, drop_order=3),
        lambda entry, _: msgspec.structs.replace(count_cell(entry.pods, entry.access), bar=None),
        lambda entry: entry.pods.requested,
        values=_amounts("pods", "", lambda entry: entry.pods),
    ),
    _share_column("cpu", "_millis", lambda entry: entry.cpu, CPU_TEXTS),
    _share_column("mem", "_bytes", lambda entry: entry.memory, MEMORY_TEXTS),
    Column(
        NumberHeading(
            "free",
            "FREE",
            "Cpu and memory that no pod has requested, on all nodes together: one pod can only use those of one node.",
            15,
            drop_order=4,
        ),
        _free_cell,
        lambda entry: entry.free_cpu_millis if entry.cpu.capacity else None,
        values=(
            Value("free_cpu_millis", lambda entry, _: _free(entry, entry.free_cpu_millis), int | None),
            Value("free_mem_bytes", lambda entry, _: _free(entry, entry.free_memory_bytes), int | None),
        ),
    ),
    Column(
        NumberHeading(
            "price",
            "$/H",
            "Cost of the nodes per hour; + if a price is unknown.",
            6,
            fill_width=18,
            bar_min=3,
        ),
        _cost_cell,
        _per_hour,
        values=(
            Value("price_per_hour", lambda entry, _: _per_hour(entry), float | None),
            Value("unpriced", lambda entry, _: entry.total.unpriced, int, "Nodes with unknown price."),
        ),
        filters={"$": Field(FieldKind.MONEY, lambda entry, _: _per_hour(entry), "price per hour")},
    ),
    Column(
        NumberHeading(
            "held",
            "HELD",
            "Savings per hour if its blocked nodes were all removed (simulated); ≤ marks an upper bound.",
            6,
            drop_order=1,
        ),
        _held_cell,
        lambda entry: entry.held.per_hour if entry.held.nodes else None,
        values=(
            Value(
                "held_per_hour",
                lambda entry, _: entry.held.per_hour if not entry.held.waiting else None,
                float | None,
                "null until all nodes are simulated.",
            ),
            Value(
                "held_is_upper_bound",
                lambda entry, _: entry.held.is_upper_bound,
                bool,
                "Whether held_per_hour is an upper bound: several nodes, ignoring budgets and delays.",
            ),
        ),
    ),
    last_hour_column(lambda entry: entry.alive, drop_order=2),
)


def capacity_sentence(entries: Sequence[CapacityEntry], grouping: str) -> Pieces:
    """Return a summary of all rows, the largest group first."""
    if not entries:
        return ()
    if not entries[0].all_nodes:
        return _without_nodes(entries)
    if grouping != "zone":
        largest = max(entries, key=lambda entry: (entry.total.per_hour, entry.nodes))
        return (
            (f"{clean(largest.name) or 'nodes without one'} is the largest: ", Tone.STRONG),
            (_part(largest.nodes, (largest.total.per_hour, largest.total.unpriced), entries), Tone.NORMAL),
        )
    zones: dict[str, tuple[int, float, int]] = {}
    spot = 0
    for capacity_entry in entries:
        nodes, per_hour, unpriced = zones.get(capacity_entry.name, (0, 0.0, 0))
        zones[capacity_entry.name] = (
            nodes + capacity_entry.nodes,
            per_hour + capacity_entry.total.per_hour,
            unpriced + capacity_entry.total.unpriced,
        )
        spot += capacity_entry.nodes if capacity_entry.capacity_type == "spot" else 0
    whole = entries[0].all_nodes
    zone, (nodes, per_hour, unpriced) = max(zones.items(), key=lambda pair: pair[1])
    named = sum(bool(name) for name in zones)
    text = f"{_part(nodes, (per_hour, unpriced), entries)}; {counted(named, 'zone')}"
    return (
        (f"{clean(zone) or 'nodes without a zone'} is the largest: ", Tone.STRONG),
        (text, Tone.NORMAL),
        (f", {_percent(spot, whole)} of the nodes are spot", Tone.NORMAL),
    )


def _without_nodes(entries: Sequence[CapacityEntry]) -> Pieces:
    """Return the number of NodeClaims if no node exists or is known; shares would be meaningless."""
    claims = sum(entry.starting for entry in entries)
    money = f", {_all_dollars(entries)} together" if entries[0].all_per_hour else ""
    if not entries[0].sees_nodes:
        return (("Nodes were not read: ", Tone.STRONG), (f"{counted(claims, 'NodeClaim')}{money}", Tone.NORMAL))
    return (("No node: ", Tone.STRONG), (f"{counted(claims, 'NodeClaim')} without one{money}", Tone.NORMAL))


def _part(nodes: int, dollars: tuple[float, int], entries: Sequence[CapacityEntry]) -> str:
    all_nodes = entries[0].all_nodes
    text = f"{count_text(nodes)} of {counted(all_nodes, 'node')} ({_percent(nodes, all_nodes)})"
    if not entries[0].all_per_hour:
        return text
    return f"{text} and {known_sum_text(*dollars)} of {_all_dollars(entries)}"


def _all_dollars(entries: Sequence[CapacityEntry]) -> str:
    return known_sum_text(entries[0].all_per_hour, sum(entry.total.unpriced for entry in entries))


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f}%"
