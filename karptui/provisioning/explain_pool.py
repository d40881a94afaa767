"""Why a NodePool is not asked at all."""

from __future__ import annotations

from collections.abc import Mapping

from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import condition_of


def bystander(pool: NodePool, *, left_out: Mapping[str, bool]) -> str:
    """Return why a NodePool takes no part in provisioning.

    Args:
        pool: The NodePool.
        left_out: NodePools without a usable instance type; True where that is because of ``minValues``.
    """
    if pool.name in left_out:
        because = "offers enough values for its minValues" if left_out[pool.name] else "is compatible and on offer"
        return f"no set of instance types {because}" if left_out[pool.name] else f"no instance type {because}"
    if pool.is_static:
        return f"it is static: it keeps {pool.replicas} nodes and takes no pods beyond them"
    if pool.is_deleting:
        return "it is being deleted"
    if not pool.is_ready:
        ready = condition_of(pool.conditions, "Ready")
        return f"it is not ready: {ready.message or ready.reason}" if ready is not None else "it is not ready"
    kind = pool.node_class_ref.kind
    return f"its NodeClass kind {kind} belongs to another provider"
