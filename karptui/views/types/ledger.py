"""One instance type at length: the ledger of its resources with a pod against it, and the grid of its offerings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from karptui.aws.ledger import Ledger
from karptui.aws.money import node_price_text
from karptui.aws.prices import PriceSource
from karptui.karpenter.labels import ON_DEMAND, RESERVED, SPOT
from karptui.kube import resources
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, ResourceList
from karptui.kube.units import count_text, lacking_text, mebibytes_text, memory_text
from karptui.provisioning.pool_types import Filter
from karptui.session.types import Availability, PoolEntry, TypeEntry, TypeFit, TypeOffer
from karptui.views.prices import amount_cell
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.types.columns import matching_percent, reported_bytes, safe_percent
from karptui.views.usage import shortages_text

_FIRST: Final = (MEMORY, CPU, PODS, EPHEMERAL_STORAGE)
_TITLES: Final = {MEMORY: "memory Mi", CPU: "cpu m", PODS: "pods", EPHEMERAL_STORAGE: "disk Mi"}
_LABEL: Final = 17
_GIB_IN_MIB: Final = 1024


def title_pieces(pool: PoolEntry, entry: TypeEntry) -> Pieces:
    """Return the heading: type, pool, prices."""
    parts = [f"pool {clean(pool.name)}"]
    if entry.on_demand is not None:
        parts.append(f"{amount_cell(entry.on_demand).text}/h on-demand")
    if entry.spot is not None:
        parts.append(f"spot from {amount_cell(entry.spot).text}/h")
    if any(price is not None and price.origin.source is PriceSource.OVERLAY for price in (entry.on_demand, entry.spot)):
        parts.append("prices by a NodeOverlay, not those that AWS bills")
    if entry.rank is not None:
        parts.append(f"price rank {entry.rank} of {len(pool.left)}")
    return (f" {clean(entry.name)} ", Tone.STRONG), (f"─ {' · '.join(parts)} ", Tone.NORMAL)


def account_lines(entry: TypeEntry, fit: TypeFit | None, origin: str) -> tuple[Pieces, ...]:
    """Return the account as aligned lines: a column for each resource, from advertised down to the largest pod."""
    steps = ledger_steps(entry, fit, origin)
    names = _resources(entry, fit)
    table = [[step.label, *(_figure(name, step.amounts) for name in names), step.note] for step in steps]
    heads = ["", *(_TITLES.get(name, clean(name.rpartition("/")[2])) for name in names), ""]
    widths = [max(len(row[index]) for row in (heads, *table)) for index in range(len(heads) - 1)]
    lines: list[Pieces] = [((_aligned(heads, widths), Tone.MUTED),)]
    for texts, ledger_step in zip(table, steps, strict=True):
        lines.append(((_aligned(texts, widths), ledger_step.tone), (f"  {ledger_step.note}", Tone.MUTED)))
    return tuple(lines)


def _aligned(texts: list[str], widths: list[int]) -> str:
    first = f"{texts[0]:<{max(widths[0], _LABEL)}}"
    return first + "".join(f"  {text:>{width}}" for text, width in zip(texts[1:-1], widths[1:], strict=True))


def _resources(entry: TypeEntry, fit: TypeFit | None) -> list[str]:
    extended = sorted(
        name
        for name, amount in entry.capacity.items()
        if "/" in name and amount and (fit is None or name in fit.requests or name in entry.daemons)
    )
    return [*(name for name in _FIRST if name in entry.capacity), *extended[:2]]


class LedgerStep(NamedTuple):
    """A line of the account."""

    step: str
    """Stable name: ``kube_reserved``."""
    label: str
    amounts: Mapping[str, int]
    """In nano-units by resource; negative for subtracted amounts."""
    note: str = ""
    tone: Tone = Tone.NORMAL


def ledger_steps(entry: TypeEntry, fit: TypeFit | None, origin: str) -> list[LedgerStep]:
    """Return the account from advertised down to the largest pod, and the pod that is held against it."""
    capacity, overhead, ledger = entry.capacity, entry.overhead, entry.ledger
    steps = _advertised(ledger, origin) if ledger is not None else []
    discovered = ledger is not None and ledger.is_memory_discovered
    note = "as a node reported it" if discovered else "as planned"
    results = entry.expressions
    pods = f", pods {results['maxPods']}" if "maxPods" in results else ""
    steps.append(LedgerStep("capacity", "capacity", _nano(capacity), clean(note + pods)))
    expressions = _by_expressions(results, "kubeReserved")
    steps.append(LedgerStep("kube_reserved", "kubeReserved", _minus(overhead.kube_reserved), expressions))
    expressions = _by_expressions(results, "systemReserved")
    if any(overhead.system_reserved.values()) or expressions:
        steps.append(LedgerStep("system_reserved", "systemReserved", _minus(overhead.system_reserved), expressions))
    steps.append(LedgerStep("eviction_threshold", "eviction", _minus(overhead.eviction_threshold)))
    steps.append(LedgerStep("allocatable", "allocatable", _nano(entry.allocatable), tone=Tone.STRONG))
    count, daemons = entry.daemon_pods, _minus(entry.daemons)
    none = "" if count else "none runs on it"
    steps.append(LedgerStep("daemonsets", f"DaemonSets ({count})", daemons, none, Tone.DAEMON))
    largest = entry.largest_pod
    words = memory_text(resources.nano(largest, MEMORY) // NANO)
    steps.append(LedgerStep("largest_pod", "largest pod", _nano(largest), words, Tone.STRONG))
    if fit is not None:
        pod = f"{clean(fit.pod.namespace)}/{clean(fit.pod.name)}"
        steps.append(LedgerStep("pending_pod", "asked", _nano(fit.requests), pod, Tone.WORKLOAD))
        if fit.short:
            steps.append(LedgerStep("short_by", "✘ short by", _nano(fit.short), tone=Tone.FAULT))
    return steps


def _by_expressions(results: Mapping[str, str], field: str) -> str:
    """Return the values of a field's expressions: ``cpu 80m = vcpus * 20``."""
    return clean(
        ", ".join(f"{place[len(field) + 1 : -1]} {text}" for place, text in results.items() if place.startswith(field))
    )


