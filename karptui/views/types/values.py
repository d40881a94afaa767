"""Types and NodePools as plain values: what ``karptui types --pool`` prints, and scripts read."""

from __future__ import annotations

from typing import Any

from karptui.kube import resources
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, MEMORY, PODS
from karptui.session.types import PoolEntry, TypeEntry
from karptui.views.types.columns import allocatable_bytes, memory_bytes, pod_slots, why_text
from karptui.views.types.fit import fit_of, matching_percent, safe_percent
from karptui.views.types.pools import cheapest, note_of


def type_values(pool: PoolEntry, entry: TypeEntry) -> dict[str, Any]:
    """Return a type of a NodePool as plain values."""
    verdict, largest = entry.verdict, entry.largest_pod
    fit = fit_of(pool, entry, pool.pods[0]) if pool.pods else None
    on_demand, spot = entry.on_demand, entry.spot
    return {
        "pool": pool.name,
        "name": entry.name,
        "rank": verdict.rank,
        "vcpu_millis": resources.cpu_millis(entry.instance_type.capacity),
        "mem_advertised_bytes": memory_bytes(entry) if entry.facts is not None else None,
        "mem_capacity_bytes": resources.memory_bytes(entry.instance_type.capacity),
        "mem_allocatable_bytes": allocatable_bytes(entry),
        "cpu_allocatable_millis": resources.nano(entry.allocatable, CPU) // NANO_PER_MILLI,
        "pods": pod_slots(entry),
        "daemonset_pods": verdict.daemon_pods,
        "daemonset_cpu_millis": resources.cpu_millis(verdict.daemons),
        "daemonset_mem_bytes": resources.memory_bytes(verdict.daemons),
        "largest_pod_cpu_millis": resources.nano(largest, CPU) // NANO_PER_MILLI,
        "largest_pod_mem_bytes": resources.nano(largest, MEMORY) // NANO,
        "largest_pod_slots": resources.nano(largest, PODS) // NANO,
        "offered": {name: list(zones) for name, zones in entry.offered.items()},
        "on_demand_price_per_hour": on_demand.per_hour if on_demand is not None else None,
        "on_demand_price_source": on_demand.origin.label if on_demand is not None else None,
        "spot_price_per_hour": spot.per_hour if spot is not None else None,
        "spot_price_source": spot.origin.label if spot is not None else None,
        "nodes": entry.observed.node_count if entry.observed is not None else 0,
        "is_left": entry.is_left,
        "removed_by": verdict.removed_by.value if verdict.removed_by is not None else None,
        "why": why_text(entry) or None,
        "pending_pod": fit.pod.key if fit is not None else None,
        "pending_pod_short_mem_bytes": resources.memory_bytes(fit.short) if fit is not None else None,
        "fits_with_overhead_percent": fit.overhead_percent if fit is not None else None,
        "next_type": fit.next_type.name if fit is not None and fit.next_type is not None else None,
        "matching_overhead_percent": matching_percent(entry),
    }


def pool_values(entry: PoolEntry) -> dict[str, Any]:
    """Return a NodePool as plain values: how many types each filter leaves."""
    first = cheapest(entry)
    return {
        "name": entry.name,
        "rank": entry.found.rank,
        "types": len(entry.types),
        **{f"left_after_{count.filter.value}": count.left for count in entry.found.counts},
        "left": len(entry.left),
        "cheapest": first.name if first is not None else None,
        "cheapest_price_per_hour": first.on_demand.per_hour if first is not None and first.on_demand else None,
        "safe_overhead_percent": safe_percent(entry),
        "note": note_of(entry)[0] or None,
        "findings": [f"{one.object}: {one.fact} {one.remedy}" for one in entry.findings],
    }
