"""Whether a pod fits a type, what it is short of, and what would make it fit; amounts in words."""

from __future__ import annotations

import msgspec

from karptui.aws.ledger import fitting_overhead_percent, matching_overhead_percent, rounded_down, rounded_up
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.kube.quantity import Quantity
from karptui.kube.resources import MEMORY, ResourceList
from karptui.kube.units import cpu_text, memory_text
from karptui.provisioning.amounts import with_pod_slots
from karptui.provisioning.type_verdict import TypeVerdict
from karptui.session.types import PoolEntry, TypeEntry


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
