"""A pod as plain values: what the headless commands print, and scripts read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from karptui.kube.quantity import NANO
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.nodes import is_accelerator
from karptui.session.pods import PodEntry
from karptui.views.live_usage import latest_cpu, latest_memory
from karptui.views.pods.status import pod_status

Values = Mapping[str, Any]


def _status(entry: PodEntry, now_ns: int) -> Values:
    word, _, since = pod_status(entry)
    return {"status": word, "status_seconds": (now_ns - since) // NS_PER_SECOND if since else None}


def _accelerators(entry: PodEntry, _: int) -> Values:
    return {"gpu": sum(amount.nano // NANO for name, amount in entry.pod.requests.items() if is_accelerator(name))}


def _age(entry: PodEntry, now_ns: int) -> Values:
    created = entry.pod.created_ns
    return {"age_seconds": (now_ns - created) // NS_PER_SECOND if created else None}


VALUES: Final[Mapping[str, Callable[[PodEntry, int], Values]]] = {
    "name": lambda entry, _: {"name": entry.pod.name},
    "namespace": lambda entry, _: {"namespace": entry.pod.namespace},
    "status": _status,
    "cpu": lambda entry, _: {"cpu_millis": entry.cpu_millis},
    "mem": lambda entry, _: {"mem_bytes": entry.memory_bytes},
    "used_cpu": lambda entry, _: {"used_cpu_millis": latest_cpu(entry.used) if entry.used is not None else None},
    "used_mem": lambda entry, _: {"used_mem_bytes": latest_memory(entry.used) if entry.used is not None else None},
    "gpu": _accelerators,
    "node": lambda entry, _: {"node": entry.pod.node_name or None},
    "pool": lambda entry, _: {"pool": entry.pool or None},
    "owner": lambda entry, _: {"owner": entry.owner or None},
    "protection": lambda entry, now_ns: {"protection": entry.protection_text(now_ns) or None},
    "priority": lambda entry, _: {"priority": entry.pod.template.priority},
    "age": _age,
}
"""What a column comes to as values, by the column's id; None is what is not known or does not apply."""


def pod_values(entry: PodEntry, now_ns: int) -> dict[str, Any]:
    """Return a pod as plain values, every column."""
    values: dict[str, Any] = {}
    for read in VALUES.values():
        values |= read(entry, now_ns)
    return values
