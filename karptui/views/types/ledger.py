"""The ledger of one instance type as lines: from what is advertised down to the largest pod, and a pod against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.aws.evidence import Evidence
from karptui.aws.ledger import Ledger
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, ResourceList
from karptui.provisioning.type_verdict import Filter
from karptui.views.money import node_price_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.types.columns import mebibytes, price_cell
from karptui.views.types.entry import PoolEntry, TypeEntry
from karptui.views.types.fit import Fit, fit_of, matching_percent, reported_bytes, safe_percent
from karptui.views.types.words import amount_text, shortages_text
from karptui.views.units import count_text, memory_text

_FIRST: Final = (MEMORY, CPU, PODS, EPHEMERAL_STORAGE)
_TITLES: Final = {MEMORY: "memory Mi", CPU: "cpu m", PODS: "pods", EPHEMERAL_STORAGE: "disk Mi"}
_LABEL: Final = 17
_GIB_IN_MIB: Final = 1024


def title_pieces(pool: PoolEntry, entry: TypeEntry) -> Pieces:
    """Return the heading: type, pool, prices."""
    parts = [f"pool {clean(pool.name)}"]
    if entry.on_demand is not None:
        parts.append(f"{price_cell(entry.on_demand).text}/h on-demand")
    if entry.spot is not None:
        parts.append(f"spot from {price_cell(entry.spot).text}/h")
    if entry.verdict.rank is not None:
        parts.append(f"price rank {entry.verdict.rank} of {len(pool.left)}")
    return (f" {clean(entry.name)} ", Tone.STRONG), (f"─ {' · '.join(parts)} ", Tone.NORMAL)


def account_lines(pool: PoolEntry, entry: TypeEntry, pod: Pod | None, evidence: Evidence) -> tuple[Pieces, ...]:
    """Return the account as aligned lines: a column for each resource, from advertised down to the largest pod.

    Args:
        pool: the NodePool.
        entry: the type in it.
        pod: a pending pod that is held against it; None for none.
        evidence: says whose VM_MEMORY_OVERHEAD_PERCENT it is.
    """
    fit = fit_of(pool, entry, pod) if pod is not None else None
    rows = _rows(entry, fit, evidence)
    names = _resources(entry, fit)
    table = [[label, *(_figure(name, amounts) for name in names), note] for label, amounts, note, _ in rows]
    heads = ["", *(_TITLES.get(name, clean(name.rpartition("/")[2])) for name in names), ""]
    widths = [max(len(row[index]) for row in (heads, *table)) for index in range(len(heads) - 1)]
    lines: list[Pieces] = [((_aligned(heads, widths), Tone.MUTED),)]
    for texts, (_, _, note, tone) in zip(table, rows, strict=True):
        lines.append(((_aligned(texts, widths), tone), (f"  {note}", Tone.MUTED)))
    return tuple(lines)


def _aligned(texts: list[str], widths: list[int]) -> str:
    first = f"{texts[0]:<{max(widths[0], _LABEL)}}"
    return first + "".join(f"  {text:>{width}}" for text, width in zip(texts[1:-1], widths[1:], strict=True))


def _resources(entry: TypeEntry, fit: Fit | None) -> list[str]:
    extended = sorted(
        name
        for name, amount in entry.instance_type.capacity.items()
        if "/" in name and amount and (fit is None or name in fit.requests or name in entry.verdict.daemons)
    )
    return [*(name for name in _FIRST if name in entry.instance_type.capacity), *extended[:2]]


_Row = tuple[str, Mapping[str, int], str, Tone]


def _rows(entry: TypeEntry, fit: Fit | None, evidence: Evidence) -> list[_Row]:
    """Return label, amounts in nano-units, note and tone of each line."""
    rows: list[_Row] = []
    capacity, overhead, ledger = entry.instance_type.capacity, entry.instance_type.overhead, entry.ledger
    if ledger is not None:
        rows += _advertised(ledger, evidence)
    discovered = ledger is not None and ledger.is_memory_discovered
    rows.append(
        (
            "capacity",
            _nano(capacity),
            "as a node reported it" if discovered else "as planned",
            Tone.NORMAL,
        )
    )
    rows.append(("kubeReserved", _minus(overhead.kube_reserved), "", Tone.NORMAL))
    if any(overhead.system_reserved.values()):
        rows.append(("systemReserved", _minus(overhead.system_reserved), "", Tone.NORMAL))
    rows.append(("eviction", _minus(overhead.eviction_threshold), "", Tone.NORMAL))
    rows.append(("allocatable", _nano(entry.allocatable), "", Tone.STRONG))
    daemons = entry.verdict.daemons
    pods = entry.verdict.daemon_pods
    rows.append((f"DaemonSets ({pods})", _minus(daemons), "" if pods else "none runs on it", Tone.DAEMON))
    largest = entry.largest_pod
    words = f"{memory_text(resources.nano(largest, MEMORY) // NANO)}"
    rows.append(("largest pod", _nano(largest), words, Tone.STRONG))
    if fit is not None:
        rows.append(("asked", _nano(fit.requests), f"{clean(fit.pod.namespace)}/{clean(fit.pod.name)}", Tone.WORKLOAD))
        if fit.short:
            rows.append(("✘ short by", _nano(fit.short), "", Tone.FAULT))
    return rows


def _advertised(ledger: Ledger, evidence: Evidence) -> list[_Row]:
    size = memory_text(ledger.advertised_memory_bytes)
    rows: list[_Row] = [("advertised", {MEMORY: ledger.advertised_memory_bytes * NANO}, f"{size} by EC2", Tone.NORMAL)]
    if ledger.contiguous_memory_bytes:
        rows.append(
            ("arm64 kernel", {MEMORY: -ledger.contiguous_memory_bytes * NANO}, "contiguous memory", Tone.NORMAL)
        )
    percent = f"{ledger.vm_memory_overhead_percent:g}"
    if ledger.is_memory_discovered:
        planned = ledger.advertised_memory_bytes - ledger.contiguous_memory_bytes
        lost = planned - resources.memory_bytes(ledger.capacity)
        rows.append(("VM overhead", {MEMORY: -lost * NANO}, f"reported, {percent} is void", Tone.NORMAL))
    else:
        origin = evidence.origin_of("VM_MEMORY_OVERHEAD_PERCENT")
        rows.append(
            (
                f"VM overhead {percent}",
                {MEMORY: -ledger.vm_overhead_bytes * NANO},
                origin,
                Tone.NORMAL,
            )
        )
    return rows


def _nano(amounts: ResourceList) -> dict[str, int]:
    return {name: amount.nano for name, amount in amounts.items()}


def _minus(amounts: ResourceList) -> dict[str, int]:
    return {name: -amount.nano for name, amount in amounts.items()}


def _figure(name: str, amounts: Mapping[str, int]) -> str:
    """Return an amount without its unit, what is left rounded down and what is taken rounded up."""
    nano = amounts.get(name)
    if nano is None:
        return ""
    unit = {CPU: NANO_PER_MILLI, MEMORY: NANO << 20, EPHEMERAL_STORAGE: NANO << 20}.get(name, NANO)
    whole = nano // unit
    return f"−{-whole:,}" if whole < 0 else f"{whole:,}"


def fit_lines(pool: PoolEntry, entry: TypeEntry, pod: Pod | None) -> tuple[Pieces, ...]:
    """Return whether a pod fits, and what would make it fit; why the type is ruled out where it is."""
    lines: list[Pieces] = []
    verdict = entry.verdict
    if not entry.is_left and verdict.shortages and (pod is None or verdict.removed_by is not Filter.POD):
        lines.append((("✘ ruled out: ", Tone.FAULT), (_ruled_out(entry), Tone.NORMAL)))
    elif not entry.is_left and not verdict.shortages:
        lines.append((("✘ ruled out: ", Tone.FAULT), (entry.ruled_out or clean(verdict.reason), Tone.NORMAL)))
    if pod is None:
        lines.append((("no pending pod may go to this pool: nothing to hold against the type", Tone.MUTED),))
        return tuple(lines)
    fit, name = fit_of(pool, entry, pod), f"{clean(pod.namespace)}/{clean(pod.name)}"
    if not fit.short:
        lines.append((("✔ ", Tone.GOOD), (f"{name} fits", Tone.NORMAL)))
        return tuple(lines)
    missing = ", ".join(
        f"{clean(resource)} short by {amount_text(resource, amount.nano)}" for resource, amount in fit.short.items()
    )
    lines.append((("✘ ", Tone.FAULT), (f"{name} does not fit: {missing}", Tone.NORMAL)))
    lines += _remedies(entry, fit)
    return tuple(lines)


def _ruled_out(entry: TypeEntry) -> str:
    verdict = entry.verdict
    words = shortages_text(verdict.shortages)
    if verdict.daemon_pods and verdict.removed_by is Filter.DAEMONSETS:
        return f"{verdict.daemon_pods} DaemonSet pods do not fit: {words}"
    return f"{verdict.removed_by}: {words}"


def _remedies(entry: TypeEntry, fit: Fit) -> list[Pieces]:
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
        lines.append((("  → ", Tone.GOOD), (f"or with a pod of at most {mebibytes(left)}{whole}", Tone.NORMAL)))
    if fit.next_type is not None:
        price = fit.next_type.on_demand or fit.next_type.spot
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
    """Return what nodes of the type report here, and the overhead percents that follow from it."""
    reported, observed = reported_bytes(entry), entry.observed
    if reported is None or observed is None:
        lines: list[Pieces] = [(("no node of this type runs here: nothing to compare with", Tone.MUTED),)]
    else:
        many = f"{count_text(observed.node_count)} nodes report" if observed.node_count > 1 else "1 node reports"
        spread = observed.capacity[MEMORY]
        least = "" if spread.is_uniform else f" (the least of up to {mebibytes(spread.largest.units)})"
        lines = [((many, Tone.NORMAL), (f" {mebibytes(reported)} of memory{least}", Tone.STRONG))]
        allocatable = observed.allocatable.get(MEMORY)
        if allocatable is not None:
            planned = resources.nano(entry.allocatable, MEMORY) // NANO
            delta = allocatable.smallest.units - planned
            sign = "+" if delta >= 0 else "−"
            tone = Tone.NORMAL if delta >= 0 else Tone.WARNING
            text = (
                f"allocatable {mebibytes(allocatable.smallest.units)}: {sign}{mebibytes(abs(delta))} against the plan"
            )
            lines.append(((text, tone),))
        percent = matching_percent(entry)
        if percent is not None:
            lines.append(((f"overhead {percent:.4f} would match them", Tone.NORMAL),))
    safe = safe_percent(pool)
    if safe is not None:
        count = sum(one.observed is not None for one in pool.wanted)
        lines.append(
            (
                (f"safe for this pool: {safe:.4f}", Tone.STRONG),
                (f", by {count} of its types that have nodes", Tone.MUTED),
            )
        )
    return tuple(lines)
