"""The columns of one NodePool's types; a later column is one more entry."""

from __future__ import annotations

from typing import Final

from karptui.aws.money import node_price_text
from karptui.aws.prices import Price
from karptui.karpenter.labels import ON_DEMAND, RESERVED, SPOT
from karptui.kube import resources
from karptui.kube.quantity import NANO
from karptui.kube.resources import MEMORY, PODS
from karptui.kube.units import count_text, cpu_text, mebibytes_text, memory_text
from karptui.provisioning.type_verdict import Filter
from karptui.session.types import TypeEntry
from karptui.views.column import Column, Heading
from karptui.views.names import short_zone
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.table import natural_key
from karptui.views.types.words import carries_text, shortages_text

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


COLUMNS: Final[tuple[Column[TypeEntry], ...]] = (
    Column(
        Heading("name", "NAME", "The instance type.", min_width=12, max_width=24),
        lambda entry, _: Cell(clean(entry.name), Tone.STRONG),
        lambda entry: natural_key(entry.name),
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
    ),
    Column(
        Heading("vcpu", "VCPU", "Processors.", min_width=4, is_right_aligned=True, is_descending_first=True),
        lambda entry, _: Cell(cpu_text(resources.cpu_millis(entry.instance_type.capacity)).removesuffix("000m")),
        lambda entry: float(resources.cpu_millis(entry.instance_type.capacity)),
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
    ),
    Column(
        Heading(
            "pods", "PODS", "Pods that a node takes.", min_width=4, is_right_aligned=True, is_descending_first=True
        ),
        lambda entry, _: Cell(count_text(pod_slots(entry))),
        lambda entry: float(pod_slots(entry)),
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
    ),
    Column(
        Heading(
            "od",
            "OD $/H",
            "The on-demand price per hour.",
            min_width=6,
            is_right_aligned=True,
            is_descending_first=True,
        ),
        lambda entry, _: price_cell(entry.on_demand),
        lambda entry: _per_hour(entry.on_demand),
    ),
    Column(
        Heading(
            "spot",
            "SPOT $/H",
            "The least spot price per hour that somebody really knows; never derived from the on-demand price.",
            min_width=6,
            drop_order=6,
            is_right_aligned=True,
            is_descending_first=True,
        ),
        lambda entry, _: price_cell(entry.spot),
        lambda entry: _per_hour(entry.spot),
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
    ),
    Column(
        Heading("why", "LEFT?", "✔ a new node may have it; ✘ what rules it out.", min_width=13, max_width=60),
        _why,
        lambda entry: "" if entry.is_left else why_text(entry),
    ),
)
"""Every column in order."""
