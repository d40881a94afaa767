"""A node as plain values: what the headless commands print, and scripts read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.costs import held_per_hour
from karptui.session.nodes import NodeEntry, PodAccess
from karptui.state.usage import Share
from karptui.views.live_usage import latest_cpu, latest_memory
from karptui.views.nodes.status import node_status
from karptui.views.why.codes import why_text

Values = Mapping[str, Any]


def _text(name: str, read: Callable[[NodeEntry], str]) -> Callable[[NodeEntry, int], Values]:
    return lambda entry, _: {name: read(entry) or None}


def _share(name: str, unit: str, read: Callable[[NodeEntry], Share]) -> Callable[[NodeEntry, int], Values]:
    def values(entry: NodeEntry, _: int) -> Values:
        share = read(entry)
        has_capacity, has_pods = entry.node is not None, entry.node is not None and entry.access is PodAccess.KNOWN
        return {
            f"{name}_requested{unit}": share.requested if has_pods else None,
            f"{name}_daemonset{unit}": share.daemons if has_pods else None,
            f"{name}_allocatable{unit}": share.capacity if has_capacity else None,
        }

    return values


def _status(entry: NodeEntry, now_ns: int) -> Values:
    status = node_status(entry)
    since = status.since_ns
    return {"status": status.word, "status_seconds": (now_ns - since) // NS_PER_SECOND if since else None}


def _delta(entry: NodeEntry, _: int) -> Values:
    delta = entry.delta
    return {
        "delta_cpu_millis": delta.cpu_millis if delta else None,
        "delta_mem_bytes": delta.memory_bytes if delta else None,
        "delta_pods": delta.pods if delta else None,
    }


def _expires(entry: NodeEntry, now_ns: int) -> Values:
    at = entry.claim.expires_ns if entry.claim is not None else None
    return {"expires_seconds": (at - now_ns) // NS_PER_SECOND if at is not None else None}


def _image(entry: NodeEntry, _: int) -> Values:
    return {"image": entry.image or None}


def _name(entry: NodeEntry, _: int) -> Values:
    return {
        "name": entry.name,
        "node_claim": entry.claim.name if entry.claim is not None else None,
    }


def _price(entry: NodeEntry, _: int) -> Values:
    price = entry.price
    return {
        "price_per_hour": price.per_hour if price is not None else None,
        "price_currency": price.currency if price is not None else None,
        "price_source": price.origin.label if price is not None else None,
    }


def _why(entry: NodeEntry, now_ns: int) -> Values:
    found = entry.findings
    lifted = found.outlook.lifted if found is not None and found.outlook is not None else None
    return {
        "why": why_text(found.why, now_ns) if found is not None else None,
        "why_codes": [str(code) for code in found.why.codes] if found is not None else None,
        "goes_without_blockers": str(lifted.outcome) if lifted is not None else None,
        "held_per_hour": held_per_hour(entry),
        "pods_in_last_hour": found.recent_pods if found is not None else None,
    }


def _age(entry: NodeEntry, now_ns: int) -> Values:
    return {"age_seconds": (now_ns - entry.created_ns) // NS_PER_SECOND if entry.created_ns else None}


VALUES: Final[Mapping[str, Callable[[NodeEntry, int], Values]]] = {
    "name": _name,
    "pool": _text("pool", lambda entry: entry.pool),
    "type": _text("type", lambda entry: entry.instance_type),
    "cap": _text("cap", lambda entry: entry.capacity_type),
    "zone": _text("zone", lambda entry: entry.zone),
    "status": _status,
    "cpu": _share("cpu", "_millis", lambda entry: entry.cpu),
    "mem": _share("mem", "_bytes", lambda entry: entry.memory),
    "pods": _share("pods", "", lambda entry: entry.pods),
    "gpu": _share("gpu", "", lambda entry: entry.accelerators),
    "ephemeral": _share("ephemeral", "_bytes", lambda entry: entry.ephemeral),
    "arch": _text("arch", lambda entry: entry.architecture),
    "used_cpu": lambda entry, _: {"used_cpu_millis": latest_cpu(entry.used) if entry.used is not None else None},
    "used_mem": lambda entry, _: {"used_mem_bytes": latest_memory(entry.used) if entry.used is not None else None},
    "delta": _delta,
    "expires": _expires,
    "image": _image,
    "price": _price,
    "why": _why,
    "age": _age,
}
"""What a column comes to as values, by the column's id; None is what is not known or does not apply."""


def node_values(entry: NodeEntry, now_ns: int, extra_labels: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a node as plain values, every column and the labels asked for."""
    values: dict[str, Any] = {}
    for read in VALUES.values():
        values |= read(entry, now_ns)
    return values | {f"label:{key}": entry.label(key) or None for key in extra_labels}
