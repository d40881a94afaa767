"""NodePools as plain values: what ``karptui pools`` prints, and scripts read."""

from __future__ import annotations

from typing import Any, Final

from karptui.decode.kinds import Kind
from karptui.disruption.budgets import UNLIMITED
from karptui.kube import resources
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, MEMORY
from karptui.provisioning.overlap import PoolOverlap
from karptui.provisioning.type_verdict import Filter
from karptui.session.pool_limits import LimitUse
from karptui.session.pools import PoolRow
from karptui.views.pools.readiness import is_ready, short_reason
from karptui.views.pools.story import pool_story
from karptui.views.pools.words import budget_left

_OF_NODES: Final = (
    "nodes",
    "nodes_share_percent",
    "cpu_used_millis",
    "memory_used_bytes",
    "limits",
    "cost_per_hour",
    "nodes_without_price",
    "drifted",
    "pods",
)
_OF_DAEMONSETS: Final = (
    "daemonset_pods",
    "daemonset_cpu_millis",
    "daemonset_memory_bytes",
    "types_excluded_by_daemonsets",
)


def pool_row_values(row: PoolRow, now_ns: int) -> dict[str, Any]:
    """Return a NodePool as plain values: units are in the names, null is not known or not there.

    Args:
        row: The NodePool.
        now_ns: The instant: nanoseconds since the epoch.
    """
    values = _values(row, now_ns)
    if row.hides(Kind.NODE, Kind.NODECLAIM):
        values.update(dict.fromkeys(_OF_NODES))
    if row.hides(Kind.DAEMONSET):
        values.update(dict.fromkeys(_OF_DAEMONSETS))
    return values


def _values(row: PoolRow, now_ns: int) -> dict[str, Any]:
    pool, total, counted = row.pool, row.total, row.counted
    carried = max((one.verdict for one in row.types.left), key=lambda one: one.daemon_pods, default=None)
    return {
        "rank": row.rank,
        "name": row.name,
        "weight": pool.weight,
        "same_weight_as": [one.name for one in row.ties],
        "weight_within_10_of": [one.name for one in row.near],
        "nodes": len(row.nodes),
        "nodes_share_percent": round(row.share_percent, 1) if row.share_percent is not None else None,
        "cpu_used_millis": row.types.found.used.get(CPU, 0) // NANO_PER_MILLI,
        "cpu_limit_millis": _limit(row.limit(CPU), NANO_PER_MILLI),
        "memory_used_bytes": row.types.found.used.get(MEMORY, 0) // NANO,
        "memory_limit_bytes": _limit(row.limit(MEMORY), NANO),
        "limits": {use.resource: _limit_values(use) for use in row.limits},
        "cost_per_hour": round(total.per_hour, 6) if total.priced or not row.nodes else None,
        "nodes_without_price": total.unpriced,
        "daemonset_pods": carried.daemon_pods if carried is not None else None,
        "daemonset_cpu_millis": resources.cpu_millis(carried.daemons) if carried is not None else None,
        "daemonset_memory_bytes": resources.memory_bytes(carried.daemons) if carried is not None else None,
        "types_allowed": row.left_after[Filter.REQUIREMENTS],
        "types_offered": row.left_after[Filter.OFFERINGS],
        "types_excluded_by_daemonsets": row.excluded,
        "types_usable": row.usable,
        "types_left_for_pending_pods": len(row.types.left),
        "budget_left": {str(reason): None if left >= UNLIMITED else left for reason, left in budget_left(row).items()},
        "policy": pool.consolidation_policy,
        "consolidate_after_seconds": _seconds(pool.consolidate_after_ns),
        "drifted": len(row.drifted),
        "ready": is_ready(row),
        "not_ready_because": short_reason(row) or None,
        **_overlap(row.overlap),
        "nodeclaims_created": row.created(now_ns),
        "nodeclaims_created_by": "karpenter metrics" if counted is not None else "nodeclaims of the last 24 h",
        "nodeclaims_provisioned": counted.provisioned if counted is not None else None,
        "pods": counted.pods if counted is not None and counted.pods is not None else row.pods,
        "pods_by": "karpenter metrics" if counted is not None and counted.pods is not None else "pods",
        "explanation": ["".join(text for text, _ in line) for line in pool_story(row)],
    }


def _limit(use: LimitUse | None, unit: int) -> int | None:
    return use.limit // unit if use is not None else None


def _limit_values(use: LimitUse) -> dict[str, Any]:
    """Return amounts in whole units: cores, bytes, pieces."""
    return {
        "used": _number(use.used),
        "limit": _number(use.limit),
        "left": _number(use.left),
        "smallest_allowed_type_needs": _number(use.smallest) if use.smallest is not None else None,
        "smallest_allowed_type": use.smallest_type or None,
    }


def _number(nano: int) -> int | float:
    return nano / NANO if nano % NANO else nano // NANO


def _seconds(duration_ns: int | None) -> float | None:
    return duration_ns / NANO if duration_ns is not None else None


def _overlap(found: PoolOverlap | None) -> dict[str, Any]:
    if found is None:
        return {"pods_matching": None, "pods_shared": None, "pods_new_nodes_here": None, "shared_with": {}}
    return {
        "pods_matching": found.matching,
        "pods_shared": found.shared,
        "pods_new_nodes_here": found.goes_here,
        "shared_with": dict(found.shared_with),
    }
