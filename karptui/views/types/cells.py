"""Amounts and cells of instance types, whether a pod fits one, what it is short of, and why a type is ruled out."""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.aws.ledger import fitting_overhead_percent, matching_overhead_percent, rounded_down, rounded_up
from karptui.aws.money import node_price_text
from karptui.aws.prices import Price
from karptui.karpenter.labels import ON_DEMAND, RESERVED, SPOT
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO, Quantity
from karptui.kube.resources import MEMORY, PODS, ResourceList
from karptui.kube.units import count_text, cpu_text, mebibytes_text, memory_text
from karptui.provisioning.amounts import with_pod_slots
from karptui.provisioning.pool_types import Filter, TypeVerdict
from karptui.session.types import PoolEntry, TypeEntry
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone
from karptui.views.sanitize import clean, short_zone
from karptui.views.usage import shortages_text


def carries_text(verdict: TypeVerdict) -> str:
    """Return what DaemonSets put on a node: ``11 ds 490m 938Mi``."""
    if not verdict.daemon_pods:
        return "no DaemonSets"
    return f"{verdict.daemon_pods} ds {requests_text(verdict.daemons)}"


def requests_text(requests: ResourceList) -> str:
    """Return cpu and memory that are asked for: ``490m 938Mi``."""
    cpu, memory = resources.cpu_millis(requests), resources.memory_bytes(requests)
    return f"{cpu_text(cpu)} {memory_text(memory)}"


class TypeFit(msgspec.Struct, frozen=True, kw_only=True):
    """A pod on an instance type."""

    pod: Pod
    requests: ResourceList
    """The pod's, its slot included."""
    short: ResourceList
    """What is missing, by resource; empty where it fits."""
    overhead_percent: float | None
    """The largest VM_MEMORY_OVERHEAD_PERCENT with which its memory fits, cut to four decimals; None where none does."""
    next_type: TypeEntry | None
    """The cheapest type of the pool that it fits on; of the same family where there is one."""


def fit_of(pool: PoolEntry, entry: TypeEntry, pod: Pod) -> TypeFit:
    """Return how a pod fits a type of a NodePool."""
    requests = with_pod_slots(pod.template.requests)
    short = shortage(entry, requests)
    percent: float | None = None
    if MEMORY in short and entry.ledger is not None and entry.facts is not None and entry.context.nodeclass is not None:
        needed = resources.add({MEMORY: Quantity(0)}, entry.verdict.daemons, requests)[MEMORY]
        found = fitting_overhead_percent(entry.facts, entry.context.nodeclass, entry.ledger, needed)
        percent = rounded_down(found) if found is not None else None
    return TypeFit(
        pod=pod,
        requests=requests,
        short=short,
        overhead_percent=percent,
        next_type=_next_type(pool, entry, requests) if short else None,
    )


def shortage(entry: TypeEntry, requests: ResourceList) -> dict[str, Quantity]:
    """Return what is missing on a type for requests and its DaemonSets together, by resource."""
    asked, have = resources.add(entry.verdict.daemons, requests), entry.allocatable
    return {
        name: Quantity(amount.nano - resources.nano(have, name), amount.format)
        for name, amount in asked.items()
        if amount.nano > max(0, resources.nano(have, name))
    }


def _next_type(pool: PoolEntry, entry: TypeEntry, requests: ResourceList) -> TypeEntry | None:
    family = entry.name.partition(".")[0]
    fitting = [one for one in pool.wanted if one.offered and one is not entry and not shortage(one, requests)]
    own = [one for one in fitting if one.name.partition(".")[0] == family]
    return min(
        own or fitting,
        key=lambda one: (
            one.verdict.price_per_hour if one.verdict.price_per_hour is not None else float("inf"),
            resources.memory_bytes(one.instance_type.capacity),
            one.name,
        ),
        default=None,
    )


def reported_bytes(entry: TypeEntry) -> int | None:
    """Return the least memory capacity that a node of the type reports; None where no node does."""
    spread = entry.observed.capacity.get(MEMORY) if entry.observed is not None else None
    return spread.smallest.units if spread is not None else None


def matching_percent(entry: TypeEntry) -> float | None:
    """Return the overhead percent that would match what nodes of the type report, raised to four decimals."""
    reported = reported_bytes(entry)
    if reported is None or entry.facts is None:
        return None
    return rounded_up(matching_overhead_percent(entry.facts, reported))


def safe_percent(pool: PoolEntry) -> float | None:
    """Return the overhead percent that overestimates no type of the pool that has nodes, raised to four decimals."""
    return rounded_up(pool.safe_overhead_percent) if pool.safe_overhead_percent is not None else None


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
    return entry.facts.memory_mib << 20 if entry.facts is not None else bytes_of(entry.instance_type.capacity)


def allocatable_bytes(entry: TypeEntry) -> int:
    """Return the memory that pods may request; below zero where more is kept back than there is."""
    return bytes_of(entry.allocatable)


def bytes_of(amounts: resources.ResourceList) -> int:
    """Return the memory of a resource list in bytes."""
    return resources.nano(amounts, MEMORY) // NANO


def pod_slots(entry: TypeEntry) -> int:
    """Return how many pods a node takes."""
    return resources.nano(entry.allocatable, PODS) // NANO


def rank_cell(entry: TypeEntry, _: int) -> Cell:
    """Return the type's place in the order that Karpenter tries."""
    return Cell(str(entry.verdict.rank)) if entry.verdict.rank is not None else NOT_APPLICABLE


def memory_cell(entry: TypeEntry, _: int) -> Cell:
    """Return the memory that EC2 advertises, and what pods may request of it."""
    return Cell(f"{memory_text(memory_bytes(entry))}/{mebibytes_text(allocatable_bytes(entry))}", Tone.NORMAL)


def largest_cell(entry: TypeEntry, _: int) -> Cell:
    """Return what the largest pod may request."""
    if not entry.is_wanted or entry.verdict.removed_by in (Filter.OFFERINGS, Filter.RESERVED):
        return NOT_APPLICABLE
    largest = entry.largest_pod
    if not resources.nano(largest, PODS):
        return Cell("no slot", Tone.WARNING)
    cpu, memory = resources.nano(largest, "cpu") // 1_000_000, mebibytes_text(bytes_of(largest))
    return Cell(f"{cpu_text(cpu)} {memory}", Tone.NORMAL, memory)


def daemons_cell(entry: TypeEntry, _: int) -> Cell:
    """Return how many DaemonSets a node carries, and how much of its memory they take."""
    verdict = entry.verdict
    if not verdict.daemon_pods:
        return Cell("0", Tone.MUTED)
    room = allocatable_bytes(entry)
    share = f"{100 * bytes_of(verdict.daemons) // room}%" if 0 < bytes_of(verdict.daemons) <= room else "over"
    return Cell(f"{carries_text(verdict)} {share}", Tone.DAEMON, f"{verdict.daemon_pods} ds {share}")


def offered_cell(entry: TypeEntry, _: int) -> Cell:
    """Return the capacity types that are offered, with their zones."""
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


def nodes_cell(entry: TypeEntry, _: int) -> Cell:
    """Return how many nodes of the type there are."""
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


def why_cell(entry: TypeEntry, _: int) -> Cell:
    """Return what rules the type out, or that it is left."""
    if entry.is_left:
        return Cell("✔", Tone.GOOD)
    word = WORDS[entry.verdict.removed_by] if entry.verdict.removed_by is not None else ""
    return Cell(f"✘ {why_text(entry)}", Tone.MUTED if not entry.is_wanted else Tone.WARNING, f"✘ {word}")
