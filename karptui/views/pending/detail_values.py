"""A pending pod at length as plain values: what ``karptui explain pod -o json`` prints."""

from __future__ import annotations

from typing import Any

from karptui.provisioning import NodeRefusal, PodExplanation, PoolExplanation
from karptui.provisioning.explain import Shortfall
from karptui.session.pending_report import PodDetail
from karptui.views.pending.columns import TABLE as PENDING
from karptui.views.pending.entry import PendingEntry
from karptui.views.pending.gates import COLUMNS, GateRow, gate_rows
from karptui.views.pending.refusals import refusal_word
from karptui.views.pending.remedy_table import remedy_values
from karptui.views.pending.words import cause_sentence


def explained_values(entry: PendingEntry, detail: PodDetail | None, now_ns: int) -> dict[str, Any]:
    """Return everything that is known of a pending pod.

    Args:
        entry: The pods that wait for the same reason.
        detail: What was worked out for one of them.
        now_ns: The instant: nanoseconds since the epoch.
    """
    explanation = detail.explanation if detail is not None else None
    remedies = detail.remedies if detail is not None else None
    if explanation is not None:
        entry = PendingEntry(entry.group.explained(explanation), entry.hears_events)
    return {
        **PENDING.values(entry, now_ns),
        "waits_for": cause_sentence(entry.group.first, entry.group.cause),
        "pools": pool_values(explanation) if explanation is not None else [],
        "existing_nodes": [node_values(one) for one in explanation.nodes] if explanation is not None else [],
        "given_up": list(explanation.given_up) if explanation is not None else [],
        "changes_tried": remedies.tried if remedies is not None else 0,
        "remedies": [remedy_values(one) for one in remedies.found] if remedies is not None else [],
        "not_tried": list(remedies.left_out) if remedies is not None else [],
    }


def pool_values(explanation: PodExplanation) -> list[dict[str, Any]]:
    """Return every NodePool with its gates, in the order in which they are tried."""
    rows = gate_rows(explanation)
    return [_pool(pool, row) for pool, row in zip(explanation.pools, rows, strict=True)]


def _pool(pool: PoolExplanation, row: GateRow) -> dict[str, Any]:
    nearest = pool.nearest
    return {
        "name": pool.nodepool,
        "weight": pool.weight,
        "rank": pool.position + 1 if pool.position >= 0 else None,
        "gates": {title.lower(): str(mark) for title, mark in zip(COLUMNS, row.marks, strict=True)},
        "failed": COLUMNS[row.failed].lower() if row.failed >= 0 else None,
        "reason": row.reason or None,
        "karpenter_says": str(pool.rejection) if pool.rejection is not None else None,
        "types_left": {left.after.replace(" ", "_"): left.count for left in pool.types_left},
        "nearest_type": nearest.instance_type if nearest is not None else None,
        "short": [_short(one) for one in nearest.shortfalls] if nearest is not None else [],
    }


def _short(one: Shortfall) -> dict[str, Any]:
    return {"resource": one.resource, "need": str(one.need), "room": str(one.room)}


def node_values(refusal: NodeRefusal) -> dict[str, str]:
    """Return a node and why it does not take the pod."""
    return {"name": refusal.node, "by": refusal_word(refusal), "reason": refusal.reason}