def _advertised(ledger: Ledger, origin: str) -> list[LedgerStep]:
    size, by_ec2 = memory_text(ledger.advertised_memory_bytes), {MEMORY: ledger.advertised_memory_bytes * NANO}
    steps = [LedgerStep("advertised", "advertised", by_ec2, f"{size} by EC2")]
    if ledger.contiguous_memory_bytes:
        kernel = {MEMORY: -ledger.contiguous_memory_bytes * NANO}
        steps.append(LedgerStep("contiguous_memory", "arm64 kernel", kernel, "contiguous memory"))
    percent = f"{ledger.vm_memory_overhead_percent:g}"
    if ledger.is_memory_discovered:
        planned = ledger.advertised_memory_bytes - ledger.contiguous_memory_bytes
        lost = {MEMORY: -(planned - resources.memory_bytes(ledger.capacity)) * NANO}
        steps.append(LedgerStep("vm_overhead", "VM overhead", lost, f"reported, so {percent} is not used"))
    else:
        taken = {MEMORY: -ledger.vm_overhead_bytes * NANO}
        steps.append(LedgerStep("vm_overhead", f"VM overhead {percent}", taken, origin))
    return steps


def step_values(step: LedgerStep) -> dict[str, Any]:
    """Return a ledger line as plain values; remainders are rounded down, deductions up."""
    whole = {name: nano // (NANO_PER_MILLI if name == CPU else NANO) for name, nano in step.amounts.items()}
    return {
        "step": step.step,
        "memory_bytes": whole.pop(MEMORY, None),
        "cpu_millis": whole.pop(CPU, None),
        "pods": whole.pop(PODS, None),
        "ephemeral_storage_bytes": whole.pop(EPHEMERAL_STORAGE, None),
        "other": {name: amount for name, amount in whole.items() if amount},
        "label": step.label.removeprefix("✘ "),
        "note": step.note,
    }


def _nano(amounts: ResourceList) -> dict[str, int]:
    return {name: amount.nano for name, amount in amounts.items()}


def _minus(amounts: ResourceList) -> dict[str, int]:
    return {name: -amount.nano for name, amount in amounts.items()}


def _figure(name: str, amounts: Mapping[str, int]) -> str:
    """Return an amount without its unit; remainders are rounded down, deductions up."""
    nano = amounts.get(name)
    if nano is None:
        return ""
    unit = {CPU: NANO_PER_MILLI, MEMORY: NANO << 20, EPHEMERAL_STORAGE: NANO << 20}.get(name, NANO)
    whole = nano // unit
    return f"−{-whole:,}" if whole < 0 else f"{whole:,}"


def fit_lines(entry: TypeEntry, fit: TypeFit | None) -> tuple[Pieces, ...]:
    """Return whether a pod fits, what would make it fit, and why the type is excluded."""
    lines: list[Pieces] = []
    if not entry.is_left and entry.shortages and (fit is None or entry.removed_by is not Filter.POD):
        lines.append((("✘ ruled out: ", Tone.FAULT), (_ruled_out(entry), Tone.NORMAL)))
    elif not entry.is_left and not entry.shortages:
        lines.append((("✘ ruled out: ", Tone.FAULT), (entry.ruled_out or clean(entry.reason), Tone.NORMAL)))
    if fit is None:
        lines.append((("no pending pod matches this pool, so there is no pod to compare with", Tone.MUTED),))
        return tuple(lines)
    name = f"{clean(fit.pod.namespace)}/{clean(fit.pod.name)}"
    if not fit.short:
        lines.append((("✔ ", Tone.GOOD), (f"{name} fits", Tone.NORMAL)))
        return tuple(lines)
    missing = ", ".join(
        f"{clean(resource)} short by {lacking_text(resource, amount.nano)}" for resource, amount in fit.short.items()
    )
    lines.append((("✘ ", Tone.FAULT), (f"{name} does not fit: {missing}", Tone.NORMAL)))
    lines += _remedies(entry, fit)
    return tuple(lines)


def _ruled_out(entry: TypeEntry) -> str:
    words = shortages_text(entry.shortages)
    if entry.daemon_pods and entry.removed_by is Filter.DAEMONSETS:
        return f"{entry.daemon_pods} DaemonSet pods do not fit: {words}"
    return f"{entry.removed_by}: {words}"


def _remedies(entry: TypeEntry, fit: TypeFit) -> list[Pieces]:
    lines: list[Pieces] = []
    if MEMORY in fit.short:
        if fit.overhead_percent is not None:
            text = f"fits with VM_MEMORY_OVERHEAD_PERCENT ≤ {fit.overhead_percent:.4f}"
            lines.append((("  → ", Tone.GOOD), (text, Tone.NORMAL)))
        elif entry.ledger is not None and entry.ledger.is_memory_discovered:
            lines.append(
                (("  · a node has reported this memory: VM_MEMORY_OVERHEAD_PERCENT changes nothing", Tone.MUTED),)
            )
        elif entry.ledger is not None:
            lines.append((("  · no VM_MEMORY_OVERHEAD_PERCENT makes it fit", Tone.MUTED),))
        left = resources.nano(entry.largest_pod, MEMORY) // NANO
        whole = f" ({left // (1 << 30):,}Gi)" if left >= _GIB_IN_MIB << 20 else ""
        lines.append((("  → ", Tone.GOOD), (f"or with a pod of at most {mebibytes_text(left)}{whole}", Tone.NORMAL)))
    if fit.next_type is not None:
        price = fit.next_type.price
        cost = f" {node_price_text(price.per_hour, price.currency)}/h" if price is not None else ""
        lines.append(
            (("  → ", Tone.GOOD), (f"or on the next type that fits: {clean(fit.next_type.name)}{cost}", Tone.NORMAL))
        )
    else:
        lines.append((("  · no other type of the pool fits it", Tone.MUTED),))
    if MEMORY in fit.short:
        lines.append((("  · a NodeOverlay cannot change memory, only prices and extended resources", Tone.MUTED),))
    return lines


def observed_lines(pool: PoolEntry, entry: TypeEntry) -> tuple[Pieces, ...]:
    """Return the reported values of the type's nodes, and the overhead percents they imply."""
    reported, observed = reported_bytes(entry), entry.observed
    if reported is None or observed is None:
        lines: list[Pieces] = [(("no node of this type runs here, so its real memory is unknown", Tone.MUTED),)]
    else:
        many = f"{count_text(observed.node_count)} nodes report" if observed.node_count > 1 else "1 node reports"
        spread = observed.capacity[MEMORY]
        least = "" if spread.is_uniform else f" (the least of up to {mebibytes_text(spread.largest.units)})"
        lines = [((many, Tone.NORMAL), (f" {mebibytes_text(reported)} of memory{least}", Tone.STRONG))]
        if (allocatable := observed.allocatable.get(MEMORY)) is not None:
            planned = resources.nano(entry.allocatable, MEMORY) // NANO
            delta = allocatable.smallest.units - planned
            sign = "+" if delta >= 0 else "−"
            tone = Tone.NORMAL if delta >= 0 else Tone.WARNING
            least = mebibytes_text(allocatable.smallest.units)
            lines.append(((f"allocatable {least}: {sign}{mebibytes_text(abs(delta))} compared with the plan", tone),))
        if (percent := matching_percent(entry)) is not None:
            lines.append(((f"overhead {percent:.4f} would match them", Tone.NORMAL),))
    if (safe := safe_percent(pool)) is not None:
        lines.append(
            (
                (f"safe VM overhead for this pool: {safe:.4f}", Tone.STRONG),
                (f", by {pool.observed} of its types that have nodes", Tone.MUTED),
            )
        )
    return tuple(lines)


_ORDER: Final = (ON_DEMAND, SPOT, RESERVED)


class Square(msgspec.Struct, frozen=True):
    """One square of the grid."""

    price: str
    """``$1.8080``, or n/a."""
    words: str
    """Why it is unavailable; empty if available."""
    tone: Tone
    is_struck: bool
    """Whether the price is struck out because the offering is unavailable."""

    @property
    def text(self) -> str:
        """Price and words."""
        return f"{self.price} {self.words}".strip()


EMPTY: Final = Square("-", "", Tone.MUTED, is_struck=False)


class Grid(msgspec.Struct, frozen=True):
    """All offerings of a type."""

    capacity_types: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Square, ...]], ...]
    """Zone, and a square for each capacity type."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Cells of each column, that of the zones first."""
        zones = max((len(zone) for zone, _ in self.rows), default=0)
        columns = [
            max(len(name), *(len(squares[index].text) for _, squares in self.rows))
            for index, name in enumerate(self.capacity_types)
        ]
        return (max(zones, 4), *columns)


