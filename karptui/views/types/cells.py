"""Amounts and cells of instance types, whether a pod fits, its shortages, and why a type is excluded."""

from __future__ import annotations

from typing import Final

from karptui.aws.ledger import rounded_up
from karptui.kube import resources
from karptui.kube.quantity import NANO
from karptui.kube.resources import MEMORY, PODS, ResourceList
from karptui.kube.units import count_text, cpu_text, mebibytes_text, memory_text
from karptui.provisioning.pool_types import Filter
from karptui.session.types import Carried, PoolEntry, TypeEntry
from karptui.views.nodes.cells import CAPACITY_SHORT
from karptui.views.row import NOT_APPLICABLE, Cell, Tone
from karptui.views.sanitize import clean, short_zone
from karptui.views.usage import shortages_text


def carries_text(carried: Carried | TypeEntry) -> str:
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
    return entry.memory_mib << 20 if entry.memory_mib is not None else bytes_of(entry.capacity)


def allocatable_bytes(entry: TypeEntry) -> int:
    """Return the allocatable memory; negative if reservations exceed the capacity."""
    return bytes_of(entry.allocatable)


def bytes_of(amounts: resources.ResourceList) -> int:
    """Return the memory of a resource list in bytes."""
    return resources.nano(amounts, MEMORY) // NANO


def pod_slots(entry: TypeEntry) -> int:
    """Return the pod capacity of a node."""
    return resources.nano(entry.allocatable, PODS) // NANO


def rank_cell(entry: TypeEntry, _: int) -> Cell:
    """Return the type's place in the order that Karpenter tries."""
    return Cell(str(entry.rank)) if entry.rank is not None else NOT_APPLICABLE


def memory_cell(entry: TypeEntry, _: int) -> Cell:
    """Return the advertised and the allocatable memory."""
    return Cell(f"{memory_text(memory_bytes(entry))}/{mebibytes_text(allocatable_bytes(entry))}", Tone.NORMAL)


def largest_cell(entry: TypeEntry, _: int) -> Cell:
    """Return the requests of the largest pod that fits."""
    if not entry.is_wanted or entry.removed_by in (Filter.OFFERINGS, Filter.RESERVED):
        return NOT_APPLICABLE
    largest = entry.largest_pod
    if not resources.nano(largest, PODS):
        return Cell("no slot", Tone.WARNING)
    cpu, memory = resources.nano(largest, "cpu") // 1_000_000, mebibytes_text(bytes_of(largest))
    return Cell(f"{cpu_text(cpu)} {memory}", Tone.NORMAL, memory)


def daemons_cell(entry: TypeEntry, _: int) -> Cell:
    """Return the number of DaemonSets on a node, and their memory requests."""
    if not entry.daemon_pods:
        return Cell("0", Tone.MUTED)
    room = allocatable_bytes(entry)
    share = f"{100 * bytes_of(entry.daemons) // room}%" if 0 < bytes_of(entry.daemons) <= room else "over"
    return Cell(f"{carries_text(entry)} {share}", Tone.DAEMON, f"{entry.daemon_pods} ds {share}")


def offered_cell(entry: TypeEntry, _: int) -> Cell:
    """Return the capacity types that are offered, with their zones."""
    offered = entry.offered
    if not offered:
        return Cell("none", Tone.WARNING if entry.is_wanted else Tone.MUTED)
    parts = []
    for capacity_type, zones in sorted(offered.items()):
        word = CAPACITY_SHORT.get(capacity_type) or clean(capacity_type)
        parts.append((word, " ".join(short_zone(clean(zone)) for zone in zones), len(zones)))
    long = " · ".join(f"{word} {zones}" for word, zones, _ in parts)
    return Cell(long, Tone.NORMAL, " ".join(f"{word}×{count}" for word, _, count in parts))


def nodes_cell(entry: TypeEntry, _: int) -> Cell:
    """Return the number of nodes of the type."""
    return Cell(count_text(entry.observed.node_count)) if entry.observed is not None else Cell("0", Tone.MUTED)


def why_text(entry: TypeEntry) -> str:
    """Return the reason why a type is excluded: ``DaemonSets: pods 8 of 11``; empty if it is left."""
    if entry.removed_by is None:
        return ""
    if entry.removed_by is Filter.REQUIREMENTS:
        return clean(entry.reason)
    if entry.removed_by is Filter.OFFERINGS:
        found = dict.fromkeys(offer.availability for offer in entry.offers)
        return entry.ruled_out or f"{WORDS[Filter.OFFERINGS]}: {', '.join(found) or 'no zone'}"
    return f"{WORDS[entry.removed_by]}: {shortages_text(entry.shortages)}"


def why_cell(entry: TypeEntry, _: int) -> Cell:
    """Return the reason why the type is excluded, or that it is left."""
    if entry.is_left:
        return Cell("✔", Tone.GOOD)
    word = WORDS[entry.removed_by] if entry.removed_by is not None else ""
    return Cell(f"✘ {why_text(entry)}", Tone.MUTED if not entry.is_wanted else Tone.WARNING, f"✘ {word}")
