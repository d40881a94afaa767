"""Groups of pending pods as plain values: what ``karptui pending`` prints, and scripts read."""

from __future__ import annotations

from typing import Any

from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.pending.causes import Destination
from karptui.pending.messages import PodMessage
from karptui.pending.nearest import furthest
from karptui.views.pending.entry import PendingEntry
from karptui.views.pending.misses import miss_text
from karptui.views.pending.refusals import refusal_counts


def pending_values(entry: PendingEntry, now_ns: int) -> dict[str, Any]:
    """Return a group as plain values, every column."""
    group = entry.group
    explanation = group.explanation
    nearest = furthest(explanation) if explanation is not None else None
    return {
        "name": group.name,
        "namespace": group.first.namespace,
        "owner": group.origin,
        "pods": [pod.name for pod in group.pods],
        "count": len(group.pods),
        "requests": requests_values(group.first),
        "age_seconds": (now_ns - group.since_ns) // NS_PER_SECOND if group.since_ns else None,
        "turn": str(group.cause),
        "karpenter": message_values(group.messages.karpenter, now_ns),
        "scheduler": message_values(group.messages.scheduler, now_ns),
        "places": [destination_values(destination) for destination in group.destinations],
        "nearest_pool": nearest.nodepool if nearest is not None else None,
        "nearest_miss": miss_text(nearest) if nearest is not None else None,
        "nodes_tried": len(explanation.nodes) if explanation is not None else None,
        "nodes_refused": dict(refusal_counts(explanation)) if explanation is not None else {},
        "error": str(group.diagnosis.error) if group.diagnosis.error is not None else None,
        "problems": list(group.diagnosis.problems),
        "disagreements": [disagreement.text for disagreement in group.disagreements],
    }


def requests_values(pod: Pod) -> dict[str, int]:
    """Return requests as integers: ``cpu_millis``, ``mem_bytes``, ``ephemeral_bytes``, others by their own name."""
    found: dict[str, int] = {"cpu_millis": 0, "mem_bytes": 0}
    names = {CPU: "cpu_millis", MEMORY: "mem_bytes", EPHEMERAL_STORAGE: "ephemeral_bytes"}
    for name, amount in pod.requests.items():
        found[names.get(name, name)] = amount.nano // (NANO_PER_MILLI if name == CPU else NANO)
    return found


def message_values(said: PodMessage | None, now_ns: int) -> dict[str, Any] | None:
    """Return what somebody said; None for silence."""
    if said is None:
        return None
    return {
        "reason": said.reason,
        "message": said.message,
        "age_seconds": (now_ns - said.at_ns) // NS_PER_SECOND if said.at_ns else None,
        "count": said.count,
        "source": "condition" if said.is_condition else "event",
    }


def destination_values(destination: Destination) -> dict[str, Any]:
    """Return a place for a pod."""
    return {
        "node": destination.node or None,
        "pool": destination.nodepool or None,
        "type": destination.instance_type or None,
        "other_types": destination.other_types,
        "price_per_hour": destination.price_per_hour,
    }