def offering_grid(entry: TypeEntry) -> Grid:
    """Return the offerings of a type by zone and capacity type; several reservations of a zone share a square."""
    types = {offer.capacity_type for offer in entry.offers}
    capacity_types = tuple(name for name in _ORDER if name in types) + tuple(sorted(types.difference(_ORDER)))
    zones = sorted({offer.zone for offer in entry.offers})
    rows = []
    for zone in zones:
        squares = []
        for name in capacity_types:
            offers = [offer for offer in entry.offers if offer.zone == zone and offer.capacity_type == name]
            best = min(offers, key=lambda offer: offer.availability is not Availability.OFFERED, default=None)
            squares.append(_square(best) if best is not None else EMPTY)
        rows.append((clean(zone) or "-", tuple(squares)))
    return Grid(tuple(clean(name) or "-" for name in capacity_types), tuple(rows))


def _square(offer: TypeOffer) -> Square:
    price = node_price_text(offer.price.per_hour, offer.price.currency) if offer.price is not None else "n/a"
    words = "" if offer.availability is Availability.OFFERED else offer.availability.value
    if offer.reservation_id and offer.availability is Availability.OFFERED:
        words = f"{offer.instances_left} left"
    if offer.availability is Availability.OFFERED:
        return Square(price, words, Tone.NORMAL if offer.price is not None else Tone.MUTED, is_struck=False)
    is_refused = offer.availability in (Availability.SOLD_OUT, Availability.NO_ADDRESSES)
    tone = Tone.WARNING if is_refused else Tone.MUTED
    return Square(price, words, tone, is_struck=offer.availability is not Availability.NOT_ALLOWED)
